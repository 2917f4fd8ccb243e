import { errorCode } from '../db/connection.ts'
import type { Queryable } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { DomainId, JobId, PagePath } from '../ids.ts'
import { type Priority, priorityNumber } from './job.ts'

/** How many jobs may wait over the whole fleet. Crawlers do not wait for longer queues than this one. */
const BOUND: Readonly<Record<Priority, number>> = { live: 10_000, refresh: 1_000_000, warm: 1_000_000 }

// The function is in src/db/migrations/0002-queue.sql: it needs a lock first and a look afterwards.
const ENQUEUE = {
  name: 'queue-enqueue',
  text: 'select path, job_id from enqueue_jobs($1, $2, $3, $4)',
}

const ENQUEUE_LIVE = {
  name: 'queue-enqueue-live',
  text: 'select enqueue_live_job($1, $2, $3, $4) as job_id',
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

/**
 * Queues the render that a crawler waits for, as `enqueue` does, and notes at
 * the job what its request is called; who joins it later is not written.
 */
export async function enqueueLive(
  db: Queryable,
  domain: DomainId,
  path: PagePath,
  requestId: string,
): Promise<JobId> {
  const { rows } = await ofDomain(
    db.query<{ job_id: JobId | null }>({ ...ENQUEUE_LIVE, values: [domain, path, BOUND.live, requestId] }),
  )
  const job = rows[0]?.job_id ?? null
  if (job === null) throw new AppError('queue_full', { detail: 'no room for a live job' })
  return job
}

/** `asked`: what adds jobs of a domain that may have been deleted a moment ago. */
async function ofDomain<T>(asked: Promise<T>): Promise<T> {
  return asked.catch((cause) => {
    // foreign_key_violation
    if (errorCode(cause) === '23503') throw new AppError('domain_not_found', { cause })
    throw cause
  })
}
