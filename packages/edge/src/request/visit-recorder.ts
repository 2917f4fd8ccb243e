import { crawlerName } from '@prepaint/contract/crawlers/known-crawlers.ts'
import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { EdgeBackend } from '../backend.ts'
import type { Served } from '../page/prepared-page.ts'
import type { EdgeDomain } from './domain.ts'
import type { PageTarget } from './target.ts'

/** `category` null: a tool, which is not recorded as a crawler. */
type Visit = { target: PageTarget; category: CrawlerCategory | null; userAgent: string; nowMs: number }

const DAY_MS = 86_400_000
/** Minimum interval between refreshes of a stale page. */
const REFRESH_EVERY_MS = 10_000
/** Minimum interval between recorded visits of one crawler to a page. */
const VISIT_EVERY_MS = 60_000

/** Records visits and refreshes stale pages in the background. No request waits for it or fails because of it. */
export class VisitRecorder {
  readonly #backend: EdgeBackend
  readonly #log: Log

  constructor(backend: EdgeBackend, log: Log) {
    this.#backend = backend
    this.#log = log
  }

  /** Two comparisons for frequently requested pages. */
  served(visit: Visit, entry: Served): void {
    if (entry.status < 400) this.known(visit)
    if (entry.kind === 'page') this.#visited(visit)
  }

  known({ target, nowMs }: Pick<Visit, 'target' | 'nowMs'>): void {
    const day = Math.floor(nowMs / DAY_MS)
    if (target.notedDay === day) return
    target.notedDay = day
    this.#backend.noteAsked(target.page)
  }

  #visited({ target, category, userAgent, nowMs }: Visit): void {
    const { visit } = target
    if (category === null) return
    if (visit.userAgent === userAgent && nowMs - visit.atMs < VISIT_EVERY_MS) return
    visit.userAgent = userAgent
    visit.atMs = nowMs
    const crawler = crawlerName(userAgent)
    this.#backend.noteVisit({ page: target.page, crawler, category, atMs: nowMs })
  }

  /** `isForged`: an unverified crawler must not cause a render. */
  refresh(
    domain: EdgeDomain,
    target: PageTarget,
    nowMs: number,
    isForged: () => boolean | Promise<boolean>,
  ): void {
    if (nowMs - target.refreshedMs < REFRESH_EVERY_MS) return
    target.refreshedMs = nowMs
    this.#queueRefresh(target, isForged).catch((error: Error) => {
      this.#log.warn({ err: error, domain: domain.name }, 'a refresh could not be queued')
    })
  }

  async #queueRefresh(target: PageTarget, isForged: () => boolean | Promise<boolean>): Promise<void> {
    // The next crawler may be genuine.
    if (await isForged()) target.refreshedMs = 0
    else await this.#backend.refresh(target.page)
  }
}
