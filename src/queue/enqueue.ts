import type { Queryable } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { DomainId, JobId, PagePath } from '../ids.ts'
import { LIVE_BOUND, ofDomain } from './enqueue-live.ts'
import { type Priority, priorityNumber } from './job.ts'

/** How many jobs may wait over the whole fleet. */
const BOUND: Readonly<Record<Priority, number>> = { live: LIVE_BOUND, refresh: 1_000_000, warm: 1_000_000 }

// The function is in src/db/migrations/0002-queue.sql: it needs a lock first and a look afterwards.
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
