import type { Visitor } from '@prepaint/contract/outcome/outcome.ts'
import type { BrowserProcess } from '../browser/browser-process.ts'
import type { CdpSession } from '../browser/cdp.ts'
import { hintsOf, type UserAgent } from './user-agent.ts'

const USUAL_LOCALE = 'en-US'
const USUAL_VIEWPORT = { width: 1280, height: 1024 }

export async function emulateVisitor(
  session: CdpSession,
  browser: BrowserProcess,
  visitor: Visitor,
): Promise<void> {
  const { locale, timeZone } = visitor
  const isMobile = visitor.device === 'mobile'
  // A window of full Chromium has a toolbar, which takes 87 px of the page's height.
  const isWindow = visitor.viewport === undefined && !isMobile && !browser.product.startsWith('Chrome/')
  const viewport = isWindow ? undefined : viewportOf(visitor)
  await Promise.all([
    session.send('Emulation.setUserAgentOverride', userAgentOf(browser, visitor)),
    locale === undefined ? null : session.send('Emulation.setLocaleOverride', { locale }),
    viewport === undefined
      ? null
      : session.send('Emulation.setDeviceMetricsOverride', metricsOf(viewport, isMobile)),
    isMobile ? session.send('Emulation.setTouchEmulationEnabled', TOUCH) : null,
    isMobile ? session.send('Emulation.setEmulatedMedia', { features: POINTERS }) : null,
    timeZone === undefined ? null : session.send('Emulation.setTimezoneOverride', { timezoneId: timeZone }),
  ])
}

export function viewportOf({ viewport, device }: Visitor): { width: number; height: number } {
  return viewport ?? (device === 'mobile' ? PHONE : USUAL_VIEWPORT)
}

const PHONE = { width: 412, height: 915 }
const PHONE_SCALE = 2.625
const TOUCH = { enabled: true, maxTouchPoints: 5 }
const POINTERS = [
  { name: 'pointer', value: 'coarse' },
  { name: 'any-pointer', value: 'coarse' },
  { name: 'hover', value: 'none' },
  { name: 'any-hover', value: 'none' },
]

function metricsOf({ width, height }: { width: number; height: number }, mobile: boolean) {
  const size = { width, height, screenWidth: width, screenHeight: height }
  return { ...size, deviceScaleFactor: mobile ? PHONE_SCALE : 1, mobile }
}

export function userAgentOf(
  { userAgent: own, product, identity }: BrowserProcess,
  visitor: Visitor,
): UserAgent {
  const locale = visitor.locale ?? USUAL_LOCALE
  const language = locale.split('-', 1)[0] ?? locale
  // Without weights: Chromium adds them to the header; scripts see the bare names.
  const acceptLanguage = language === locale ? locale : `${locale},${language}`
  if (visitor.userAgent !== undefined)
    return { userAgent: visitor.userAgent, acceptLanguage, ...hintsOf(visitor.userAgent) }

  const version = product.split('/')[1] ?? '0'
  const major = version.split('.')[0] ?? '0'
  if (visitor.device === 'mobile') {
    const chrome = `Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${major}.0.0.0`
    const userAgent = `${chrome} Mobile Safari/537.36 ${identity}`
    return { userAgent, acceptLanguage, ...hintsOf(userAgent) }
  }
  const brands = (number: string) => [
    { brand: 'Chromium', version: number },
    { brand: 'Not.A/Brand', version: number === major ? '8' : '8.0.0.0' },
  ]
  return {
    // Only the major version, as in every Chromium; client hints have the rest.
    userAgent: `${own.replace(/HeadlessChrome\/\S+|Chrome\/\S+/, `Chrome/${major}.0.0.0`)} ${identity}`,
    acceptLanguage,
    platform: 'Linux x86_64',
    userAgentMetadata: {
      brands: brands(major),
      fullVersionList: brands(version),
      platform: 'Linux',
      platformVersion: '',
      architecture: 'x86',
      model: '',
      mobile: false,
    },
  }
}
