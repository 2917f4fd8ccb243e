import { crawlerName } from '@prepaint/contract/crawlers/known-crawlers.ts'
import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { EdgeBackend } from '../backend.ts'
import type { Served } from '../page/prepared-page.ts'
import type { EdgeDomain } from './domain.ts'
import type { PageTarget } from './target.ts'

/** `category` is null for a tool, which is not recorded as a crawler. */
type Visit = { target: PageTarget; category: CrawlerCategory | null; userAgent: string; nowMs: number }

const DAY_MS = 86_400_000
/** A stale page is refreshed again after this time at the earliest. */
const REFRESH_EVERY_MS = 10_000
/** Visits of the same crawler to a page are recorded at most this often. */
const VISIT_EVERY_MS = 60_000

/**
 * What `VisitRecorder` remembers about a page: when it last noted, recorded and refreshed it. It stands in the page's
 * target, which each hit has at hand, because a map of its own would cost a look-up. Each method that begins something
 * returns whether the recorder shall do it now.
 */
export class PageMemory {
  /** The day (since the epoch) on which this node last noted the path. */
  #notedDay = 0
  #refreshedMs = 0
  #visitor = ''
  #visitedMs = 0

  beginDay(nowMs: number): boolean {
    const day = Math.floor(nowMs / DAY_MS)
    if (this.#notedDay === day) return false
    this.#notedDay = day
    return true
  }

  beginVisit(userAgent: string, nowMs: number): boolean {
    if (this.#visitor === userAgent && nowMs - this.#visitedMs < VISIT_EVERY_MS) return false
    this.#visitor = userAgent
    this.#visitedMs = nowMs
    return true
  }

  beginRefresh(nowMs: number): boolean {
    if (nowMs - this.#refreshedMs < REFRESH_EVERY_MS) return false
    this.#refreshedMs = nowMs
    return true
  }

  /** Lets the next request begin a refresh. */
  cancelRefresh(): void {
    this.#refreshedMs = 0
  }
}

/** Records visits and refreshes stale pages in the background. No request waits for it or fails because of it. */
export class VisitRecorder {
  readonly #backend: EdgeBackend
  readonly #log: Log

  constructor(backend: EdgeBackend, log: Log) {
    this.#backend = backend
    this.#log = log
  }

  /** Costs two comparisons for frequently requested pages. */
  served(visit: Visit, entry: Served): void {
    if (entry.status < 400) this.known(visit.target, visit.nowMs)
    if (entry.kind === 'page') this.#visited(visit)
  }

  /** Notes that a crawler asked for the page, once a day. */
  known({ memory, page }: PageTarget, nowMs: number): void {
    if (memory.beginDay(nowMs)) this.#backend.noteAsked(page)
  }

  #visited({ target, category, userAgent, nowMs }: Visit): void {
    if (category === null || !target.memory.beginVisit(userAgent, nowMs)) return
    const crawler = crawlerName(userAgent)
    this.#backend.noteVisit({ page: target.page, crawler, category, atMs: nowMs })
  }

  /** Queues a render, unless `isForged` says that the crawler is not genuine: such a crawler must not cause renders. */
  refresh(
    domain: EdgeDomain,
    target: PageTarget,
    nowMs: number,
    isForged: () => boolean | Promise<boolean>,
  ): void {
    if (!target.memory.beginRefresh(nowMs)) return
    this.#queueRefresh(target, isForged).catch((error: Error) => {
      this.#log.warn({ err: error, domain: domain.name }, 'a refresh could not be queued')
    })
  }

  async #queueRefresh(target: PageTarget, isForged: () => boolean | Promise<boolean>): Promise<void> {
    // The next crawler may be genuine.
    if (await isForged()) target.memory.cancelRefresh()
    else await this.#backend.refresh(target.page, target.effect)
  }
}
