/**
 * A *warm* renders all known paths of a domain and deletes none. A domain has one row for its last warm. Each start is
 * a new *run*, and each job counts for its run.
 *
 * ```
 *   reading --> queueing --> rendering --> done
 *   robots.txt,  500 paths    all are       |
 *   sitemaps     at a time    in the queue  |
 *      |            |            |
 *      +------------+------------+--> cancelled: by the owner, or the domain became inactive
 *      +--> failed: robots.txt could not be read, so nothing is allowed
 * ```
 * The owner can pause each of the first three states. Queued jobs are then taken back (`held`) and queued first on resume.
 * When the quota is used up, the pages that are left are held too, and the run is `done` with the reason `over-quota`; a
 * resume goes on with them. All state is in PostgreSQL, so every node can continue a warm.
 */

import type { DomainId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { forgetRefusals } from '../../store/refused-pages.ts'

export type WarmState = 'reading' | 'queueing' | 'rendering' | 'done' | 'cancelled' | 'failed'

/** `outdated`: only what is not stored, stale, or older than its sitemap says. */
export type WarmWhich = 'all' | 'outdated'

export const UNDER_WAY = `('reading', 'queueing', 'rendering')`

/** A task for each run that reads sitemaps. */
export const WARM_READ_TASK = 'warm-read'

/** A task for each run that queues pages, or waits for their renders. */
export const WARM_STEP_TASK = 'warm-step'

/** Payload: a domain id. For live updates, and for nodes of version 0.2.0. */
export const WARM_CHANNEL = 'warm_run'

/** Payload: a domain id. For live updates. */
export const WARM_MOVED_CHANNEL = 'warm_moved'

export const WARM_PRIORITY = 2

/** Restarts a running warm, and forgets refused pages. The row is the whole state: a crash loses nothing. */
export async function startWarm(db: Queryable, domain: DomainId, which: WarmWhich = 'all'): Promise<void> {
  await forgetRefusals(db, domain)
  await db.query(
    `with run as (
       insert into warm (domain_id, which) values ($1, $2)
       on conflict (domain_id) do update set
         run = excluded.run, which = excluded.which, state = 'reading', paused_at = null, reason = null, robots = null,
         after_path = '', known = 0, queued = 0, forbidden = 0, passed = 0, redirected = 0, fresh = 0, lease = null,
         lease_until = null, started_at = now(), moved_at = now(), ended_at = null
       returning domain_id, run
     ), tally as (
       insert into warm_count (domain_id, run) select domain_id, run from run
       on conflict (domain_id) do update set run = excluded.run, done = 0, unchanged = 0, failed = 0
     ), sitemaps as (
       delete from warm_sitemap where domain_id = $1
     ), held as (
       delete from warm_paused where domain_id = $1
     )
     select pg_notify($3, run.domain_id::text), ask_task($4, d.id::text, d.account_id)
       from run join domain d on d.id = run.domain_id`,
    [domain, which, WARM_CHANNEL, WARM_READ_TASK],
  )
}

// Call these inside a transaction. They lock the row of the warm first, as the step that queues does. They return
// false if the warm's state does not allow the change.

/** Running renders continue. `reason` null: the owner asked for it. */
export async function pauseWarm(
  client: Queryable,
  domain: DomainId,
  reason: string | null = null,
): Promise<boolean> {
  const { rows } = await client.query<{ run: string }>(
    `update warm set paused_at = clock_timestamp(), reason = $2, lease = null, lease_until = null
      where domain_id = $1 and state in ${UNDER_WAY} and paused_at is null
     returning run, pg_notify('${WARM_MOVED_CHANNEL}', domain_id::text)`,
    [domain, reason],
  )
  if (rows[0] === undefined) return false
  await client.query(
    `with back as (${TAKE_BACK} returning path)
     insert into warm_paused (domain_id, path) select $1, path from back on conflict do nothing`,
    [domain, rows[0].run],
  )
  return true
}

export async function resumeWarm(client: Queryable, domain: DomainId): Promise<boolean> {
  const { rowCount } = await client.query(
    `with resumed as (
       update warm set paused_at = null, reason = null, moved_at = clock_timestamp(), ended_at = null,
              state = case when state = 'done' then 'rendering' else state end
        where domain_id = $1 and ((state in ${UNDER_WAY} and paused_at is not null)
                                  or (state = 'done' and reason = 'over-quota'))
       returning domain_id, state)
     select pg_notify($2, d.id::text),
            ask_task(case when r.state = 'reading' then $3 else $4 end, d.id::text, d.account_id)
       from resumed r join domain d on d.id = r.domain_id`,
    [domain, WARM_CHANNEL, WARM_READ_TASK, WARM_STEP_TASK],
  )
  return rowCount === 1
}

export async function cancelWarm(
  client: Queryable,
  domain: DomainId,
  reason: string | null = null,
): Promise<boolean> {
  const { rows } = await client.query<{ run: string }>(
    `update warm set state = 'cancelled', reason = $2, paused_at = null, ended_at = clock_timestamp(),
            lease = null, lease_until = null
      where domain_id = $1 and state in ${UNDER_WAY}
     returning run, pg_notify('${WARM_MOVED_CHANNEL}', domain_id::text)`,
    [domain, reason],
  )
  if (rows[0] === undefined) return false
  await client.query(TAKE_BACK, [domain, rows[0].run])
  await client.query('delete from warm_paused where domain_id = $1', [domain])
  return true
}

/** A job with another priority was requested otherwise, and stays. */
const TAKE_BACK = `delete from job
  where domain_id = $1 and warm = $2 and state = 'queued' and priority = ${WARM_PRIORITY}`
