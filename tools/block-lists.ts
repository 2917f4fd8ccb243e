/** Writes the lists of packages/engine/src/gateway/block-lists.json and packages/engine/src/render/visit/consent.json anew: `npm run block-lists`. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { BLOCK_LISTS } from '@prepaint/contract/rules/schema.ts'

const HOSTS = 'third-party-web'
const CONSENT = '@duckduckgo/autoconsent'

/** By category of third-party-web. */
const CATEGORIES: Record<string, string> = {
  ...{ ad: 'ads', analytics: 'analytics', 'customer-success': 'chat', video: 'media' },
  'consent-provider': 'consent',
}
/** Single entities, where it has no category. */
const ENTITIES = {
  fonts: ['Google Fonts', 'Adobe TypeKit', 'FontAwesome CDN', 'Edge Web Fonts', 'Fontdeck', 'MyFonts'],
  media: ['YouTube', 'Vimeo', 'SoundCloud', 'Spotify'],
}

/** Hosts that are in no category of it, or in another one. */
const HOSTS_BESIDE: Partial<Record<string, string[]>> = {
  consent: [
    'cdn-cookieyes.com',
    'cookiebot.com',
    'cookiebot.eu',
    'cookieyes.com',
    'iubenda.com',
    'trustarc.com',
    'truste.com',
    'usercentrics.eu',
  ],
}

/** Sites that pages show as content. */
const NOT_BLOCKED = new Set(['bing.com', 'yahoo.com'])

/** Others are too general: they would remove the site's own dialogs. */
const ABOUT_CONSENT =
  /cookie|consent|gdpr|ccpa|cmp|privacy|onetrust|didomi|usercentrics|trust(?:arc|e)|iubenda|osano|termly|axeptio|\.fc-|qc-cmp|sp_message|\bcc[-_]|cky|borlabs|tarteaucitron|klaro|pandectes|transcend/i

type Entity = { name: string; category: string; domains: string[] }
type Step = { exists?: string | string[] }
type ConsentRule = { runContext?: { urlPattern?: string }; prehideSelectors?: string[]; detectCmp?: Step[] }

/** Loads a module of the installed package, which expects to run in a page. */
const READ_RULES = `
  const nothing = () => {}
  const location = { href: 'https://www.example.com/', hostname: 'www.example.com' }
  const document = { documentElement: {}, readyState: 'loading', addEventListener: nothing }
  Object.assign(globalThis, { window: globalThis, location, document })
  const { default: AutoConsent } = await import('${CONSENT}')
  const { default: declared } = await import('${CONSENT}/rules/rules.json', { with: { type: 'json' } })
  const coded = new AutoConsent(async () => {}, null).rules.map(({ runContext, prehideSelectors }) => ({ runContext, prehideSelectors }))
  console.log(JSON.stringify([...declared.autoconsent, ...coded]))`

/** Elements that load or mark something, and whole pages. */
const NO_BANNER = /(?:^|[\s>+~])(?:script|link|meta|style|html|body|head)\b[^\s>+~]*$/

/** A detected element is the banner itself only if the selector is about one element, and not about a part of a page's text. */
const IS_ROOT = /^(?!(?:a|button|form|input|label)\b)[^\s>+~]+$/

const root = path.join(import.meta.dirname, '..')
const dir = mkdtempSync(path.join(tmpdir(), 'block-lists-'))
try {
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--prefix', dir, HOSTS, CONSENT])
  const read = (file: string) => JSON.parse(readFileSync(path.join(dir, 'node_modules', file), 'utf8'))
  const source = (name: string) => {
    const { version, license } = read(`${name}/package.json`) as { version: string; license: string }
    return { name, version, license, read: new Date().toISOString().slice(0, 10) }
  }

  const entities = read(`${HOSTS}/dist/entities-nostats.json`) as Entity[]
  const hostsOf = (list: string) => {
    const own = (name: string) => Object.entries(ENTITIES).find(([, names]) => names.includes(name))?.[0]
    const all = entities
      .filter(({ name, category }) => (own(name) ?? CATEGORIES[category]) === list)
      .flatMap(({ domains }) => domains.map((domain) => domain.replace(/^\*\./, '')))
    const hosts = [...all, ...(HOSTS_BESIDE[list] ?? [])]
    return [...new Set(hosts.filter((host) => !NOT_BLOCKED.has(host)))].sort()
  }
  const hosts = Object.fromEntries(BLOCK_LISTS.map((list) => [list, hostsOf(list)]))
  write('packages/engine/src/gateway/block-lists.json', { source: source(HOSTS), hosts })

  const output = execFileSync(process.execPath, ['--input-type=module', '--eval', READ_RULES], {
    cwd: dir,
    maxBuffer: 64 * 1024 * 1024,
  })
  const rules = JSON.parse(String(output)) as ConsentRule[]
  // Rules of one site only would hide content of others.
  const general = rules.filter(({ runContext }) => !runContext?.urlPattern)
  const selectors = general.flatMap(({ prehideSelectors = [], detectCmp = [] }) => {
    // Of a path through shadow roots the first part is the banner.
    const detected = detectCmp.flatMap(({ exists = [] }) =>
      typeof exists === 'string' ? [exists] : exists.slice(0, 1),
    )
    return [...prehideSelectors, ...detected.filter((selector) => IS_ROOT.test(selector))]
  })
  const each = [...new Set(selectors.flatMap((selector) => selector.split(/,(?![^([]*[)\]])/)))]
  const known = each
    .map((selector) => selector.trim())
    .filter((selector) => /[#.[]/.test(selector) && ABOUT_CONSENT.test(selector) && !NO_BANNER.test(selector))
  write('packages/engine/src/render/visit/consent.json', { source: source(CONSENT), selectors: known.sort() })
} finally {
  rmSync(dir, { recursive: true })
}

function write(file: string, content: object): void {
  writeFileSync(path.join(root, file), `${JSON.stringify(content, null, 1)}\n`)
}
