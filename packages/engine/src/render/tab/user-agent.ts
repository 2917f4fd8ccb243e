import type { Protocol } from 'devtools-protocol'
import type { CdpSession } from '../browser/cdp.ts'

export type UserAgent = Protocol.Emulation.SetUserAgentOverrideRequest
type Override = Pick<UserAgent, 'platform' | 'userAgentMetadata'>

/** The name in the user agent gives `Sec-CH-UA-Platform`, `navigator.platform`, and the place of the version. */
const PLATFORMS: readonly [name: RegExp, hint: string, platform: string, version: RegExp | null][] = [
  [/\bAndroid\b/, 'Android', 'Linux armv81', /Android (\d+(?:\.\d+)*)/],
  [/\b(?:iPhone|iPod)\b/, 'iOS', 'iPhone', /OS (\d+(?:_\d+)*)/],
  [/\biPad\b/, 'iOS', 'iPad', /OS (\d+(?:_\d+)*)/],
  [/\bWindows\b/, 'Windows', 'Win32', /Windows NT (\d+(?:\.\d+)*)/],
  [/\bMacintosh\b/, 'macOS', 'MacIntel', /Mac OS X (\d+(?:[_.]\d+)*)/],
  [/\bCrOS\b/, 'Chrome OS', 'Linux x86_64', /CrOS \S+ (\d+(?:\.\d+)*)/],
]
const LINUX = ['Linux', 'Linux x86_64', null] as const
/** Browsers that are Chromium name their own brand beside it. */
const BRANDS: readonly [token: RegExp, brand: string][] = [
  [/\bEdg(?:A|iOS)?\/(\S+)/, 'Microsoft Edge'],
  [/\bOPR\/(\S+)/, 'Opera'],
  [/\bSamsungBrowser\/(\S+)/, 'Samsung Internet'],
  [/\bHeadlessChrome\/(\S+)/, 'HeadlessChrome'],
]

/** What a browser with this user agent says of itself elsewhere. Only Chromium sends client hints. */
export function hintsOf(userAgent: string): Override {
  const found = PLATFORMS.find(([name]) => name.test(userAgent))
  const [hint, platform, versionAt] = found === undefined ? LINUX : [found[1], found[2], found[3]]
  const mobile = /\bMobile\b/.test(userAgent)
  const brands = brandsOf(userAgent)
  if (brands === null) return { platform }
  return {
    platform,
    userAgentMetadata: {
      brands: brands.map(({ brand, version }) => ({ brand, version: version.split('.', 1)[0] ?? '' })),
      fullVersionList: brands,
      platform: hint,
      platformVersion: (versionAt?.exec(userAgent)?.[1] ?? '').replaceAll('_', '.'),
      architecture: mobile || hint === 'Android' || hint === 'iOS' ? '' : 'x86',
      model: hint === 'Android' ? modelOf(userAgent) : '',
      mobile,
    },
  }
}

/** Overrides a worker's user agent and its headers, which Chromium overrides for pages only. */
export function overrideUserAgent(worker: CdpSession, userAgent: UserAgent): Promise<unknown>[] {
  const override = worker.send('Emulation.setUserAgentOverride', userAgent)
  const { userAgentMetadata: hints } = userAgent
  const headers: Record<string, string> = { 'user-agent': userAgent.userAgent }
  if (hints !== undefined) Object.assign(headers, hintHeaders(hints))
  return [override, worker.send('Network.setExtraHTTPHeaders', { headers })]
}

function hintHeaders(hints: Protocol.Emulation.UserAgentMetadata): Record<string, string> {
  return {
    'sec-ch-ua': (hints.brands ?? []).map(({ brand, version }) => `"${brand}";v="${version}"`).join(', '),
    'sec-ch-ua-mobile': hints.mobile ? '?1' : '?0',
    'sec-ch-ua-platform': `"${hints.platform}"`,
  }
}

/** Returns a script for what the override leaves out: the platform, and in shared workers everything but the hints. */
export function navigatorScript({ userAgent, platform }: UserAgent): string {
  const values = { userAgent, appVersion: userAgent.replace(/^Mozilla\//, ''), platform }
  return `for (const [name, value] of Object.entries(${JSON.stringify(values)}))
    Object.defineProperty(WorkerNavigator.prototype, name, { get: () => value, configurable: true, enumerable: true })`
}

function brandsOf(userAgent: string): { brand: string; version: string }[] | null {
  const chromium = /\b(?:Headless)?Chrom(?:e|ium)\/(\d+(?:\.\d+)*)/.exec(userAgent)?.[1]
  if (chromium === undefined) return null
  const own = BRANDS.flatMap(([token, brand]) => {
    const version = token.exec(userAgent)?.[1]
    return version === undefined ? [] : [{ brand, version }]
  })
  return [{ brand: 'Chromium', version: chromium }, { brand: 'Not.A/Brand', version: '8.0.0.0' }, ...own]
}

/** `K` in reduced user agents names no device. */
function modelOf(userAgent: string): string {
  const model = /Android [^;)]*; ([^;)]+?)(?: Build\/[^;)]*)?[;)]/.exec(userAgent)?.[1] ?? ''
  return model === 'K' ? '' : model
}
