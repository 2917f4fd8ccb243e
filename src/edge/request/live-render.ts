import { AppError } from '../../errors.ts'
import { requestIdOf } from '../../http/request-id.ts'
import type { DomainId, JobId } from '../../ids.ts'
import type { Log } from '../../log.ts'
import { ShareByAccount } from '../../share-by-account.ts'
import type { PageCache } from '../../store/page-cache.ts'
import type { PageId } from '../../store/page-id.ts'
import type { StoredPage } from '../../store/stored-page.ts'
import type { Served } from '../page/prepared-page.ts'
import type { EdgeResponse } from '../server/exchange.ts'
import type { EdgeDomain } from './domain.ts'
import { outcomeOf, type PassReason } from './verdict.ts'

/** `page`: what was stored, where this very node has just stored it. */
export type JobEnd = { state: 'done' | 'failed' | 'cancelled'; outcome: string; page?: StoredPage | null }

export type LiveRenderDeps = {
  log: Log
  pages: Pick<PageCache<Served>, 'reread' | 'admission'>
  /** `over-quota`: at 120 % of the month's renders. Throws AppError('queue_full'). */
  enqueueLive(page: PageId, requestId: string): Promise<JobId | 'over-quota'>
  waitForJob(job: JobId, signal: AbortSignal): Promise<JobEnd | 'late'>
  /** What a job left that ended with `site-error`: a page that is given once; null where a good copy is to be served. */
  unstored(domain: DomainId, job: JobId): Promise<Served | null>
}

/** Crawlers that wait for renders at one node, of all accounts; each holds a connection and a little memory. */
export const WAITING_LIMIT = 2_000

/** One job that crawlers of this node wait for, however many. */
type Attempt = { waiting: number; abandoned: AbortController; outcome: Promise<Served | PassReason> }

/**
 * A live job and the page that it brings, or why there is none. Ends at the
 * deadline or with the crawler's connection, whatever it waits for; the job
 * goes on and fills the cache. Never rejects.
 */
export function createLiveRender(deps: LiveRenderDeps, { liveWaitMs }: { liveWaitMs: number }) {
  const attempts = new Map<string, Attempt>()
  const places = new ShareByAccount(WAITING_LIMIT)

  return async function renderNow(
    domain: EdgeDomain,
    page: PageId,
    res: EdgeResponse,
  ): Promise<Served | PassReason> {
    const leave = places.enter(domain.account)
    if (leave === null) return 'busy'
    const { promise: late, resolve } = Promise.withResolvers<'late'>()
    const end = () => resolve('late')
    const deadline = setTimeout(end, liveWaitMs)
    res.once('close', end)
    const attempt = attempts.get(page.key) ?? begin(domain, page, requestIdOf(res.req))
    attempt.waiting++
    try {
      return await Promise.race([attempt.outcome, late])
    } finally {
      leave()
      if (--attempt.waiting === 0) attempt.abandoned.abort()
      clearTimeout(deadline)
      res.off('close', end)
    }
  }

  function begin(domain: EdgeDomain, page: PageId, requestId: string): Attempt {
    const abandoned = new AbortController()
    const attempt = { waiting: 0, abandoned, outcome: render(domain, page, requestId, abandoned.signal) }
    attempts.set(page.key, attempt)
    const forget = () => {
      if (attempts.get(page.key) === attempt) attempts.delete(page.key)
    }
    attempt.outcome.then(forget)
    abandoned.signal.addEventListener('abort', forget)
    return attempt
  }

  async function render(
    domain: EdgeDomain,
    page: PageId,
    requestId: string,
    signal: AbortSignal,
  ): Promise<Served | PassReason> {
    try {
      const admit = deps.pages.admission(page)
      const job = await deps.enqueueLive(page, requestId)
      if (job === 'over-quota') return 'over-quota'
      const end = await deps.waitForJob(job, signal)
      if (end === 'late') return 'late'
      const isGivenOnce = end.outcome === 'site-error' || end.outcome === 'no-store'
      if (isGivenOnce) return (await deps.unstored(domain.id, job)) ?? outcomeOf(end.outcome)
      if (end.state !== 'done') return outcomeOf(end.outcome)
      // What is stored now is what was rendered; memory may not have heard of it yet.
      const stored = (end.page && admit(end.page)) ?? (await deps.pages.reread(page))
      return stored ?? outcomeOf(end.outcome)
    } catch (error) {
      if (error instanceof AppError && error.code === 'queue_full') return 'queue-full'
      deps.log.error({ err: error, domain: domain.name, path: page.path }, 'a live render could not be had')
      return 'database'
    }
  }
}
