import type pg from 'pg'

import { utcMonth } from '../accounts/month.ts'
import type { PlanCatalogue } from '../accounts/plans.ts'
import { AppError } from '../errors.ts'
import type { DomainId, JobId, PagePath } from '../ids.ts'
import { type ClaimedJob, type ClaimedRow, type ClaimRules, claimedJob, type Slots } from './claim.ts'
import { LIVE_BOUND } from './enqueue-live.ts'
import { readStatement } from './statement.ts'

/** A crawler's miss, as the edge has it. */
export type Miss = { domain: DomainId; path: PagePath; requestId: string }

/** `job`: what its crawler waits for. `claimed`: what this node has to render now. */
export type ClaimedLive = { job: JobId | 'over-quota'; claimed: ClaimedJob[] }

type Row = { is_over: boolean; asked_id: JobId | null } & (ClaimedRow | { job_id: null })

/**
 * `enqueueLive` and `Claim` in one round trip, and whether the month has room. Throws `queue_full`, or
 * `domain_not_found` for a domain that is gone. The domain id was obtained through its host.
 */
export function createClaimLive(
  deps: { pool: pg.Pool; plans: PlanCatalogue },
  node: string,
  rules: ClaimRules,
): (miss: Miss, want: Slots, nowMs: number) => Promise<ClaimedLive> {
  const statement = readStatement('claim-live')
  const { domainCap, domainBackgroundCap, leaseMs } = rules
  const limits = JSON.stringify(
    Object.fromEntries(Object.entries(deps.plans).map(([name, plan]) => [name, plan.monthly_render_limit])),
  )
  return async ({ domain, path, requestId }, { slots, backgroundSlots }, nowMs) => {
    const asked = [domain, path, LIVE_BOUND, requestId, limits, utcMonth(nowMs)]
    const { rows } = await deps.pool.query<Row>({
      ...statement,
      values: [...asked, node, slots, backgroundSlots, domainCap, domainBackgroundCap, leaseMs],
    })
    const first = rows[0]
    if (first === undefined) throw new AppError('domain_not_found')
    if (first.is_over) return { job: 'over-quota', claimed: [] }
    if (first.asked_id === null) throw new AppError('queue_full', { detail: 'no room for a live job' })
    const claimed = rows.flatMap((row) => (row.job_id === null ? [] : [claimedJob(row, node)]))
    return { job: first.asked_id, claimed }
  }
}
