import { type PlanCatalogue, planNamed } from '../accounts/plans.ts'
import { overQuota } from '../accounts/quota.ts'
import type { Clock } from '../clock.ts'
import type { JobId, PagePath } from '../ids.ts'
import type { Log } from '../log.ts'
import type { RenderRequest } from '../render/outcome.ts'
import type { Rendering, RenderRecord } from '../render/record.ts'
import { bringResult } from './bring-result.ts'
import type { ClaimedJob } from './claim.ts'
import type { Complete } from './complete.ts'
import { detailOf, type Found } from './effect.ts'
import { probeSite } from './probe.ts'
import type { Prober } from './prober.ts'
import { renderCapped } from './render-capped.ts'
import type { KeepRecord } from './render-records.ts'
import { renderSpelling } from './same-page.ts'

export type CarryOutDeps = {
  render(request: RenderRequest): Promise<Rendering>
  complete: Complete
  keepRecord: KeepRecord
  /** What a live request that the job was queued for is called; for the log. */
  requestOf?(job: JobId): Promise<string | undefined>
  /** Absent: sites are not probed for what they show where there is no page. */
  prober?: Prober
  plans: PlanCatalogue
  clock: Clock
  log: Log
}

/**
 * One job from claim to end; never rejects. `abort` ends the render from
 * outside. A result that the database could not take is brought again for
 * `leaseMs`: for so long the job may still be ours.
 */
export async function carryOut(
  { render, complete, keepRecord, requestOf, prober, plans, clock, log }: CarryOutDeps,
  job: ClaimedJob,
  abort: AbortController,
  leaseMs: number,
): Promise<void> {
  const startedMs = clock.nowMs()
  let record = null as RenderRecord | null
  const found = await find()
  const completion = await bringResult({ complete, log }, job, found, abort.signal, leaseMs)
  const { id, customDomain, path, priority, attempts } = job
  const outcome = 'outcome' in completion ? completion.outcome : found.kind
  const line = { job: id, domain: customDomain, path, priority, attempts, outcome }
  const storedMs = clock.nowMs() - startedMs
  const requestId = await requestOf?.(id)
  log.info({ ...line, requestId, state: completion.state, ms: storedMs }, 'job')
  const learnt = await prober?.after(job, found, completion, clock.nowMs()).catch((error: Error) => {
    log.warn({ err: error, job: id }, 'a site could not be probed')
    return null
  })
  if (record !== null) await keep(record)

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

  /** What the owner may ask for later; the job has ended without it. */
  async function keep(explanation: RenderRecord): Promise<void> {
    const own = 'detail' in completion ? completion.detail : undefined
    const detail = (learnt ?? own ?? detailOf(found)) || null
    const explained = { outcome, detail, claimedMs: startedMs, storedMs, record: explanation }
    await keepRecord(job, explained).catch((error: Error) =>
      log.warn({ err: error, job: id }, 'the record of a render could not be stored'),
    )
  }
}
