import { errorCode } from '../db/connection.ts'
import type { Queryable } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { DomainId, JobId, PagePath } from '../ids.ts'

/** So many live jobs may wait over the whole fleet: crawlers do not wait for longer queues than this one. */
export const LIVE_BOUND = 10_000

// The function is in src/db/migrations/0020-live-job.sql: two statements would be in each other's way.
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
export async function enqueueLive(
  db: Queryable,
  domain: DomainId,
  path: PagePath,
  requestId: string,
): Promise<JobId> {
  const { rows } = await ofDomain(
    db.query<{ job_id: JobId | null }>({ ...ENQUEUE_LIVE, values: [domain, path, LIVE_BOUND, requestId] }),
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
