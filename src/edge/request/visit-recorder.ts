import type { Log } from '../../log.ts'
import type { Visit } from '../../store/last-visits.ts'
import type { PageId } from '../../store/page-id.ts'
import { crawlerNameIn } from '../crawlers/crawler-name.ts'
import type { CrawlerTest } from '../crawlers/crawler-test.ts'
import type { Served } from '../page/prepared-page.ts'
import type { EdgeRequest, RequestHead } from '../server/exchange.ts'
import type { EdgeDomain } from './domain.ts'
import type { PageTarget } from './target.ts'

export type DemandDeps = {
  log: Log
  enqueueRefresh(page: PageId): Promise<unknown>
  /** A crawler asked for a path that is worth knowing. Never throws. */
  noteAsked(page: PageId): void
  /** A crawler was given a stored page; `crawler`: what it calls itself. Never throws. Absent: nobody wants to know. */
  noteVisit?(visit: Visit): void
  /** As the kept list of crawlers spells it; null: they are not on it. */
  listedName?(userAgent: string): string | null
  crawlerOf: CrawlerTest
  /** The crawler is not who it says: it gets what there is, and causes no render. Never rejects. */
  isForged(req: EdgeRequest, domain: EdgeDomain): boolean | Promise<boolean>
}

type Asked<R = RequestHead> = { req: R; domain: EdgeDomain; target: PageTarget; nowMs: number }

const DAY_MS = 86_400_000
/** A stale page that is asked for often queues its refresh once in this time. */
const REFRESH_EVERY_MS = 10_000
/** A crawler that asks for a page again and again is noted once in this time. */
const VISIT_EVERY_MS = 60_000

/** What follows from a crawler's asking beside its answer; nobody waits for it, and nothing of it can fail the answer. */
export function createDemand(deps: DemandDeps) {
  const { log, enqueueRefresh, noteAsked, noteVisit, listedName, crawlerOf, isForged } = deps

  /** The page is stale. */
  function refresh(asked: Asked<EdgeRequest>): void {
    const { domain, target, nowMs } = asked
    if (nowMs - target.refreshedMs < REFRESH_EVERY_MS) return
    target.refreshedMs = nowMs
    queueRefresh(asked).catch((error: Error) => {
      log.warn({ err: error, domain: domain.name }, 'a refresh could not be queued')
    })
  }

  async function queueRefresh({ req, domain, target }: Asked<EdgeRequest>): Promise<void> {
    // The next who asks may be honest.
    if (await isForged(req, domain)) target.refreshedMs = 0
    else await enqueueRefresh(target.page)
  }

  /** The path is known from now on; said once a day for each URL, so that a hit costs a comparison. */
  function note({ target, nowMs }: Asked): void {
    const day = Math.floor(nowMs / DAY_MS)
    if (target.notedDay === day) return
    target.notedDay = day
    noteAsked(target.page)
  }

  /** Who asked last for the page; a hit by the one that was noted costs a comparison. */
  function visited({ req, domain, target, nowMs }: Asked): void {
    const { 'user-agent': userAgent = '' } = req.headers
    const { visit } = target
    if (noteVisit === undefined) return
    if (visit.userAgent === userAgent && nowMs - visit.atMs < VISIT_EVERY_MS) return
    visit.userAgent = userAgent
    visit.atMs = nowMs
    const category = crawlerOf(userAgent, domain.crawlers) ?? 'other'
    noteVisit({
      page: target.page,
      crawler: listedName?.(userAgent) ?? crawlerNameIn(userAgent),
      category,
      atMs: nowMs,
    })
  }

  /** It is being answered with an entry of ours. */
  function served(asked: Asked, entry: Served): void {
    const { req, domain, target } = asked
    req.askedOf = domain
    req.askedFor = target.page
    if (entry.status < 400) note(asked)
    if (entry.kind === 'page') visited(asked)
  }

  return { refresh, note, served }
}
