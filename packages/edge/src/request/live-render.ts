import { AppError } from '@prepaint/contract/errors.ts'
import type { JobId } from '@prepaint/contract/ids.ts'
import { type PassReason, reasonOf } from '@prepaint/contract/outcome/verdict.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import type { JobWaiter } from '@prepaint/pages/queue/jobs/await.ts'
import { readUnstored } from '@prepaint/pages/store/stored-page.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { ShareByAccount } from '@prepaint/runtime/share-by-account.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { PageCache } from '../page/page-cache.ts'
import { prepareUnstored, type Served } from '../page/prepared-page.ts'
import type { EdgeResponse } from '../server/exchange.ts'
import type { EdgeDomain } from './domain.ts'

/** Waiting crawlers per node; each holds a connection. */
export const WAITING_LIMIT = 2_000

type LiveRenderParts = {
  log: Log
  /** With query time limits, because crawlers wait. */
  db: Queryable
  pages: Pick<PageCache<Served>, 'reread' | 'admission'>
  waiter: Pick<JobWaiter, 'wait'>
  /** This node's worker, or the queue. `over-quota`: at 120 %. Throws AppError('queue_full'). */
  enqueueLive(page: PageId, requestId: string, crawler: string | null): Promise<JobId | 'over-quota'>
  liveWaitMs: number
}

/** Where rules tell crawlers apart: the kind of crawler, what its rule does to the render, and what others do. */
type RenderedFor = { crawler: string | null; effect: string; otherEffects: ReadonlySet<string> }
const FOR_ALL: RenderedFor = { crawler: null, effect: '', otherEffects: new Set() }

type Attempt = { waiting: number; abandoned: AbortController; result: Promise<Served | PassReason> }

export class LiveRenders {
  readonly #parts: LiveRenderParts
  readonly #attempts = new Map<string, Attempt>()
  readonly #places = new ShareByAccount(WAITING_LIMIT)

  constructor(parts: LiveRenderParts) {
    this.#parts = parts
  }

  /**
   * Queues or joins a live job; returns its page, or why there is none. Stops waiting at the deadline or when the
   * crawler disconnects; the job continues. Never rejects.
   */
  async render(
    domain: EdgeDomain,
    page: PageId,
    res: EdgeResponse,
    rendered: RenderedFor = FOR_ALL,
  ): Promise<Served | PassReason> {
    const leave = this.#places.enter(domain.account)
    if (leave === null) return 'busy'
    const gone = Promise.withResolvers<'late'>()
    const disconnect = () => gone.resolve('late')
    res.once('close', disconnect)
    const key = `${page.key} ${rendered.effect}`
    const attempt = this.#attempts.get(key) ?? this.#begin(key, domain, page, rendered, requestIdOf(res.req))
    attempt.waiting++
    try {
      const waitMs = Math.min(this.#parts.liveWaitMs, domain.crawlerWaitMs)
      return await within(waitMs, Promise.race([attempt.result, gone.promise]), 'late')
    } finally {
      leave()
      if (--attempt.waiting === 0) attempt.abandoned.abort()
      res.off('close', disconnect)
    }
  }

  #begin(
    key: string,
    domain: EdgeDomain,
    page: PageId,
    { crawler, otherEffects }: RenderedFor,
    requestId: string,
  ): Attempt {
    const abandoned = new AbortController()
    const run = () => this.#run(domain, page, crawler, requestId, abandoned.signal)
    const isOfOthers = (found: Served | PassReason) =>
      typeof found !== 'string' && found.kind === 'page' && otherEffects.has(found.effect)
    // It joined a job for a crawler that another rule is for.
    const result = run().then(async (found) => (isOfOthers(found) ? run() : found))
    const attempt = {
      waiting: 0,
      abandoned,
      result: result.then((found) => (isOfOthers(found) ? 'busy' : found)),
    }
    this.#attempts.set(key, attempt)
    const forget = () => {
      if (this.#attempts.get(key) === attempt) this.#attempts.delete(key)
    }
    attempt.result.then(forget)
    abandoned.signal.addEventListener('abort', forget)
    return attempt
  }

  async #run(
    domain: EdgeDomain,
    page: PageId,
    crawler: string | null,
    requestId: string,
    signal: AbortSignal,
  ): Promise<Served | PassReason> {
    const { log, db, pages, waiter, enqueueLive } = this.#parts
    try {
      const admit = pages.admission(page)
      const job = await enqueueLive(page, requestId, crawler)
      if (job === 'over-quota') return 'over-quota'
      const end = await waiter.wait(job, signal)
      if (end === 'late') return end
      if (end.outcome === 'site-error' || end.outcome === 'no-store' || end.outcome === 'incomplete') {
        // Only for the waiting crawlers. null: serve the stored copy.
        const unstored = await readUnstored(db, domain.id, job, page.variant)
        return unstored === null ? end.outcome : prepareUnstored(unstored)
      }
      if (end.state !== 'done') return reasonOf(end.outcome)
      // Just rendered, although the notification may not have arrived yet.
      return (end.page && admit(end.page)) ?? (await pages.reread(page)) ?? reasonOf(end.outcome)
    } catch (error) {
      if (error instanceof AppError && error.code === 'queue_full') return 'queue-full'
      log.error({ err: error, domain: domain.name, path: page.path }, 'a live render failed')
      return 'database'
    }
  }
}
