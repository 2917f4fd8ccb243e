import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import type { QueryRule } from '@prepaint/contract/page/path.ts'
import { Devices } from '@prepaint/contract/settings/devices.ts'
import {
  CRAWLER_CATEGORIES,
  type CrawlerCategory,
  type DomainSettings,
  type Treatment,
  treatmentOf,
} from '@prepaint/contract/settings/domain-settings.ts'
import type { ServedDomain } from '@prepaint/contract/settings/served-domain.ts'
import { barePath, RedirectMap } from '@prepaint/contract/site-files/redirects.ts'
import type { FilesOf } from '@prepaint/contract/site-files/robots-text.ts'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import { readOrigin } from '@prepaint/outbound'
import { CacheTrust } from '@prepaint/runtime/cache-trust.ts'
import type { Held, Invalidation } from '@prepaint/runtime/invalidation.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import { RuleBook } from '@prepaint/runtime/rule-book.ts'
import type { EdgeBackend } from '../backend.ts'
import { type OwnCrawlers, ownCrawlers } from '../crawlers/crawler-test.ts'
import { ownUsage, type Usage } from '../page/usage-headers.ts'

export type EdgeDomain = {
  id: DomainId
  account: number
  name: DomainName
  origin: Origin
  isActive: boolean
  /** Requests are redirected to https until the certificate ends (ms since epoch). 0 if disabled or without certificate. */
  httpsUntilMs: number
  query: QueryRule
  rules: RuleBook
  devices: Devices
  crawlers: OwnCrawlers | null
  treatments: Readonly<Record<CrawlerCategory, Treatment>>
  termsUrl: string | null
  /** The path of `termsUrl`, if it is on this domain. It is open to crawlers that shall pay. */
  termsPath: string | null
  usage: Usage | null
  markdown: boolean
  cards: boolean
  files: FilesOf['files']
  /** Is null if no key was ever made. */
  indexNowKey: string | null
  indexNow: boolean
  ages: Pick<DomainSettings, 'fresh_seconds' | 'stale_seconds' | 'keep_seconds'>
  /** Is null if there are none, or if the domain is inactive. */
  redirects: RedirectMap | null
  crawlerWaitMs: number
}

export function edgeDomain(domain: ServedDomain): EdgeDomain {
  const { settings } = domain
  const { fresh_seconds, stale_seconds, keep_seconds } = settings
  const terms = settings.terms_url === null ? null : URL.parse(settings.terms_url)
  const redirects = domain.isActive ? domain.redirects : []
  const { mode } = settings.robots
  const text = mode === 'origin' ? '' : domain.robotsText
  return {
    id: domain.id,
    account: domain.account,
    name: domain.name,
    origin: readOrigin(domain.originUrl, domain.account, domain.originHeaders),
    isActive: domain.isActive,
    httpsUntilMs: settings.https_redirect ? (domain.certificateEndsAtMs ?? 0) : 0,
    query: settings.query,
    rules: new RuleBook(settings.rules),
    devices: new Devices(settings.devices, domain.comparedPages),
    crawlers: ownCrawlers(settings.crawlers),
    treatments: treatmentsOf(settings.categories),
    termsUrl: settings.terms_url,
    termsPath: terms?.hostname === domain.name ? barePath(terms.pathname) : null,
    usage: domain.isActive ? ownUsage(settings.preferences) : null,
    markdown: settings.markdown === 'on',
    cards: settings.cards === 'on',
    files: { preferences: settings.preferences, robots: { mode, text }, sitemap: settings.sitemap },
    indexNowKey: domain.indexNowKey,
    indexNow: settings.indexnow,
    ages: { fresh_seconds, stale_seconds, keep_seconds },
    redirects: redirects.length === 0 ? null : new RedirectMap(redirects),
    crawlerWaitMs: settings.crawler_wait_seconds * 1_000,
  }
}

function treatmentsOf(categories: DomainSettings['categories']): EdgeDomain['treatments'] {
  const entries = CRAWLER_CATEGORIES.map((category) => [category, treatmentOf(categories, category)])
  return Object.fromEntries(entries) as EdgeDomain['treatments']
}

/** Caches domains, also unknown ones. Outdated entries are used only while the backend does not answer. */
export class Domains {
  readonly #backend: EdgeBackend
  readonly #known = new RecentMap<EdgeDomain>({
    limit: 100_000,
    // A unit is about 2 kB, so that the limit is 200 MB in all.
    weigh: ({ redirects, files: { robots } }) =>
      1 + Math.ceil(((redirects?.chars ?? 0) + (robots.text?.length ?? 0)) / 2_000),
  })
  /** Unknown names are apart, so that a scan of random names evicts no domain. */
  readonly #unknown = new RecentMap<true>({ limit: 10_000 })
  readonly #trust: CacheTrust
  readonly held: Held

  constructor(backend: EdgeBackend) {
    this.#backend = backend
    this.#trust = new CacheTrust(
      () => backend.changes.connected,
      () => this.#clear(),
    )
    this.held = {
      invalidate: (what) => this.#invalidate(what),
      lost: () => this.#trust.lost(),
    }
  }

  /** Returns null for a name that nobody has registered. Rejects if it is not in memory and the backend fails. */
  find(hostHeader: string): EdgeDomain | null | Promise<EdgeDomain | null> {
    const domain = this.inMemory(hostHeader)
    if (domain !== undefined) return domain
    const name = nameOf(hostHeader)
    if (this.#trust.recover() && this.#unknown.get(name) !== undefined) return null
    // DNS names have at most 253 characters.
    return name === '' || name.length > 253 ? null : this.#load(name)
  }

  /** Like `find`, but from memory only: undefined if the domain is not there. */
  inMemory(hostHeader: string): EdgeDomain | undefined {
    if (!this.#trust.recover()) return undefined
    // Most hosts are already normalized.
    return this.#known.get(hostHeader) ?? this.#known.get(nameOf(hostHeader))
  }

  async #load(name: string): Promise<EdgeDomain | null> {
    const began = this.#trust.begin()
    let served: ServedDomain | null
    try {
      served = await this.#backend.findDomain(name)
    } catch (error) {
      const outdated = this.#known.get(name)
      if (outdated === undefined) throw error
      return outdated
    }
    const domain = served === null ? null : edgeDomain(served)
    if (this.#trust.admits(began)) {
      if (domain === null) this.#unknown.set(name, true)
      else this.#known.set(name, domain)
    }
    return domain
  }

  #clear(): void {
    this.#trust.notified()
    this.#known.clear()
    this.#unknown.clear()
  }

  #invalidate(what: Invalidation): void {
    if (what.kind === 'everything') this.#clear()
    else if (what.kind === 'host') {
      this.#trust.notified()
      this.#known.delete(what.host)
      this.#unknown.delete(what.host)
    } else if (what.kind === 'account') {
      this.#trust.notified()
      for (const [name, domain] of this.#known.entries()) {
        if (domain.account === what.account) this.#known.delete(name)
      }
    }
  }
}

/** Returns the name in lower case, without port and trailing dot. */
function nameOf(hostHeader: string): string {
  return hostHeader.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
