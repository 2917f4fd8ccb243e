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

/** Most live jobs that wait over the whole fleet: a longer queue is longer than crawlers wait. */
export const LIVE_BOUND = 10_000

/** Most jobs that wait over the whole fleet. `refresh` and `warm` share one bound. */
const BOUND: Readonly<Record<Priority, number>> = { live: LIVE_BOUND, refresh: 1_000_000, warm: 1_000_000 }

// Functions of src/db/schema.sql: they need a lock first and a read afterwards.
const ENQUEUE = {
  name: 'queue-enqueue',
  text: 'select path, job_id from enqueue_jobs($1, $2, $3, $4)',
}
const ENQUEUE_LIVE = {
  name: 'queue-enqueue-live',
  text: `select enqueue_live_job($1, $2, $3, $4, $5 * interval '1 millisecond') as job_id`,
}

/**
 * Queues a render of each path and returns its job: one entry for each path, in
 * the order given, without duplicates. A page with an open job joins it and
 * raises its priority. A running job does not run again: only a purge does that
 * (`purgePages`), and a stale page must not throw away the render it waits for.
 *
 * Throws `queue_full` if not all fit, and then queues none; `domain_not_found`
 * if the domain was deleted. For several paths it locks out other bulk enqueues
 * of this domain until the transaction ends. The domain id was obtained through
 * its account or its host.
 */
export async function enqueue(
  db: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
  priority: Priority,
  bound: number = BOUND[priority],
): Promise<{ path: PagePath; jobId: JobId }[]> {
  const unique = [...new Set(paths)]
  if (unique.length === 0) return []
  const { rows } = await ofDomain(
    db.query<{ path: PagePath; job_id: JobId }>({
      ...ENQUEUE,
      values: [domain, unique, priorityNumber(priority), bound],
    }),
  )
  if (rows.length === 0) throw new AppError('queue_full', { detail: `no room for ${unique.length} jobs` })
  const jobs = new Map(rows.map(({ path, job_id }) => [path, job_id]))
  return unique.flatMap((path) => {
    const jobId = jobs.get(path)
    return jobId === undefined ? [] : [{ path, jobId }]
  })
}

/**
 * Deletes the stored pages of these paths and queues a render of each, as
 * `enqueue` does. `client` is inside a transaction, so that it is both or
 * neither. The domain id was obtained through its account.
 */
export async function refreshPages(
  client: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
): Promise<{ path: PagePath; jobId: JobId }[]> {
  await deletePages(client, domain, paths)
  return enqueue(client, domain, paths, 'refresh')
}

/** Queues the render that a crawler waits for, if the month has room. Throws as `enqueueLive`. */
export type EnqueueLive = (page: PageId, requestId: string) => Promise<JobId | 'over-quota'>

/** For a node that does not render. `db`: with database timeouts, see src/db/database-timeouts.ts. */
export function createEnqueueLive(deps: {
  db: Queryable
  pool: Queryable
  plans: PlanCatalogue
  clock: Clock
  /** How long a crawler waits. */
  liveWaitMs: number
}): EnqueueLive {
  return async (page, requestId) => {
    const quota = await readQuota(deps.db, deps.plans, page.domain, deps.clock.nowMs())
    if (quota !== null && overQuota(quota)) return 'over-quota'
    return enqueueLive(deps.pool, page, requestId, deps.liveWaitMs)
  }
}

/**
 * Queues a live job, or joins the page's open job and raises its priority, and
 * counts the caller as waiting: it calls `JobWaiter.wait` next. The job keeps the
 * name of the request that first queued it. Throws `queue_full`, or
 * `domain_not_found` if the domain was deleted. The domain id was obtained
 * through its host.
 */
export async function enqueueLive(
  db: Queryable,
  page: PageId,
  requestId: string,
  liveWaitMs: number,
): Promise<JobId> {
  const values = [page.domain, page.path, LIVE_BOUND, requestId, countedWaitMs(liveWaitMs)]
  const { rows } = await ofDomain(db.query<{ job_id: JobId | null }>({ ...ENQUEUE_LIVE, values }))
  const job = rows[0]?.job_id ?? null
  if (job === null) throw new AppError('queue_full', { detail: 'no room for a live job' })
  return job
}

/**
 * How long an edge that does not say that its crawlers left counts as waiting.
 * Twice a crawler's wait: a second crawler of the edge may have joined the first.
 */
export function countedWaitMs(liveWaitMs: number): number {
  return 2 * liveWaitMs
}

/** Awaits a statement that adds jobs of a domain which may have been deleted a moment ago. */
async function ofDomain<T>(statement: Promise<T>): Promise<T> {
  return statement.catch((cause) => {
    // foreign_key_violation
    if (errorCode(cause) === '23503') throw new AppError('domain_not_found', { cause })
    throw cause
  })
}
