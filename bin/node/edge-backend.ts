import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import type { StoredForm } from '@prepaint/contract/outcome/form.ts'
import { type PageId, pageId } from '@prepaint/contract/page/page-id.ts'
import type { ServedDomain } from '@prepaint/contract/settings/served-domain.ts'
import type { FilesOf } from '@prepaint/contract/site-files/robots-text.ts'
import type { Site } from '@prepaint/contract/site-files/site.ts'
import type { StoredSitemap } from '@prepaint/contract/site-files/stored-sitemap.ts'
import type {
  CheckArrival,
  CrawlerVisit,
  EdgeBackend,
  FormRequest,
  LiveEnd,
  LiveRequest,
  SiteFiles,
  SitemapStore,
} from '@prepaint/edge/backend.ts'
import type { EdgeDomain } from '@prepaint/edge/request/domain.ts'
import type { Answered } from '@prepaint/edge/request/report.ts'
import type { RequestHead } from '@prepaint/edge/server/exchange.ts'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import type { PageForms } from '@prepaint/pages/forms/stored-form.ts'
import type { WaitedFor } from '@prepaint/pages/queue/jobs/await.ts'
import { type EnqueueLive, enqueue } from '@prepaint/pages/queue/jobs/enqueue.ts'
import type { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import { sitemapFile } from '@prepaint/pages/site-files/sitemap.ts'
import type { BodyStore } from '@prepaint/pages/store/bodies/body-store.ts'
import { recordKnown } from '@prepaint/pages/store/known-paths.ts'
import { readRefusal } from '@prepaint/pages/store/refused-pages.ts'
import { createStoredComparer, createStoredReader, readUnstored } from '@prepaint/pages/store/stored-page.ts'
import {
  dropSitemap,
  namedInIndexes,
  readSitemap,
  storeSitemap,
} from '@prepaint/pages/store/stored-sitemap.ts'
import { DatabaseAway, isAway } from '@prepaint/postgres/away.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Notifications } from '@prepaint/runtime/invalidation.ts'
import { domainByHost } from '@prepaint/service/sites/domains.ts'
import { receiveMark } from '@prepaint/service/sites/proof/marks.ts'

/** What is noted of the edge's requests: `RequestRecords` keeps it, tests look at it. Nothing of it may throw. */
export interface RequestRecorder {
  noteAsked(page: PageId): void
  noteVisit(visit: CrawlerVisit): void
  noteRedirect(domain: DomainId, name: string, atMs: number): void
  noteRefused(budget: string): void
  answered(request: RequestHead, answer: Answered): void
  receiveCheck(domain: DomainId, token: string, arrival: CheckArrival): Promise<string | null>
}

/** Waits for the end of a job. `JobWaiter` does; a test may decide the end. */
interface Waiter {
  wait(job: JobId, signal: AbortSignal): Promise<WaitedFor | 'late'>
}

/** What a node has while PostgreSQL is away: `Outage`. */
export interface WithoutDatabase {
  readonly isAway: boolean
  /** Returns null if nothing is kept of the host. */
  keptDomain(host: string): ServedDomain | null
  /** Rejects when the database goes away. */
  untilAway<T>(use: () => Promise<T>): Promise<T>
}

type AskedDomain = { host: string; isWanted: () => boolean }

/** Look-ups of domains leave connections to reads of pages, however many unregistered names are asked for. */
const FINDING = 2

/** What the edge of a node asks of PostgreSQL and of the render queue. */
export class NodeBackend implements EdgeBackend {
  readonly #db: Queryable
  readonly #pool: Queryable
  readonly #enqueueLive: EnqueueLive
  readonly #waiter: Waiter
  readonly #forms: PageForms
  readonly #recorder: RequestRecorder
  readonly #clock: Clock
  readonly #outage: WithoutDatabase
  readonly changes: Notifications
  readonly sitemaps: SitemapStore
  readonly siteFiles: SiteFiles
  readonly readPage: EdgeBackend['readPage']
  readonly readPageAgain: EdgeBackend['readPageAgain']
  readonly #findDomain: (asked: AskedDomain) => Promise<ServedDomain | null>

  /**
   * `reads` is only for what hits need: it waits while PostgreSQL is busy. `db` has a limit of time, for other queries that
   * requests wait for. `pool` is for writes in the background.
   */
  constructor(
    reads: Queryable,
    db: Queryable,
    pool: Queryable,
    bodies: BodyStore,
    changes: Notifications,
    openHeaders: OpenOriginHeaders,
    enqueueLive: EnqueueLive,
    waiter: Waiter,
    forms: PageForms,
    robots: RobotsFiles,
    recorder: RequestRecorder,
    outage: WithoutDatabase,
    clock: Clock,
  ) {
    this.#db = db
    this.#pool = pool
    this.#enqueueLive = enqueueLive
    this.#waiter = waiter
    this.#forms = forms
    this.#recorder = recorder
    this.#clock = clock
    this.#outage = outage
    this.changes = changes
    this.sitemaps = new StoredSitemaps(reads, db, pool, clock)
    this.siteFiles = new OwnFiles(db, robots, clock)
    this.readPage = createStoredReader(reads, bodies)
    this.readPageAgain = createStoredComparer(reads, bodies)
    this.#findDomain = joined(
      ([asked]) => domainByHost(reads, asked!.host, openHeaders).then((domain) => [domain]),
      { most: 1, underWay: FINDING, isWanted: ({ isWanted }) => isWanted() },
    )
  }

  get isAway(): boolean {
    return this.#outage.isAway
  }

  isAwayError(error: unknown): boolean {
    return isAway(error)
  }

  keptDomain(host: string): ServedDomain | null {
    return this.#outage.keptDomain(host)
  }

  findDomain(host: string, isWanted: () => boolean): Promise<ServedDomain | null> {
    return this.#findDomain({ host, isWanted })
  }

  async refresh(page: PageId, effect: string): Promise<void> {
    if ((await readRefusal(this.#db, page, effect, this.#clock.nowMs())) !== null) return
    await enqueue(this.#pool, page.domain, [page.path], 'refresh', page)
  }

  async renderLive(request: LiveRequest, signal: AbortSignal): Promise<LiveEnd> {
    try {
      return await this.#renderLive(request, signal)
    } catch (error) {
      const isBusy = error instanceof DatabaseAway && error.kind === 'connections' && !this.#outage.isAway
      if (isBusy) return 'busy'
      throw error
    }
  }

  async #renderLive(request: LiveRequest, signal: AbortSignal): Promise<LiveEnd> {
    const { page, requestId, crawler, effect } = request
    const refused = await readRefusal(this.#db, page, effect, this.#clock.nowMs())
    if (refused !== null) return { state: 'failed', outcome: refused, page: null, unstored: null }
    if (signal.aborted) return 'late'
    let job: JobId | 'over-quota'
    try {
      job = await this.#enqueueLive(page, requestId, crawler)
    } catch (error) {
      if (error instanceof AppError && error.code === 'queue_full') return 'queue-full'
      throw error
    }
    if (job === 'over-quota') return 'over-quota'
    const end = await this.#outage.untilAway(() => this.#waiter.wait(job, signal))
    if (end === 'late') return end
    const { state, outcome } = end
    const isForWaiting = outcome === 'site-error' || outcome === 'no-store' || outcome === 'incomplete'
    const unstored = isForWaiting ? await readUnstored(this.#db, page.domain, job, page.variant) : null
    return { state, outcome, page: end.page ?? null, unstored }
  }

  readForm({ form, domain, page, ...source }: FormRequest): Promise<StoredForm | 'busy' | null> {
    return this.#forms.find(form, domain, page, source)
  }

  get formWaitMs(): number | null {
    return this.#forms.waitMs
  }

  receiveCheck(domain: DomainId, token: string, arrival: CheckArrival): Promise<string | null> {
    return this.#recorder.receiveCheck(domain, token, arrival)
  }

  receiveProofMark(mark: string): Promise<boolean> {
    return receiveMark(this.#db, mark)
  }

  noteAsked(page: PageId): void {
    this.#recorder.noteAsked(page)
  }

  noteVisit(visit: CrawlerVisit): void {
    this.#recorder.noteVisit(visit)
  }

  noteRedirect(domain: DomainId, name: string, atMs: number): void {
    this.#recorder.noteRedirect(domain, name, atMs)
  }

  noteRefused(budget: string): void {
    this.#recorder.noteRefused(budget)
  }

  answered(request: RequestHead, answer: Answered): void {
    this.#recorder.answered(request, answer)
  }
}

class StoredSitemaps implements SitemapStore {
  readonly #reads: Queryable
  readonly #db: Queryable
  readonly #pool: Queryable
  readonly #clock: Clock

  constructor(reads: Queryable, db: Queryable, pool: Queryable, clock: Clock) {
    this.#reads = reads
    this.#db = db
    this.#pool = pool
    this.#clock = clock
  }

  read(page: PageId) {
    return readSitemap(this.#reads, page)
  }

  store(page: PageId, sitemap: StoredSitemap) {
    return storeSitemap(this.#pool, page, sitemap)
  }

  drop(page: PageId, fetchedAtMs: number) {
    return dropSitemap(this.#pool, page, fetchedAtMs)
  }

  namedInIndexes(domain: DomainId) {
    return namedInIndexes(this.#db, domain)
  }

  recordNamed(domain: DomainId, paths: readonly PagePath[]) {
    const known = paths.map((path) => pageId(domain, path))
    return recordKnown(this.#pool, 'sitemap', known, this.#clock.nowMs())
  }
}

class OwnFiles implements SiteFiles {
  readonly #db: Queryable
  readonly #robots: RobotsFiles
  readonly #clock: Clock

  constructor(db: Queryable, robots: RobotsFiles, clock: Clock) {
    this.#db = db
    this.#robots = robots
    this.#clock = clock
  }

  servedRobots(site: Site & FilesOf) {
    return this.#robots.answer(site)
  }

  keptRobots(site: Site) {
    return this.#robots.kept(site)
  }

  rememberRobots(site: Site, text: string) {
    return this.#robots.remember(site, text)
  }

  async sitemap(domain: EdgeDomain, file: number | null) {
    const { id, name, redirects, rules, ages } = domain
    const robots = await this.#robots.rules(domain)
    const sinceMs = this.#clock.nowMs() - ages.keep_seconds * 1_000
    return sitemapFile(this.#db, { id, name, redirects, robots, rules, sinceMs }, file)
  }
}
