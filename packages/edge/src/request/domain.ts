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
import { Abandoned, TO_THE_END, type Waiting, WaitingTogether } from '@prepaint/runtime/abandoned.ts'
import { CacheMarks, MARKED, type Reading } from '@prepaint/runtime/cache-marks.ts'
import type { Held, Invalidation } from '@prepaint/runtime/invalidation.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import { RuleBook } from '@prepaint/runtime/rule-book.ts'
import { within } from '@prepaint/runtime/within.ts'
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

/** Neither memory nor the snapshot has the domain, and PostgreSQL cannot be asked. */
export class DomainUnavailable extends Error {
  override name = 'DomainUnavailable'
}

/** A marked domain is used as it is, and keeps its mark, if PostgreSQL needs longer. */
const ASK_AGAIN_MS = 2_000

type Known = { domain: EdgeDomain; stamp: number }

type Loading = {
  began: Reading
  waiting: WaitingTogether
  domain: Promise<EdgeDomain | null>
  /** A look-up that has taken `ASK_AGAIN_MS`: it goes on, and nobody who has the marked domain waits for it any more. */
  isLate: boolean
}

/**
 * Caches domains, also unknown ones. Marked entries (`CacheMarks`) are asked for again, and used as they are while the
 * backend does not answer. Then a domain that is not in memory comes from the node's snapshot.
 */
export class Domains {
  readonly #backend: EdgeBackend
  readonly #known = new RecentMap<Known>({
    limit: 100_000,
    // A unit is about 2 kB, so that the limit is 200 MB in all.
    weigh: ({ domain: { redirects, files } }) =>
      1 + Math.ceil(((redirects?.chars ?? 0) + (files.robots.text?.length ?? 0)) / 2_000),
  })
  /** The stamps of unknown names. They are apart, so that a scan of random names evicts no domain. */
  readonly #unknown = new RecentMap<number>({ limit: 10_000 })
  readonly #loading = new Map<string, Loading>()
  readonly #marks: CacheMarks
  readonly held: Held

  constructor(backend: EdgeBackend) {
    this.#backend = backend
    this.#marks = new CacheMarks(() => backend.changes.connected)
    this.held = {
      invalidate: (what) => this.#invalidate(what),
      lost: () => this.#marks.lost(),
    }
  }

  get size(): number {
    return this.#known.size
  }

  /**
   * Returns null for a name that is not registered. Rejects with DomainUnavailable if that is unknown, and with
   * Abandoned if all responses that waited for the look-up were destroyed before it began.
   */
  find(hostHeader: string, waiting: Waiting = TO_THE_END): EdgeDomain | null | Promise<EdgeDomain | null> {
    const domain = this.inMemory(hostHeader)
    if (domain !== undefined) return domain
    const name = nameOf(hostHeader)
    const stamp = this.#unknown.get(name)
    if (stamp !== undefined && !this.#marks.isMarked(stamp)) return null
    // DNS names have at most 253 characters.
    if (name === '' || name.length > 253) return null
    return this.#join(name, waiting).catch((error: unknown) => {
      // It joined a look-up that was given up in the same moment.
      if (error instanceof Abandoned && !waiting.destroyed) return this.find(hostHeader, waiting)
      throw error
    })
  }

  /** Like `find`, but from memory only: undefined if the domain is not there, or must be asked for again. */
  inMemory(hostHeader: string): EdgeDomain | undefined {
    // Most hosts are already normalized.
    const known = this.#known.get(hostHeader) ?? this.#known.get(nameOf(hostHeader))
    if (known === undefined) return undefined
    return this.#marks.isMarked(known.stamp) && !this.#backend.isAway ? undefined : known.domain
  }

  /** Without an answer in time gives the marked domain. The look-up goes on: its answer is for those who come later. */
  async #join(name: string, waiting: Waiting): Promise<EdgeDomain | null> {
    const known = this.#known.get(name)
    const loading = this.#joinLookup(name, waiting)
    if (known === undefined) return loading.domain
    if (loading.isLate) return known.domain
    const domain = await within(ASK_AGAIN_MS, loading.domain, 'late' as const)
    if (domain !== 'late') return domain
    loading.isLate = true
    return known.domain
  }

  #joinLookup(name: string, first: Waiting): Loading {
    const open = this.#loading.get(name)
    if (open !== undefined && this.#marks.isCurrent(open.began)) {
      open.waiting.join(first)
      return open
    }
    const began = this.#marks.begin()
    const waiting = new WaitingTogether(first)
    const loading = { began, waiting, domain: this.#load(name, began, waiting.isWanted), isLate: false }
    this.#loading.set(name, loading)
    const end = () => {
      if (this.#loading.get(name) === loading) this.#loading.delete(name)
    }
    loading.domain.then(end, end)
    return loading
  }

  async #load(name: string, began: Reading, isWanted: () => boolean): Promise<EdgeDomain | null> {
    let served: ServedDomain | null
    try {
      served = await this.#backend.findDomain(name, isWanted)
    } catch (cause) {
      if (cause instanceof Abandoned) throw cause
      return this.#withoutDatabase(name, cause)
    }
    const domain = served === null ? null : edgeDomain(served)
    const stamp = this.#marks.stamp(began)
    if (stamp === null) return domain
    if (domain === null) {
      this.#known.delete(name)
      this.#unknown.set(name, stamp)
    } else {
      this.#unknown.delete(name)
      this.#known.set(name, { domain, stamp })
    }
    return domain
  }

  /** What comes from the snapshot stays in memory with a mark, because compiling its rules for each request would take long. */
  #withoutDatabase(name: string, cause: unknown): EdgeDomain {
    const outdated = this.#known.get(name)
    if (outdated !== undefined) return outdated.domain
    const kept = this.#backend.keptDomain(name)
    if (kept === null) throw new DomainUnavailable(`nothing is known of ${name}`, { cause })
    const domain = edgeDomain(kept)
    this.#known.set(name, { domain, stamp: MARKED })
    return domain
  }

  #clear(): void {
    this.#marks.notified()
    this.#known.clear()
    this.#unknown.clear()
  }

  #invalidate(what: Invalidation): void {
    if (what.kind === 'everything') this.#clear()
    else if (what.kind === 'host') {
      this.#marks.notified()
      this.#known.delete(what.host)
      this.#unknown.delete(what.host)
    } else if (what.kind === 'account') {
      this.#marks.notified()
      for (const [name, { domain }] of this.#known.entries()) {
        if (domain.account === what.account) this.#known.delete(name)
      }
    }
  }
}

/** Returns the name in lower case, without port and trailing dot. */
function nameOf(hostHeader: string): string {
  return hostHeader.toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '')
}
