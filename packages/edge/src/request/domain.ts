import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import type { QueryRule } from '@prepaint/contract/page/path.ts'
import { type ComparedPage, Devices } from '@prepaint/contract/settings/devices.ts'
import {
  CRAWLER_CATEGORIES,
  type CrawlerCategory,
  type DomainSettings,
  readDomainSettings,
  type Treatment,
  treatmentOf,
} from '@prepaint/contract/settings/domain-settings.ts'
import { barePath, type Redirect, RedirectMap } from '@prepaint/contract/site-files/redirects.ts'
import type { FilesOf } from '@prepaint/contract/site-files/robots-text.ts'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import { type OpenOriginHeaders, readOrigin } from '@prepaint/outbound'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { CacheTrust } from '@prepaint/runtime/cache-trust.ts'
import type { Held, Invalidation } from '@prepaint/runtime/invalidation.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import { RuleBook } from '@prepaint/runtime/rule-book.ts'
import { domainByHost } from '@prepaint/service/sites/domains.ts'
import { type OwnCrawlers, ownCrawlers } from '../crawlers/crawler-test.ts'
import { ownUsage, type Usage } from '../page/usage-headers.ts'

export type DomainRow = {
  id: number
  account_id: number
  custom_domain: string
  origin_url: string
  is_active: boolean
  settings: unknown
  /** End of the current certificate; null or absent: none. */
  certificate_ends_at?: Date | null
  redirects?: readonly Redirect[] | null
  robots_text?: string | null
  indexnow_key?: string | null
  device_pages?: readonly ComparedPage[] | null
  sealed_headers?: Buffer | null
}

export type EdgeDomain = {
  id: DomainId
  account: number
  name: DomainName
  origin: Origin
  isActive: boolean
  /** Redirect to https until the certificate ends (ms since epoch); 0: disabled or no certificate. */
  httpsUntilMs: number
  query: QueryRule
  rules: RuleBook
  devices: Devices
  crawlers: OwnCrawlers | null
  treatments: Readonly<Record<CrawlerCategory, Treatment>>
  termsUrl: string | null
  /** Of `termsUrl`, if it is on this domain: open to crawlers that shall pay. */
  termsPath: string | null
  usage: Usage | null
  markdown: boolean
  cards: boolean
  files: FilesOf['files']
  /** null: never made. */
  indexNowKey: string | null
  indexNow: boolean
  ages: Pick<DomainSettings, 'fresh_seconds' | 'stale_seconds' | 'keep_seconds'>
  /** null: none, or the domain is inactive. */
  redirects: RedirectMap | null
  crawlerWaitMs: number
}

/** `headers`: for the origin, with all that is passed. */
export function edgeDomain(row: DomainRow, headers: readonly string[] = []): EdgeDomain {
  const settings = readDomainSettings(row.settings)
  const { fresh_seconds, stale_seconds, keep_seconds } = settings
  const terms = settings.terms_url === null ? null : URL.parse(settings.terms_url)
  const redirects = row.is_active ? (row.redirects ?? []) : []
  const { mode } = settings.robots
  const text = mode === 'origin' ? '' : (row.robots_text ?? '')
  return {
    id: row.id as DomainId,
    account: row.account_id,
    name: row.custom_domain as DomainName,
    origin: readOrigin(row.origin_url, row.account_id, headers),
    isActive: row.is_active,
    httpsUntilMs: settings.https_redirect ? (row.certificate_ends_at?.getTime() ?? 0) : 0,
    query: settings.query,
    rules: new RuleBook(settings.rules),
    devices: new Devices(settings.devices, row.device_pages ?? []),
    crawlers: ownCrawlers(settings.crawlers),
    treatments: treatmentsOf(settings.categories),
    termsUrl: settings.terms_url,
    termsPath: terms?.hostname === row.custom_domain ? barePath(terms.pathname) : null,
    usage: row.is_active ? ownUsage(settings.preferences) : null,
    markdown: settings.markdown === 'on',
    cards: settings.cards === 'on',
    files: { preferences: settings.preferences, robots: { mode, text }, sitemap: settings.sitemap },
    indexNowKey: row.indexnow_key ?? null,
    indexNow: settings.indexnow,
    ages: { fresh_seconds, stale_seconds, keep_seconds },
    redirects: redirects.length === 0 ? null : new RedirectMap(redirects),
    crawlerWaitMs: settings.crawler_wait_seconds * 1_000,
  }
}

function treatmentsOf(categories: DomainSettings['categories']): EdgeDomain['treatments'] {
  const each = CRAWLER_CATEGORIES.map((category) => [category, treatmentOf(categories, category)])
  return Object.fromEntries(each) as EdgeDomain['treatments']
}

type DomainsOptions = {
  db: Queryable
  connected(): boolean
  openHeaders?: OpenOriginHeaders | undefined
}

/** Caches domains, also unknown ones. Outdated entries are used only while PostgreSQL is unreachable. */
export function createDomains({ db, connected, openHeaders }: DomainsOptions) {
  const known = new RecentMap<EdgeDomain>({
    limit: 100_000,
    // In about 2 kB: 200 MB in all.
    weigh: ({ redirects, files: { robots } }) =>
      1 + Math.ceil(((redirects?.chars ?? 0) + (robots.text?.length ?? 0)) / 2_000),
  })
  // Separate, so that a scan of random names evicts no domain.
  const unknown = new RecentMap<true>({ limit: 10_000 })
  const trust = new CacheTrust(connected, clear)

  function find(hostHeader: string): EdgeDomain | null | Promise<EdgeDomain | null> {
    const domain = inMemory(hostHeader)
    if (domain !== undefined) return domain
    const name = nameOf(hostHeader)
    if (trust.recover() && unknown.get(name) !== undefined) return null
    // DNS names have at most 253 characters.
    return name === '' || name.length > 253 ? null : load(name)
  }

  /** `find` from memory only, or undefined. */
  function inMemory(hostHeader: string): EdgeDomain | undefined {
    // Most hosts are already normalized.
    return trust.recover() ? (known.get(hostHeader) ?? known.get(nameOf(hostHeader))) : undefined
  }

  async function load(name: string): Promise<EdgeDomain | null> {
    const began = trust.begin()
    let row: DomainRow | null
    try {
      row = await domainByHost(db, name)
    } catch (error) {
      const held = known.get(name)
      if (held === undefined) throw error
      return held
    }
    const headers = row === null ? [] : openHeaders?.(row.id, row.sealed_headers ?? null, 'all')
    const domain = row === null ? null : edgeDomain(row, headers)
    if (trust.admits(began)) {
      if (domain === null) unknown.set(name, true)
      else known.set(name, domain)
    }
    return domain
  }

  function clear(): void {
    trust.notified()
    known.clear()
    unknown.clear()
  }

  function invalidate(what: Invalidation): void {
    if (what.kind === 'everything') clear()
    else if (what.kind === 'host') {
      trust.notified()
      known.delete(what.host)
      unknown.delete(what.host)
    } else if (what.kind === 'account') {
      trust.notified()
      for (const [name, domain] of known.entries()) if (domain.account === what.account) known.delete(name)
    }
  }

  const held: Held = {
    invalidate,
    lost: () => trust.lost(),
  }
  return { find, inMemory, held }
}

export type Domains = ReturnType<typeof createDomains>

/** Lower case, without port and trailing dot. */
function nameOf(hostHeader: string): string {
  return hostHeader.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
