import type { DomainId, JobId } from '@prepaint/contract/ids.ts'
import { JOB_QUEUED_CHANNEL, priorityNumber } from '@prepaint/contract/outcome/job.ts'
import { PAGE_VARIANTS, type PageVariant } from '@prepaint/contract/page/page-id.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/**
 * Only for the operator, because it is not limited to an account. A running render continues briefly, but its result is rejected.
 * Returns false if there is no such open job.
 */
export async function cancelJob(db: Queryable, id: JobId): Promise<boolean> {
  const { rows } = await db.query(
    `with open as materialized (select id from job where id = $1 and state in ('queued', 'running') for update)
     select end_jobs(array[id], 'cancelled', 'cancelled', 'by the operator'), pg_notify('job_done', id::text) from open`,
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
  await keepClaimsOut(client, domain)
  const { rows } = await client.query<{ cancelled: number }>(
    `with open as materialized (
       select id, priority from job
        where domain_id = $1 and variant = any ($2) and state in ('queued', 'running') for update
     ),
     -- Crawlers wait for these. Waits for other jobs poll twice a second.
     told as (select pg_notify('job_done', id::text) from open where priority = 0)
     select (select count(*) from open)::integer as cancelled, (select count(*) from told) as told,
            end_jobs((select array_agg(id) from open), 'cancelled', 'cancelled', null)`,
    [domain, variants],
  )
  return rows[0]?.cancelled ?? 0
}

/** Cancels jobs of phones, as `cancelJobs` does. Open jobs of both variants then render the desktop page only. */
export async function cancelMobileJobs(client: Queryable, domain: DomainId): Promise<void> {
  await client.query('select pg_advisory_xact_lock(7227, $1)', [domain])
  await keepClaimsOut(client, domain)
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
 * found; later ones pass over the domain until the commit, and then read the new settings.
 */
export async function restartRenders(client: Queryable, domain: DomainId): Promise<void> {
  await keepClaimsOut(client, domain)
  await client.query(`update job set superseded = true where domain_id = $1 and state = 'running'`, [domain])
}

export async function deleteJobs(client: Queryable, domain: DomainId): Promise<void> {
  await keepClaimsOut(client, domain)
  await client.query('delete from job where domain_id = $1', [domain])
}

/**
 * Waits for claims of the domain's jobs that are under way. Others pass over the domain until the commit, which wakes the
 * nodes. Call it before the counts of the domain change: otherwise a claim would wait for this transaction, and all
 * accounts of its lane with it.
 */
async function keepClaimsOut(client: Queryable, domain: DomainId): Promise<void> {
  await client.query('select pg_advisory_xact_lock(7228, $1), pg_notify($2, $3)', [
    domain,
    JOB_QUEUED_CHANNEL,
    String(priorityNumber('refresh')),
  ])
}
