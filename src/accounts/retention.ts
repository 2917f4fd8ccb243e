import type pg from 'pg'
import { deleteInSteps, removeOld, type Steps } from '../db/remove-old.ts'
import { FAILURE_WINDOW_MS } from './sign-in/attempts.ts'
import { WEBHOOK_WINDOW_MS } from './webhook-window.ts'

/** Months of renders that are kept beside the one that runs: a whole year to look back on. */
const MONTHS_KEPT = 12

/** Removes the renders of months more than a year ago, and windows of webhooks that have ended. Gives how many. */
export async function removeOldCounts(
  pool: pg.Pool,
  options: { step?: number; signal?: AbortSignal } = {},
): Promise<number> {
  const months = await deleteInSteps(
    pool,
    `with old as materialized (
       select domain_id, month from render_count
        where month < (date_trunc('month', now() at time zone 'UTC') - make_interval(months => $2))::date
        limit $1 for update skip locked)
     delete from render_count c using old where c.domain_id = old.domain_id and c.month = old.month`,
    [MONTHS_KEPT],
    options,
  )
  const windows = await deleteInSteps(
    pool,
    `with old as materialized (
       select domain_id from webhook_window where started_at < now() - $2 * interval '1 millisecond'
        limit $1 for update skip locked)
     delete from webhook_window w using old where w.domain_id = old.domain_id`,
    // A window of which another node's clock thinks that it is still open stays.
    [2 * WEBHOOK_WINDOW_MS],
    options,
  )
  return months + windows
}

/** For how long an owner still sees which keys and tokens there were: as long as the hours of his traffic. */
export const ENDED_SECRETS_KEPT_DAYS = 90

/**
 * Removes API keys that were revoked or expired long ago, and webhook tokens
 * that were revoked. Gives how many. They are refused as before: what nobody
 * knows is answered like what was revoked.
 */
export async function removeOldSecrets(pool: pg.Pool, steps?: Steps): Promise<number> {
  const keptDays = ENDED_SECRETS_KEPT_DAYS
  // One that is revoked after its end is shown as revoked, and kept from then on.
  const keys = { table: 'api_key', at: 'coalesce(revoked_at, expires_at)', keptDays }
  const tokens = { table: 'webhook_token', at: 'revoked_at', keptDays }
  return (await removeOld(pool, keys, steps)) + (await removeOld(pool, tokens, steps))
}

const expired = (table: 'sign_in_session' | 'sign_in_link') =>
  `with old as materialized (
     select id from ${table} where expires_at < now() - $2 * interval '1 millisecond'
      limit $1 for update skip locked)
   delete from ${table} using old where ${table}.id = old.id`

const STEPS = [
  expired('sign_in_session'),
  expired('sign_in_link'),
  // Anyone can create these rows, one for each invented e-mail.
  `with old as materialized (
     select subject from sign_in_failure where started_at < now() - $2 * interval '1 millisecond'
      limit $1 for update skip locked)
   delete from sign_in_failure f using old where f.subject = old.subject`,
]

/** Removes sessions and links that have ended, and failures that count no more. Gives how many. */
export async function removeOldSignIns(
  pool: pg.Pool,
  options: { step?: number; signal?: AbortSignal } = {},
): Promise<number> {
  let removed = 0
  // What another node's clock thinks has not ended stays.
  for (const sql of STEPS) removed += await deleteInSteps(pool, sql, [2 * FAILURE_WINDOW_MS], options)
  return removed
}
