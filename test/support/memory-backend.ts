import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import type { StoredEntry } from '@prepaint/contract/page/stored.ts'
import { readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { ServedDomain } from '@prepaint/contract/settings/served-domain.ts'
import type { StoredSitemap } from '@prepaint/contract/site-files/stored-sitemap.ts'
import type {
  CrawlerVisit,
  EdgeBackend,
  LiveEnd,
  LiveRequest,
  SiteFiles,
  SitemapStore,
} from '@prepaint/edge/backend.ts'
import type { Answered } from '@prepaint/edge/request/report.ts'
import type { RequestHead } from '@prepaint/edge/server/exchange.ts'
import type { Notifications } from '@prepaint/runtime/invalidation.ts'

/** A domain with the default settings, but for those given. */
export function servedDomain({
  settings = {},
  ...rest
}: Partial<Omit<ServedDomain, 'settings'>> & { settings?: object } = {}): ServedDomain {
  return {
    id: 1 as DomainId,
    account: 1,
    name: 'red.example' as DomainName,
    originUrl: 'http://o.example',
    originHeaders: [],
    isActive: true,
    settings: readDomainSettings(settings),
    certificateEndsAtMs: null,
    redirects: [],
    robotsText: '',
    indexNowKey: null,
    comparedPages: [],
    ...rest,
  }
}

/** What comes of a live render; without it every crawler waits for its longest time. */
export type RenderLive = (request: LiveRequest, signal: AbortSignal) => Promise<LiveEnd>

const untilLate: RenderLive = (_request, signal) =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')))

/** The rest of a node in memory: an edge without PostgreSQL, queue and Chromium. */
export class MemoryBackend implements EdgeBackend {
  readonly domains = new Map<string, ServedDomain>()
  readonly pages = new Map<string, StoredEntry>()
  readonly refreshed: PagePath[] = []
  readonly asked: PagePath[] = []
  readonly visits: CrawlerVisit[] = []
  readonly refused: string[] = []
  readonly answers: Answered[] = []
  readonly #listeners = new Map<string, (payload: string) => void>()
  readonly changes: Notifications = {
    connected: true,
    on: (channel, take) => void this.#listeners.set(channel, take),
    onLost: () => {},
  }
  isAway = false
  /** What is kept on the disk. */
  readonly kept = new Map<string, ServedDomain>()
  renderLive: RenderLive

  isAwayError(): boolean {
    return this.isAway
  }

  constructor(domains: readonly ServedDomain[] = [], renderLive = untilLate) {
    this.renderLive = renderLive
    for (const domain of domains) this.domains.set(domain.name, domain)
  }

  /** Tells the edge of a change, as PostgreSQL does. */
  announce(change: object): void {
    this.#listeners.get('invalidate')?.(JSON.stringify(change))
  }

  async findDomain(host: string): Promise<ServedDomain | null> {
    return this.domains.get(host) ?? null
  }

  async receiveProofMark(): Promise<boolean> {
    return false
  }

  async receiveCheck(): Promise<string | null> {
    return null
  }

  keptDomain(host: string): ServedDomain | null {
    return this.kept.get(host) ?? null
  }

  async readPageAgain(page: PageId): Promise<StoredEntry | null> {
    return this.readPage(page)
  }

  async readPage(page: PageId): Promise<StoredEntry | null> {
    return this.pages.get(page.key) ?? null
  }

  async refresh(page: PageId): Promise<void> {
    this.refreshed.push(page.path)
  }

  async readForm(): Promise<null> {
    return null
  }

  readonly formWaitMs = 1_000

  readonly sitemaps: SitemapStore = new MemorySitemaps()

  readonly siteFiles: SiteFiles = {
    servedRobots: async () => ({ text: '', isAway: false }),
    keptRobots: async () => null,
    rememberRobots: async () => {},
    sitemap: async () => null,
  }

  noteAsked({ path }: PageId): void {
    this.asked.push(path)
  }

  noteRefused(budget: string): void {
    this.refused.push(budget)
  }

  noteVisit(visit: CrawlerVisit): void {
    this.visits.push(visit)
  }

  noteRedirect(): void {}

  answered(_request: RequestHead, answer: Answered): void {
    this.answers.push(answer)
  }
}

class MemorySitemaps implements SitemapStore {
  readonly #sitemaps = new Map<string, StoredSitemap>()

  async read(page: PageId): Promise<StoredSitemap | null> {
    return this.#sitemaps.get(page.key) ?? null
  }

  async store(page: PageId, sitemap: StoredSitemap): Promise<void> {
    this.#sitemaps.set(page.key, sitemap)
  }

  async drop(page: PageId): Promise<void> {
    this.#sitemaps.delete(page.key)
  }

  async namedInIndexes(): Promise<string[]> {
    return []
  }

  async recordNamed(): Promise<void> {}
}
