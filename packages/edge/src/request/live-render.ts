import type { JobOutcome } from '@prepaint/contract/outcome/job.ts'
import { type PassReason, reasonOf } from '@prepaint/contract/outcome/verdict.ts'
import type { AskedPage } from '@prepaint/contract/page/page-id.ts'
import { requestIdOf } from '@prepaint/runtime/http/request-id.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { ShareByAccount } from '@prepaint/runtime/share-by-account.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { EdgeBackend, LiveRequest } from '../backend.ts'
import type { PageCache } from '../page/page-cache.ts'
import { prepareUnstored, type Served } from '../page/prepared-page.ts'
import type { EdgeResponse } from '../server/exchange.ts'
import type { EdgeDomain } from './domain.ts'

/** Limits the crawlers that wait at a node; each holds a connection. */
export const WAITING_LIMIT = 2_000

/** Renders with these outcomes made a page that only the waiting crawlers get. */
const NOT_KEPT: ReadonlySet<string> = new Set(['site-error', 'no-store', 'incomplete'] satisfies JobOutcome[])

/** The kind of crawler where rules tell crawlers apart, what its rule does to the render, and what others do. */
type RenderedFor = { crawler: string | null; effect: string; otherEffects: ReadonlySet<string> }
const FOR_ALL: RenderedFor = { crawler: null, effect: '', otherEffects: new Set() }

type Attempt = { waiting: number; abandoned: AbortController; result: Promise<Served | PassReason> }

/** Renders pages for crawlers that wait. Crawlers that ask for the same page share a render. */
export class LiveRenders {
  readonly #backend: EdgeBackend
  readonly #pages: PageCache<Served>
  readonly #log: Log
  readonly #liveWaitMs: number
  readonly #attempts = new Map<string, Attempt>()
  readonly #places = new ShareByAccount(WAITING_LIMIT)

  constructor(backend: EdgeBackend, pages: PageCache<Served>, log: Log, options: { liveWaitMs: number }) {
    this.#backend = backend
    this.#pages = pages
    this.#log = log
    this.#liveWaitMs = options.liveWaitMs
  }

  /**
   * Queues or joins a live job; returns its page, or why there is none. Stops waiting at the deadline or when the
   * crawler disconnects; the job continues. Never rejects.
   */
  async render(
    domain: EdgeDomain,
    page: AskedPage,
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
      const waitMs = Math.min(this.#liveWaitMs, domain.crawlerWaitMs)
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
    page: AskedPage,
    { crawler, effect, otherEffects }: RenderedFor,
    requestId: string,
  ): Attempt {
    const abandoned = new AbortController()
    const run = () => this.#run(domain, { page, requestId, crawler, effect }, abandoned.signal)
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

  async #run(domain: EdgeDomain, request: LiveRequest, signal: AbortSignal): Promise<Served | PassReason> {
    const { page } = request
    try {
      const admit = this.#pages.admission(page)
      const end = await this.#backend.renderLive(request, signal)
      if (typeof end === 'string') return end
      if (NOT_KEPT.has(end.outcome)) {
        // Without such a page, the crawler gets the stored copy.
        return end.unstored === null ? end.outcome : prepareUnstored(end.unstored)
      }
      if (end.state !== 'done') return reasonOf(end.outcome)
      // Just rendered, although the notification may not have arrived yet.
      return (end.page && admit(end.page)) ?? (await this.#pages.reread(page)) ?? reasonOf(end.outcome)
    } catch (error) {
      this.#log.error({ err: error, domain: domain.name, path: page.path }, 'a live render failed')
      return 'database'
    }
  }
}
