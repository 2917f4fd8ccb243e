import type { Queryable } from '../../db/transaction.ts'
import type { DomainId } from '../../ids.ts'
import { UNDER_WAY, WARM_CHANNEL, WARM_MOVED_CHANNEL, WARM_PRIORITY } from './warm.ts'

// Each is inside a transaction, and gives false, having changed nothing, where no warm is in the state for it. The row
// of the warm comes first, as with the step that queues: neither meets the other halfway. The domain id was obtained
// through its account.

/** Takes back what waits in the queue; what runs is rendered to its end. `reason` null: the owner wants it. */
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
     insert into warm_held (domain_id, path) select $1, path from back on conflict do nothing`,
    [domain, rows[0].run],
  )
  return true
}

export async function resumeWarm(client: Queryable, domain: DomainId): Promise<boolean> {
  const { rowCount } = await client.query(
    `with resumed as (
       update warm set paused_at = null, reason = null, moved_at = clock_timestamp()
        where domain_id = $1 and state in ${UNDER_WAY} and paused_at is not null
       returning domain_id)
     select pg_notify($2, domain_id::text) from resumed`,
    [domain, WARM_CHANNEL],
  )
  return rowCount === 1
}

/** What was rendered stays; what runs is rendered to its end. */
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
  await client.query('delete from warm_held where domain_id = $1', [domain])
  return true
}

/** One that somebody else has asked for meanwhile has another priority, and stays. */
const TAKE_BACK = `delete from job
  where domain_id = $1 and warm = $2 and state = 'queued' and priority = ${WARM_PRIORITY}`
