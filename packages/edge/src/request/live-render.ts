import type { JobOutcome } from '@prepaint/contract/outcome/job.ts'
import { type PassReason, reasonOf } from '@prepaint/contract/outcome/verdict.ts'
import type { AskedPage } from '@prepaint/contract/page/page-id.ts'
import { Abandoned } from '@prepaint/runtime/abandoned.ts'
import { BodyUnavailable } from '@prepaint/runtime/body-unavailable.ts'
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

type Attempt = {
  waiting: number
  /** All crawlers that no longer wait have disconnected; none has waited until its deadline. */
  isOnlyLeft: boolean
  abandoned: AbortController
  result: Promise<Served | PassReason>
}

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
   * crawler disconnects. A job continues, unless all its crawlers have disconnected before it runs. `leaveBudget` gives the
   * client's place back. Never rejects.
   */
  async render(
    domain: EdgeDomain,
    page: AskedPage,
    res: EdgeResponse,
    rendered: RenderedFor = FOR_ALL,
    leaveBudget: () => void = () => {},
  ): Promise<Served | PassReason> {
    const leavePlace = this.#places.enter(domain.account)
    if (leavePlace === null) {
      leaveBudget()
      return 'busy'
    }
    const leave = () => {
      leavePlace()
      leaveBudget()
    }
    let hasLeft = false
    const gone = Promise.withResolvers<'late'>()
    const disconnect = () => {
      hasLeft = true
      gone.resolve('late')
    }
    res.once('close', disconnect)
    const key = `${page.key} ${rendered.effect}`
    const attempt = this.#attempts.get(key) ?? this.#begin(key, domain, page, rendered, requestIdOf(res.req))
    attempt.waiting++
    const waitMs = Math.min(this.#liveWaitMs, domain.crawlerWaitMs)
    try {
      return await within(waitMs, Promise.race([attempt.result, gone.promise]), 'late')
    } finally {
      res.off('close', disconnect)
      if (!hasLeft) attempt.isOnlyLeft = false
      attempt.waiting--
      if (attempt.waiting > 0) leave()
      else {
        attempt.abandoned.abort(attempt.isOnlyLeft ? new Abandoned() : undefined)
        // What is under way for it still takes a place: clients that leave at once must not begin more than others.
        void within(waitMs, attempt.result, 'late').finally(leave)
      }
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
      isOnlyLeft: true,
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
      if (error instanceof BodyUnavailable) return 'store'
      this.#log.error({ err: error, domain: domain.name, path: page.path }, 'a live render failed')
      return 'database'
    }
  }
}
