import type { DomainId, PagePath } from '../ids.ts'
import type { Log } from '../log.ts'
import type { EdgeDomain } from './domain.ts'
import type { EdgeRequest } from './exchange.ts'
import type { PageTarget } from './target.ts'

export type DemandDeps = {
  log: Log
  enqueueRefresh(domain: DomainId, path: PagePath): Promise<unknown>
  /** A crawler asked for a path that is worth knowing. Never throws. */
  noteAsked(domain: DomainId, path: PagePath): void
  /** The crawler is not who it says: it gets what there is, and causes no render. Never rejects. */
  isForged(req: EdgeRequest): boolean | Promise<boolean>
}

type Asked = { req: EdgeRequest; domain: EdgeDomain; target: PageTarget; nowMs: number }

const DAY_MS = 86_400_000
/** A stale page that is asked for often queues its refresh once in this time. */
export const REFRESH_EVERY_MS = 10_000

/** What follows from a crawler's asking beside its answer; nobody waits for it, and nothing of it can fail the answer. */
export function createDemand({ log, enqueueRefresh, noteAsked, isForged }: DemandDeps) {
  /** The page is stale. */
  function refresh(asked: Asked): void {
    const { domain, target, nowMs } = asked
    if (nowMs - target.refreshedMs < REFRESH_EVERY_MS) return
    target.refreshedMs = nowMs
    queueRefresh(asked).catch((error: Error) => {
      log.warn({ err: error, domain: domain.name }, 'a refresh could not be queued')
    })
  }

  async function queueRefresh({ req, domain, target }: Asked): Promise<void> {
    // The next who asks may be honest.
    if (await isForged(req)) target.refreshedMs = 0
    else await enqueueRefresh(domain.id, target.key.path)
  }

  /** The path is known from now on; said once a day for each URL, so that a hit costs a comparison. */
  function note({ domain, target, nowMs }: Asked): void {
    const day = Math.floor(nowMs / DAY_MS)
    if (target.notedDay === day) return
    target.notedDay = day
    noteAsked(domain.id, target.key.path)
  }

  return { refresh, note }
}
