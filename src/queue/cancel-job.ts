import type { Queryable } from '../db/transaction.ts'
import type { JobId } from '../ids.ts'

/**
 * Cancels one open job, whoever's it is; false: there is none of that id that
 * is open. What runs goes on for a moment, but what it brings is refused. Who
 * waits for it is told. For the operator only.
 */
export async function cancelJob(db: Queryable, id: JobId): Promise<boolean> {
  const { rows } = await db.query(
    `with cancelled as (
       update job set state = 'cancelled', outcome = 'cancelled', detail = 'by the operator', finished_at = now(),
              lease_until = null
        where id = $1 and state in ('queued', 'running')
       returning id)
     select pg_notify('job_done', id::text) from cancelled`,
    [id],
  )
  return rows.length > 0
}
