import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type PlanCatalogue, planNamed } from '../../accounts/plans.ts'
import { overQuota } from '../../accounts/quota.ts'
import type { Clock } from '../../clock.ts'
import { errorCode } from '../../db/connection.ts'
import type { JobId, PagePath } from '../../ids.ts'
import type { Log } from '../../log.ts'
import type { RenderOutcome, RenderRequest } from '../../render/outcome.ts'
import type { Rendering, RenderRecord } from '../../render/record.ts'
import { normalisePath } from '../../store/path.ts'
import type { Found } from '../judging/effect.ts'
import { probeSite } from '../judging/prober.ts'
import type { Ran } from './after-render.ts'
import type { ClaimedJob } from './claim.ts'
import type { Complete, Completion } from './complete.ts'

export type CarryOutDeps = {
  render(request: RenderRequest): Promise<Rendering>
  complete: Complete
  plans: PlanCatalogue
  clock: Clock
  log: Log
}

/**
 * One job from claim to end; never rejects. `abort` ends the render from
 * outside. A result that the database could not take is brought again for
 * `leaseMs`: for so long the job may still be ours. What follows is `afterwards`.
 */
export async function carryOut(
  { render, complete, plans, clock, log }: CarryOutDeps,
  job: ClaimedJob,
  abort: AbortController,
  leaseMs: number,
): Promise<Ran> {
  const startedMs = clock.nowMs()
  let record = null as RenderRecord | null
  const found = await find()
  const completion = await bringResult({ complete, log }, job, found, abort.signal, leaseMs)
  return { startedMs, found, completion, record }

  async function find(): Promise<Found> {
    if (!job.isActive) return { kind: 'domain-inactive' }
    const limit = planNamed(plans, job.plan).monthly_render_limit
    if (overQuota({ used: job.rendersUsed, limit })) return { kind: 'over-quota' }
    const { customDomain, originUrl, visitor } = job
    try {
      const request = { customDomain, originUrl, visitor, signal: abort.signal }
      const renderOne = async (path: PagePath) => {
        const rendered = await renderCapped(render, { ...request, path }, abort)
        record = rendered.record
        return rendered.outcome
      }
      return job.isProbe ? await probeSite(job, renderOne) : await renderSpelling(job, renderOne)
    } catch (error) {
      log.error({ err: error, job: job.id }, 'the renderer failed')
      return { kind: 'crashed', reason: 'the renderer failed' }
    }
  }
}

const AGAIN_MS = 500

/**
 * Completes a job, again and again for `forMs` while the database cannot take
 * the result: for so long the job may still be ours. Never rejects.
 */
async function bringResult(
  { complete, log }: { complete: Complete; log: Log },
  job: ClaimedJob,
  found: Found,
  signal: AbortSignal,
  forMs: number,
): Promise<Completion> {
  let result = found
  for (let waitedMs = 0; waitedMs <= forMs; waitedMs += AGAIN_MS) {
    try {
      return await complete(job, result)
    } catch (error) {
      log.warn({ err: error, job: job.id }, 'the result of a job could not be stored')
      if (signal.aborted) break
      // What the database refuses for its content (classes 22 and 23) it would refuse again.
      if (result.kind !== 'crashed' && /^2[23]/.test(errorCode(error))) {
        result = { kind: 'crashed', reason: 'the result could not be stored' }
        continue
      }
      await sleep(AGAIN_MS, undefined, { signal }).catch(() => {})
    }
  }
  return { state: 'taken-away' }
}

/** Longer than any render time that can be configured: then the renderer itself has failed. */
const RENDER_CAP_MS = 330_000

/** A render that is given up, and ended by `abort`, when its renderer has forgotten it. */
async function renderCapped(
  render: (request: RenderRequest) => Promise<Rendering>,
  request: RenderRequest,
  abort: AbortController,
): Promise<Rendering> {
  const inTime = new AbortController()
  const cap = sleep(RENDER_CAP_MS, undefined, { signal: inTime.signal, ref: false }).then((): Rendering => {
    abort.abort()
    return { outcome: { kind: 'crashed', reason: `no outcome within ${RENDER_CAP_MS} ms` }, record: null }
  })
  // Ended by us below, when nobody listens any more.
  cap.catch(() => {})
  try {
    return await Promise.race([render(request), cap])
  } finally {
    inTime.abort()
  }
}

/** More spellings of one address than that are a site going round in circles. */
export const SPELLINGS_LIMIT = 3

/** What decides which addresses are one page. */
type PageOf = Pick<ClaimedJob, 'customDomain' | 'page' | 'query'>

/**
 * Renders a page, and where its site leads to another spelling of the same
 * stored path, that one: with its parameters in another order, with one that is
 * not stored, with a cookie. To a crawler such a redirect would lead to itself
 * for ever, for all spellings have one entry in the store. A site that leads
 * round in circles gives `redirect-loop`, of which nothing is stored: the
 * origin may send its visitors round as it likes.
 */
export async function renderSpelling(
  of: PageOf,
  render: (path: PagePath) => Promise<RenderOutcome>,
): Promise<Found> {
  let { path } = of.page
  for (let spelling = 1; ; spelling++) {
    const outcome = await render(path)
    const next = outcome.kind === 'redirect' ? sameSpelling(of, outcome.location) : null
    if (outcome.kind !== 'redirect' || next === null) return outcome
    if (spelling === SPELLINGS_LIMIT) return { kind: 'redirect-loop', location: outcome.location }
    path = next
  }
}

/** The address as it is written, where it is one of this page; null: it is of another. */
function sameSpelling({ customDomain, page, query }: PageOf, location: string): PagePath | null {
  const url = URL.parse(location)
  if (url === null || url.hostname !== customDomain || url.port !== '') return null
  const written = url.pathname + url.search
  return normalisePath(written, query) === page.path ? (written as PagePath) : null
}

/** For the log: undefined for a job that no live request is known of. Never rejects. */
export function createRequestOf(pool: pg.Pool): (job: JobId) => Promise<string | undefined> {
  return async (job) => {
    const found = pool.query<{ request_id: string | null }>({
      name: 'queue-request-of',
      text: 'select request_id from job where id = $1',
      values: [job],
    })
    return found.then(
      ({ rows }) => rows[0]?.request_id ?? undefined,
      () => undefined,
    )
  }
}
