import type { PlanCatalogue } from '../accounts/plans.ts'
import { overQuota, readQuota } from '../accounts/quota.ts'
import type { Clock } from '../clock.ts'
import type { Queryable } from '../db/transaction.ts'
import type { DomainId, JobId, PagePath } from '../ids.ts'
import { enqueueLive } from './enqueue-live.ts'

export type EnqueueLive = (
  domain: DomainId,
  path: PagePath,
  requestId: string,
) => Promise<JobId | 'over-quota'>

/** `enqueueLive` where the month has room. `db`: what is asked with patience; see src/db/patience.ts. */
export function createEnqueueLive(deps: {
  db: Queryable
  pool: Queryable
  plans: PlanCatalogue
  clock: Clock
}): EnqueueLive {
  return async (domain, path, requestId) => {
    const quota = await readQuota(deps.db, deps.plans, domain, deps.clock.nowMs())
    if (quota !== null && overQuota(quota)) return 'over-quota'
    return enqueueLive(deps.pool, domain, path, requestId)
  }
}
