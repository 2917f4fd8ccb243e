import { setTimeout as sleep } from 'node:timers/promises'

import { type PlanCatalogue, planNamed } from '../accounts/plans.ts'
import { overQuota } from '../accounts/quota.ts'
import type { Clock } from '../clock.ts'
import { errorCode } from '../db/connection.ts'
import type { Log } from '../log.ts'
import type { RenderRequest } from '../render/outcome.ts'
import type { Rendering, RenderRecord } from '../render/record.ts'
import type { ClaimedJob } from './claim.ts'
import type { Complete, Completion } from './complete.ts'
import { detailOf, type Found } from './effect.ts'
import type { KeepRecord } from './render-records.ts'

export type CarryOutDeps = {
  render(request: RenderRequest): Promise<Rendering>
  complete: Complete
  keepRecord: KeepRecord
  plans: PlanCatalogue
  clock: Clock
  log: Log
}

/** Longer than any render time that can be configured: then the renderer itself has failed. */
const RENDER_CAP_MS = 330_000
const COMPLETE_AGAIN_MS = 500

/**
 * One job from claim to end; never rejects. `abort` ends the render from
 * outside. A result that the database could not take is brought again for
 * `leaseMs`: for so long the job may still be ours.
 */
export async function carryOut(
  { render, complete, keepRecord, plans, clock, log }: CarryOutDeps,
  job: ClaimedJob,
  abort: AbortController,
  leaseMs: number,
): Promise<void> {
  const startedMs = clock.nowMs()
  let record = null as RenderRecord | null
  const found = await find()
  const completion = await bring(found)
  const { id, customDomain, path, priority, attempts } = job
  const line = { job: id, domain: customDomain, path, priority, attempts, outcome: found.kind }
  const storedMs = clock.nowMs() - startedMs
  log.info({ ...line, state: completion.state, ms: storedMs }, 'job')
  if (record !== null) await keep(record)

  async function find(): Promise<Found> {
    if (!job.isActive) return { kind: 'domain-inactive' }
    const limit = planNamed(plans, job.plan).monthly_render_limit
    if (overQuota({ used: job.rendersUsed, limit })) return { kind: 'over-quota' }
    const { customDomain, originUrl, path, visitor } = job
    const inTime = new AbortController()
    const cap = sleep(RENDER_CAP_MS, undefined, { signal: inTime.signal, ref: false }).then((): Found => {
      abort.abort()
      return { kind: 'crashed', reason: `no outcome within ${RENDER_CAP_MS} ms` }
    })
    // Ended by us below, when nobody listens any more.
    cap.catch(() => {})
    try {
      const rendering = render({ customDomain, originUrl, path, visitor, signal: abort.signal }).then(
        (rendered) => {
          record = rendered.record
          return rendered.outcome
        },
      )
      return await Promise.race([rendering, cap])
    } catch (error) {
      log.error({ err: error, job: job.id }, 'the renderer failed')
      return { kind: 'crashed', reason: 'the renderer failed' }
    } finally {
      inTime.abort()
    }
  }

  async function bring(result: Found): Promise<Completion> {
    for (let waitedMs = 0; waitedMs <= leaseMs; waitedMs += COMPLETE_AGAIN_MS) {
      try {
        return await complete(job, result)
      } catch (error) {
        log.warn({ err: error, job: job.id }, 'the result of a job could not be stored')
        if (abort.signal.aborted) break
        // What the database refuses for its content (classes 22 and 23) it would refuse again.
        if (result.kind !== 'crashed' && /^2[23]/.test(errorCode(error))) {
          result = { kind: 'crashed', reason: 'the result could not be stored' }
          continue
        }
        await sleep(COMPLETE_AGAIN_MS, undefined, { signal: abort.signal }).catch(() => {})
      }
    }
    return { state: 'taken-away' }
  }

  /** What the owner may ask for later; the job has ended without it. */
  async function keep(explanation: RenderRecord): Promise<void> {
    const outcome =
      completion.state === 'done' || completion.state === 'failed' ? completion.outcome : found.kind
    const own = 'detail' in completion ? completion.detail : undefined
    const detail = (own ?? detailOf(found)) || null
    const explained = {
      outcome,
      detail,
      claimedMs: startedMs,
      storedMs,
      record: explanation,
    }
    await keepRecord(job, explained).catch((error: Error) =>
      log.warn({ err: error, job: id }, 'the record of a render could not be stored'),
    )
  }
}
