import type { DomainId, JobId } from '@prepaint/contract/ids.ts'
import { PAGE_VARIANTS, type PageVariant } from '@prepaint/contract/page/page-id.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/**
 * Only for the operator, because it is not limited to an account. A running render continues briefly, but its result is rejected.
 * Returns false if there is no such open job.
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
 * Needs a read-committed transaction. Returns how many. Results of running renders are rejected.
 * The lock of bulk enqueues comes first, so that the next statement sees their jobs.
 */
export async function cancelJobs(
  client: Queryable,
  domain: DomainId,
  variants: readonly PageVariant[] = PAGE_VARIANTS,
): Promise<number> {
  await client.query('select pg_advisory_xact_lock(7227, $1)', [domain])
  const { rows } = await client.query<{ cancelled: number }>(
    `with cancelled as (
       update job set state = 'cancelled', outcome = 'cancelled', finished_at = now(), lease_until = null
        where domain_id = $1 and variant = any ($2) and state in ('queued', 'running')
       returning id, priority
     ),
     -- Crawlers wait for these. Waits for other jobs poll twice a second.
     told as (select pg_notify('job_done', id::text) from cancelled where priority = 0)
     select (select count(*) from cancelled)::integer as cancelled, (select count(*) from told) as told`,
    [domain, variants],
  )
  return rows[0]?.cancelled ?? 0
}

/** Cancels jobs of phones, as `cancelJobs` does. Open jobs of both variants then render the desktop page only. */
export async function cancelMobileJobs(client: Queryable, domain: DomainId): Promise<void> {
  await client.query('select pg_advisory_xact_lock(7227, $1)', [domain])
  const open = `domain_id = $1 and state in ('queued', 'running')`
  await client.query(`update job set is_both = false where ${open} and is_both`, [domain])
  await cancelJobs(client, domain, ['mobile'])
}

/**
 * Makes the domain's running renders store nothing and run again: they began before a change, such as new rules or a
 * deploy. Call it in the transaction of the change, as its last statement but for what must come after a result that is
 * being stored now.
 *
 * A claim reads the domain's settings under the lock that is taken here. One under way is waited for, so that its job is
 * found; a later one waits for the commit and reads the new settings.
 */
export async function restartRenders(client: Queryable, domain: DomainId): Promise<void> {
  await client.query('select pg_advisory_xact_lock(7226, 0)')
  await client.query(`update job set superseded = true where domain_id = $1 and state = 'running'`, [domain])
}

export async function deleteJobs(client: Queryable, domain: DomainId): Promise<void> {
  await client.query('delete from job where domain_id = $1', [domain])
}
