/** Writes the lists of packages/engine/src/gateway/block-lists.json and packages/engine/src/render/visit/consent.json anew: `npm run block-lists`. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

/** Sites that pages show as content. */
const NOT_BLOCKED = new Set(['bing.com', 'yahoo.com'])

/** Others are too general: they would remove the site's own dialogs. */
const ABOUT_CONSENT =
  /cookie|consent|gdpr|ccpa|cmp|privacy|onetrust|didomi|usercentrics|trust(?:arc|e)|iubenda|osano|termly|axeptio|\.fc-|qc-cmp|sp_message|\bcc[-_]|cky|borlabs|tarteaucitron|klaro|pandectes|transcend/i

type Entity = { name: string; category: string; domains: string[] }
type ConsentRule = { runContext?: { urlPattern?: string }; prehideSelectors?: string[] }

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
    return [...new Set(all.filter((host) => !NOT_BLOCKED.has(host)))].sort()
  }
  const hosts = Object.fromEntries(BLOCK_LISTS.map((list) => [list, hostsOf(list)]))
  write('packages/engine/src/gateway/block-lists.json', { source: source(HOSTS), hosts })

  const rules = path.join(dir, 'node_modules', CONSENT, 'rules/autoconsent')
  const selectors = readdirSync(rules).flatMap((file) => {
    const rule = read(`${CONSENT}/rules/autoconsent/${file}`) as ConsentRule
    // Rules of one site only would hide content of others.
    return rule.runContext?.urlPattern === undefined ? (rule.prehideSelectors ?? []) : []
  })
  const coded = path.join(dir, 'node_modules', CONSENT, 'lib/cmps')
  for (const file of readdirSync(coded)) {
    const [, list = ''] =
      /prehideSelectors = \[([^;]*?)\];/s.exec(readFileSync(path.join(coded, file), 'utf8')) ?? []
    selectors.push(...[...list.matchAll(/(['"`])(.*?)\1/g)].map((found) => found[2] ?? ''))
  }
  const each = [...new Set(selectors.flatMap((selector) => selector.split(/,(?![^([]*[)\]])/)))]
  const known = each
    .map((selector) => selector.trim())
    .filter((selector) => /[#.[]/.test(selector) && ABOUT_CONSENT.test(selector))
  write('packages/engine/src/render/visit/consent.json', { source: source(CONSENT), selectors: known.sort() })
} finally {
  rmSync(dir, { recursive: true })
}

function write(file: string, content: object): void {
  writeFileSync(path.join(root, file), `${JSON.stringify(content, null, 1)}\n`)
}
