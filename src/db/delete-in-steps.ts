import { setTimeout as sleep } from 'node:timers/promises'

import type pg from 'pg'

/** Rows that one step deletes: some milliseconds, so that nobody waits for it. */
const STEP = 1_000

/** Between two full steps: live traffic comes first, and vacuum keeps up. */
const REST_MS = 20

/**
 * Deletes what `sql` names, in steps. `sql` is a `delete` of at most `$1` rows
 * that skips rows which others have locked, so any number of nodes may do it at
 * once: they take different ones. Gives how many were deleted. Ends early, and
 * loses nothing, when `signal` aborts.
 */
export async function deleteInSteps(
  pool: pg.Pool,
  sql: string,
  values: readonly unknown[] = [],
  options: { step?: number; signal?: AbortSignal } = {},
): Promise<number> {
  const { step = STEP, signal } = options
  let deleted = 0
  while (!signal?.aborted) {
    const { rowCount } = await pool.query(sql, [step, ...values])
    deleted += rowCount ?? 0
    if ((rowCount ?? 0) < step) break
    await sleep(REST_MS)
  }
  return deleted
}
