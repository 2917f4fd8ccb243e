import type pg from 'pg'

import { deleteInSteps } from '../db/delete-in-steps.ts'
import { FAILURE_WINDOW_MS } from './sign-in-failures.ts'

const expired = (table: 'sign_in_session' | 'sign_in_link' | 'sign_in_check') =>
  `with old as materialized (
     select id from ${table} where expires_at < now() - $2 * interval '1 millisecond'
      limit $1 for update skip locked)
   delete from ${table} using old where ${table}.id = old.id`

const STEPS = [
  expired('sign_in_session'),
  expired('sign_in_link'),
  expired('sign_in_check'),
  // Anybody can make these, one for each e-mail that he invents.
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
