import type { IncomingHttpHeaders } from 'node:http'
import type { Way } from '@prepaint/contract/api/fronts.ts'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { DerivedForm, StoredForm } from '@prepaint/contract/outcome/form.ts'
import type { JobEnd } from '@prepaint/contract/outcome/job.ts'
import type { AskedPage, PageId } from '@prepaint/contract/page/page-id.ts'
import type { PageVersion, StoredEntry, StoredPage } from '@prepaint/contract/page/stored.ts'
import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'
import type { ServedDomain } from '@prepaint/contract/settings/served-domain.ts'
import type { FilesOf } from '@prepaint/contract/site-files/robots-text.ts'
import type { Site } from '@prepaint/contract/site-files/site.ts'
import type { StoredSitemap } from '@prepaint/contract/site-files/stored-sitemap.ts'
import type { Notifications } from '@prepaint/runtime/invalidation.ts'
import type { EdgeDomain } from './request/domain.ts'
import type { Answered } from './request/report.ts'
import type { RequestHead } from './server/exchange.ts'

/**
 * All that the edge asks of the rest of a node. A node implements it over PostgreSQL and the render queue
 * (`bin/node/edge-backend.ts`), tests and programs that measure from memory (`test/support/memory-backend.ts`).
 * Methods that return a promise reject when the database does not answer, unless they say otherwise.
 */
export interface EdgeBackend {
  /** What changed elsewhere. Lost notifications mark what the edge's caches hold: it is asked for again. */
  readonly changes: Notifications
  /** Nothing can be asked now: what is in memory is used as it is. */
  readonly isAway: boolean
  /** Whether this error of a method says that nothing can be asked now. The first error comes before `isAway` is true. */
  isAwayError(error: unknown): boolean

  /**
   * `host`: lower case, without a port. Returns null if it is not registered. Rejects with Abandoned if `isWanted`
   * returns false when the look-up would begin.
   */
  findDomain(host: string, isWanted: () => boolean): Promise<ServedDomain | null>
  /** What the node keeps on its disk of a registered host, for when `findDomain` rejects. Null if it keeps nothing. */
  keptDomain(host: string): ServedDomain | null

  /**
   * Returns the newer of the stored page and the stored redirect, or null if there is neither. Rejects with Abandoned if
   * `isWanted` returns false when the read would begin, and with BodyUnavailable if the page's body is in an object store
   * that does not answer.
   */
  readPage(page: PageId, isWanted: () => boolean): Promise<StoredEntry | null>
  /** As `readPage`; returns `same` if the known version is the stored one. */
  readPageAgain(
    page: PageId,
    known: PageVersion,
    isWanted: () => boolean,
  ): Promise<StoredEntry | 'same' | null>

  /** Queues a render of a stale page, or joins the one that is queued, unless its last render was refused a short time ago. */
  refresh(page: PageId, effect: string): Promise<void>

  /**
   * Returns after the render, or with `late` when `signal` is aborted. The render goes on then, unless the reason is
   * Abandoned and it has not begun. Returns at once, without a render, if the last one was refused a short time ago.
   */
  renderLive(request: LiveRequest, signal: AbortSignal): Promise<LiveEnd>

  /**
   * Reads the form of a stored page, or makes and keeps it. `busy`: ask again later. Returns null if the page has none.
   * Rejects with Abandoned if it would be made and is not wanted any more.
   */
  readForm(request: FormRequest): Promise<StoredForm | 'busy' | null>
  /** How long a request waits for a form, in ms; null while the code that makes forms is loaded, once. */
  readonly formWaitMs: number | null

  /**
   * A request arrived that may be of an installation check. Returns the text that its response must contain, or null if
   * there is no such check.
   */
  receiveCheck(domain: DomainId, token: string, arrival: CheckArrival): Promise<string | null>

  /** A request arrived that may be of a check whether a name is an account's own. Returns whether there is such a check. */
  receiveProofMark(mark: string): Promise<boolean>

  readonly sitemaps: SitemapStore
  readonly siteFiles: SiteFiles

  /** A crawler asked for the page: warms render it from now on. Cheap, never throws. */
  noteAsked(page: PageId): void
  /** Cheap, never throws. */
  noteVisit(visit: CrawlerVisit): void
  /** The owner's redirect of this name answered a request. Cheap, never throws. */
  noteRedirect(domain: DomainId, name: string, atMs: number): void
  /** Something was refused, because it would have exceeded a budget of its client. Cheap, never throws. */
  noteRefused(budget: string): void
  /** Tells metrics, traffic and the access log. Called for every request: cheap, never throws. */
  answered(request: RequestHead, answer: Answered): void
}

/**
 * `crawler` is the kind of crawler where rules tell crawlers apart, and else null. `effect` names what the path's rule
 * does to its render.
 */
export type LiveRequest = { page: AskedPage; requestId: string; crawler: string | null; effect: string }

/** `busy`: the database is there, but all connections to it are taken. */
export type LiveEnd = 'over-quota' | 'queue-full' | 'busy' | 'late' | LiveRendered

export type LiveRendered = JobEnd & {
  /** What was stored, if this node stored it and it differs from before. */
  page: StoredPage | null
  /** The page that was made only for the crawlers that wait, or null if there is none. */
  unstored: StoredPage | null
}

export type CrawlerVisit = { page: PageId; crawler: string; category: CrawlerCategory; atMs: number }

export type FormRequest = {
  form: DerivedForm
  domain: { account: number; name: string }
  page: PageId
  /** The entity tag of the stored HTML. */
  etag: string
  /** If false, the page is given once, and so are its forms. */
  isStored: boolean
  changedAtMs: number
  html(): Promise<string>
  /** Whether a client still waits for it. */
  isWanted(): boolean
}

export type CheckArrival = { way: Way; path: string; headers: IncomingHttpHeaders }

/** Sitemaps of sites, as they are kept for crawlers. */
export interface SitemapStore {
  read(page: PageId): Promise<StoredSitemap | null>
  store(page: PageId, sitemap: StoredSitemap): Promise<void>
  /** Deletes the sitemap only if it is the one fetched at that time. */
  drop(page: PageId, fetchedAtMs: number): Promise<void>
  /** Returns the paths of sitemaps that stored indexes name. */
  namedInIndexes(domain: DomainId): Promise<string[]>
  /** Warms render these paths from now on. */
  recordNamed(domain: DomainId, paths: readonly PagePath[]): Promise<void>
}

/** `text` is null if the origin, which has a part in it, cannot be reached, or if `isAway`: nothing can be asked now. */
export type ServedRobots = { text: string | null; isAway: boolean }

/** robots.txt and the generated sitemap of a domain. The methods for robots.txt never reject. */
export interface SiteFiles {
  servedRobots(site: Site & FilesOf): Promise<ServedRobots>
  /** The origin's last good robots.txt of the last day, without asking the origin. */
  keptRobots(site: Site): Promise<string | null>
  /** A good answer of the origin. */
  rememberRobots(site: Site, text: string): Promise<unknown>
  /**
   * `file` counts from 0; null stands for the whole, or the index. Returns null if there is no such file. A file without
   * pieces has no page.
   */
  sitemap(domain: EdgeDomain, file: number | null): Promise<AsyncGenerator<string> | null>
}
