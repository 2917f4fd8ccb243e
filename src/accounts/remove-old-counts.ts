import type pg from 'pg'

import { deleteInSteps } from '../db/delete-in-steps.ts'
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
