import { AppError } from '@prepaint/contract/errors.ts'
import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import type { StoredForm } from '@prepaint/contract/outcome/form.ts'
import { type PageId, pageId } from '@prepaint/contract/page/page-id.ts'
import type { StoredEntry } from '@prepaint/contract/page/stored.ts'
import type { ServedDomain } from '@prepaint/contract/settings/served-domain.ts'
import type { FilesOf } from '@prepaint/contract/site-files/robots-text.ts'
import type { Site } from '@prepaint/contract/site-files/site.ts'
import type { StoredSitemap } from '@prepaint/contract/site-files/stored-sitemap.ts'
import type {
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
import type { Converter } from '@prepaint/pages/forms/converter.ts'
import { findForm } from '@prepaint/pages/forms/stored-form.ts'
import type { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import { type EnqueueLive, enqueue } from '@prepaint/pages/queue/jobs/enqueue.ts'
import type { RobotsFiles } from '@prepaint/pages/site-files/robots-files.ts'
import { sitemapFile } from '@prepaint/pages/site-files/sitemap.ts'
import type { RedirectUses } from '@prepaint/pages/site-files/stored-redirects.ts'
import { type AskedPaths, recordKnown } from '@prepaint/pages/store/known-paths.ts'
import type { LastVisits } from '@prepaint/pages/store/last-visits.ts'
import { createStoredReader, readUnstored } from '@prepaint/pages/store/stored-page.ts'
import {
  dropSitemap,
  namedInIndexes,
  readSitemap,
  storeSitemap,
} from '@prepaint/pages/store/stored-sitemap.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Notifications } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { domainByHost } from '@prepaint/service/sites/domains.ts'

export type NodeBackendParts = {
  clock: Clock
  log: Log
  /** For queries that requests wait for; has time limits. */
  db: Queryable
  /** For writes in the background. */
  pool: Queryable
  changes: Notifications
  enqueueLive: EnqueueLive
  waiter: Pick<JobWaiter, 'wait'>
  openHeaders: OpenOriginHeaders
  robots: RobotsFiles
  converter: Converter
  knownPaths: Pick<AskedPaths, 'note'>
  lastVisits: Pick<LastVisits, 'note'>
  redirectUses: Pick<RedirectUses, 'note'>
  answered(request: RequestHead, answer: Answered): void
}

/** What the edge of a node asks of PostgreSQL and of the render queue. */
export class NodeBackend implements EdgeBackend {
  readonly #parts: NodeBackendParts
  readonly changes: Notifications
  readonly sitemaps: SitemapStore
  readonly siteFiles: SiteFiles
  readonly readPage: (page: PageId) => Promise<StoredEntry | null>
  readonly answered: EdgeBackend['answered']

  constructor(parts: NodeBackendParts) {
    this.#parts = parts
    this.changes = parts.changes
    this.readPage = createStoredReader(parts.db)
    this.answered = parts.answered
    this.sitemaps = new StoredSitemaps(parts)
    this.siteFiles = new OwnFiles(parts)
  }

  async findDomain(host: string): Promise<ServedDomain | null> {
    return domainByHost(this.#parts.db, host, this.#parts.openHeaders)
  }

  async refresh(page: PageId): Promise<void> {
    await enqueue(this.#parts.pool, page.domain, [page.path], 'refresh', page)
  }

  async renderLive({ page, requestId, crawler }: LiveRequest, signal: AbortSignal): Promise<LiveEnd> {
    const queued = await this.#enqueueLive({ page, requestId, crawler })
    if (typeof queued === 'string') return queued
    const { job } = queued
    const end = await this.#parts.waiter.wait(job, signal)
    if (end === 'late') return end
    const { state, outcome } = end
    const isForWaiting = outcome === 'site-error' || outcome === 'no-store' || outcome === 'incomplete'
    const unstored = isForWaiting ? await readUnstored(this.#parts.db, page.domain, job, page.variant) : null
    return { state, outcome, page: end.page ?? null, unstored }
  }

  async #enqueueLive({
    page,
    requestId,
    crawler,
  }: LiveRequest): Promise<{ job: JobId } | 'over-quota' | 'queue-full'> {
    try {
      const job = await this.#parts.enqueueLive(page, requestId, crawler)
      if (job === 'over-quota') return 'over-quota'
      return { job }
    } catch (error) {
      if (error instanceof AppError && error.code === 'queue_full') return 'queue-full'
      throw error
    }
  }

  async readForm({ form, domain, page, ...source }: FormRequest): Promise<StoredForm | 'busy' | null> {
    return findForm(this.#parts, domain, page, source, form)
  }

  get formWaitMs(): number | null {
    const { isReady, limitMs } = this.#parts.converter
    return isReady ? limitMs : null
  }

  noteAsked(page: PageId): void {
    this.#parts.knownPaths.note(page)
  }

  noteVisit(visit: CrawlerVisit): void {
    this.#parts.lastVisits.note(visit)
  }

  noteRedirect(domain: DomainId, name: string, atMs: number): void {
    this.#parts.redirectUses.note(domain, name, atMs)
  }
}

class StoredSitemaps implements SitemapStore {
  readonly #parts: NodeBackendParts

  constructor(parts: NodeBackendParts) {
    this.#parts = parts
  }

  read(page: PageId) {
    return readSitemap(this.#parts.db, page)
  }

  store(page: PageId, sitemap: StoredSitemap) {
    return storeSitemap(this.#parts.pool, page, sitemap)
  }

  drop(page: PageId, fetchedAtMs: number) {
    return dropSitemap(this.#parts.pool, page, fetchedAtMs)
  }

  namedInIndexes(domain: DomainId) {
    return namedInIndexes(this.#parts.db, domain)
  }

  recordNamed(domain: DomainId, paths: readonly PagePath[]) {
    const known = paths.map((path) => pageId(domain, path))
    return recordKnown(this.#parts.pool, 'sitemap', known, this.#parts.clock.nowMs())
  }
}

class OwnFiles implements SiteFiles {
  readonly #parts: NodeBackendParts

  constructor(parts: NodeBackendParts) {
    this.#parts = parts
  }

  servedRobots(site: Site & FilesOf) {
    return this.#parts.robots.served(site)
  }

  keptRobots(site: Site) {
    return this.#parts.robots.kept(site)
  }

  rememberRobots(site: Site, text: string) {
    return this.#parts.robots.remember(site, text)
  }

  async sitemap(domain: EdgeDomain, file: number | null) {
    const { id, name, redirects, rules, ages } = domain
    const robots = await this.#parts.robots.rules(domain)
    const sinceMs = this.#parts.clock.nowMs() - ages.keep_seconds * 1_000
    return sitemapFile(this.#parts.db, { id, name, redirects, robots, rules, sinceMs }, file)
  }
}
