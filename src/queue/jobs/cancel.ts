import type { Queryable } from '../../db/transaction.ts'
import type { DomainId, JobId } from '../../ids.ts'

/**
 * Cancels one open job of any account; false if there is none with that id. A
 * running render goes on for a moment, but its result is refused. Crawlers that
 * wait for it are told. For the operator only.
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

/**
 * Cancels all open jobs of a domain and returns how many. Running renders go on
 * for a moment, but their results are refused. The domain id was obtained
 * through its account. `client` is inside a transaction (read committed): takes
 * the lock of bulk enqueues first, in a statement of its own, so that the next
 * one sees what they queued.
 */
export async function cancelJobs(client: Queryable, domain: DomainId): Promise<number> {
  await client.query('select pg_advisory_xact_lock(7227, $1)', [domain])
  const { rows } = await client.query<{ cancelled: number }>(
    `with cancelled as (
       update job set state = 'cancelled', outcome = 'cancelled', finished_at = now(), lease_until = null
        where domain_id = $1 and state in ('queued', 'running')
       returning id, priority
     ),
     -- Crawlers wait for these. Waits for other jobs poll twice a second.
     told as (select pg_notify('job_done', id::text) from cancelled where priority = 0)
     select (select count(*) from cancelled)::integer as cancelled, (select count(*) from told) as told`,
    [domain],
  )
  return rows[0]?.cancelled ?? 0
}

/** Deletes all jobs of a domain that is about to be deleted, in whatever state. */
export async function deleteJobs(client: Queryable, domain: DomainId): Promise<void> {
  await client.query('delete from job where domain_id = $1', [domain])
}
