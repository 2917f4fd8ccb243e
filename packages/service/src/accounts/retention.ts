import { deleteInSteps, removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import type pg from 'pg'
import { FAILURE_WINDOW_MS } from './sign-in/attempts.ts'
import { WEBHOOK_WINDOW_MS } from './webhook-window.ts'

/** Months that are kept besides the current one. */
const MONTHS_KEPT = 12

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
    // Keep windows that may be open by another node's clock.
    [2 * WEBHOOK_WINDOW_MS],
    options,
  )
  const spellings = await deleteInSteps(
    pool,
    `with old as materialized (
       select domain_id, path from page_spelling where asked_at < now() - make_interval(days => $2)
        limit $1 for update skip locked)
     delete from page_spelling s using old where s.domain_id = old.domain_id and s.path = old.path`,
    [SPELLINGS_KEPT_DAYS],
    options,
  )
  return months + windows + spellings
}

/** Since the last crawler asked; the stored page goes earlier, or is asked for in the order of its path. */
const SPELLINGS_KEPT_DAYS = 90

/** Ended keys and tokens are kept as long as hourly traffic. */
export const ENDED_SECRETS_KEPT_DAYS = 90

/** Unknown and revoked secrets get the same response, so old ones can be removed. */
export async function removeOldSecrets(pool: pg.Pool, steps?: Steps): Promise<number> {
  const keptDays = ENDED_SECRETS_KEPT_DAYS
  // A key revoked after it expired is kept from its revocation on.
  const keys = { table: 'api_key', at: 'coalesce(revoked_at, expires_at)', keptDays }
  const tokens = { table: 'webhook_token', at: 'revoked_at', keptDays }
  return (await removeOld(pool, keys, steps)) + (await removeOld(pool, tokens, steps))
}

const expired = (table: 'session' | 'link' | 'sign_in_session' | 'sign_in_link') =>
  `with old as materialized (
     select id from ${table} where expires_at < now() - $2 * interval '1 millisecond'
      limit $1 for update skip locked)
   delete from ${table} using old where ${table}.id = old.id`

const expiredByHash = (table: 'sign_in_step' | 'passkey_challenge' | 'sso_start') =>
  `with old as materialized (
     select token_hash from ${table} where expires_at < now() - $2 * interval '1 millisecond'
      limit $1 for update skip locked)
   delete from ${table} using old where ${table}.token_hash = old.token_hash`

const STEPS = [
  expired('session'),
  `with old as materialized (
     select id from email_change where undo_ends_at < now() - $2 * interval '1 millisecond'
      limit $1 for update skip locked)
   delete from email_change using old where email_change.id = old.id`,
  expiredByHash('sign_in_step'),
  expiredByHash('passkey_challenge'),
  expiredByHash('sso_start'),
  expired('link'),
  expired('sign_in_session'),
  expired('sign_in_link'),
  // Anyone can create these rows, one per invented e-mail.
  `with old as materialized (
     select subject from sign_in_failure where started_at < now() - $2 * interval '1 millisecond'
      limit $1 for update skip locked)
   delete from sign_in_failure f using old where f.subject = old.subject`,
]

export async function removeOldSignIns(
  pool: pg.Pool,
  options: { step?: number; signal?: AbortSignal } = {},
): Promise<number> {
  let removed = 0
  // Keep what may be valid by another node's clock.
  for (const sql of STEPS) removed += await deleteInSteps(pool, sql, [2 * FAILURE_WINDOW_MS], options)
  return removed
}
