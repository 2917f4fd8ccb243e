import { type PlanCatalogue, planNamed } from '../accounts/plans.ts'
import { overQuota } from '../accounts/quota.ts'
import type { Clock } from '../clock.ts'
import type { PagePath } from '../ids.ts'
import type { Log } from '../log.ts'
import type { RenderRequest } from '../render/outcome.ts'
import type { Rendering, RenderRecord } from '../render/record.ts'
import type { Ran } from './afterwards.ts'
import { bringResult } from './bring-result.ts'
import type { ClaimedJob } from './claim.ts'
import type { Complete } from './complete.ts'
import type { Found } from './effect.ts'
import { probeSite } from './probe.ts'
import { renderCapped } from './render-capped.ts'
import { renderSpelling } from './same-page.ts'

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
