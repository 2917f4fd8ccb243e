import type { PlanCatalogue } from '../../accounts/plans.ts'
import { overQuota, readQuota } from '../../accounts/quota.ts'
import type { Clock } from '../../clock.ts'
import { errorCode } from '../../db/connection.ts'
import type { Queryable } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { DomainId, JobId, PagePath } from '../../ids.ts'
import type { PageId } from '../../store/page-id.ts'
import { deletePages } from '../../store/purge.ts'
import { type Priority, priorityNumber } from './job.ts'

/** So many live jobs may wait over the whole fleet: crawlers do not wait for longer queues than this one. */
export const LIVE_BOUND = 10_000

// The function is in src/db/schema.sql: two statements would be in each other's way.
const ENQUEUE_LIVE = {
  name: 'queue-enqueue-live',
  text: 'select enqueue_live_job($1, $2, $3, $4) as job_id',
}

/**
 * Queues the render that a crawler waits for, or joins the open job of the page
 * and raises its priority. The job bears the name of the request that it was
 * first queued for. Throws `queue_full`, or `domain_not_found` for a domain
 * that is gone. The domain id was obtained through its host.
 */
export async function enqueueLive(db: Queryable, page: PageId, requestId: string): Promise<JobId> {
  const { rows } = await ofDomain(
    db.query<{ job_id: JobId | null }>({
      ...ENQUEUE_LIVE,
      values: [page.domain, page.path, LIVE_BOUND, requestId],
    }),
  )
  const job = rows[0]?.job_id ?? null
  if (job === null) throw new AppError('queue_full', { detail: 'no room for a live job' })
  return job
}

/** `asked`: what adds jobs of a domain that may have been deleted a moment ago. */
export async function ofDomain<T>(asked: Promise<T>): Promise<T> {
  return asked.catch((cause) => {
    // foreign_key_violation
    if (errorCode(cause) === '23503') throw new AppError('domain_not_found', { cause })
    throw cause
  })
}

/** How many jobs may wait over the whole fleet. */
const BOUND: Readonly<Record<Priority, number>> = { live: LIVE_BOUND, refresh: 1_000_000, warm: 1_000_000 }

// The function is in src/db/schema.sql: it needs a lock first and a look afterwards.
const ENQUEUE = {
  name: 'queue-enqueue',
  text: 'select path, job_id from enqueue_jobs($1, $2, $3, $4)',
}

/**
 * Queues a render of each path and gives its job, one entry for each path in
 * the order given, duplicates joined. A page with an open job joins it and
 * raises its priority. What runs is not told to run again: that is for
 * `purgePages`, and a stale page must not throw away the render it waits for.
 *
 * `refresh` and `warm` share one bound, `live` has its own; of the room that is
 * left, a domain may take as much as it leaves for others. Throws `queue_full`,
 * and then nothing was queued; `domain_not_found` for a domain that is gone.
 * In a transaction it holds, for several paths, a lock that makes other bulk
 * enqueues of this domain wait. The domain id was obtained through its account
 * or its host.
 */
export async function enqueue(
  db: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
  priority: Priority,
  bound: number = BOUND[priority],
): Promise<{ path: PagePath; jobId: JobId }[]> {
  const asked = [...new Set(paths)]
  if (asked.length === 0) return []
  const jobs = new Map<PagePath, JobId>()
  const { rows } = await ofDomain(
    db.query<{ path: PagePath; job_id: JobId }>({
      ...ENQUEUE,
      values: [domain, asked, priorityNumber(priority), bound],
    }),
  )
  for (const { path, job_id } of rows) jobs.set(path, job_id)
  if (jobs.size === 0) throw new AppError('queue_full', { detail: `no room for ${asked.length} jobs` })
  return asked.flatMap((path) => {
    const jobId = jobs.get(path)
    return jobId === undefined ? [] : [{ path, jobId }]
  })
}

export type EnqueueLive = (page: PageId, requestId: string) => Promise<JobId | 'over-quota'>

/** `enqueueLive` where the month has room. `db`: what is asked with patience; see src/db/database-timeouts.ts. */
export function createEnqueueLive(deps: {
  db: Queryable
  pool: Queryable
  plans: PlanCatalogue
  clock: Clock
}): EnqueueLive {
  return async (page, requestId) => {
    const quota = await readQuota(deps.db, deps.plans, page.domain, deps.clock.nowMs())
    if (quota !== null && overQuota(quota)) return 'over-quota'
    return enqueueLive(deps.pool, page, requestId)
  }
}

/**
 * Deletes what is stored under these paths and queues a render of each, one
 * job for each path in the order given; `client` is inside a transaction, so
 * that it is both or neither. Throws `queue_full`. The domain id was obtained
 * through its account.
 */
export async function refreshPages(
  client: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
): Promise<{ path: PagePath; jobId: JobId }[]> {
  await deletePages(client, domain, paths)
  return enqueue(client, domain, paths, 'refresh')
}
