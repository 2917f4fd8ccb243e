import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

/** Rows of `table` go once `at`, a column of times that an index is ordered by, lies `keptDays` back. Names are ours, never a caller's. */
export type Age = { table: string; at: string; keptDays: number }

export type Steps = { step?: number; signal?: AbortSignal }

/** Removes rows that have outlived their time, of a table with a key `id`. Gives how many. */
export function removeOld(pool: pg.Pool, { table, at, keptDays }: Age, steps: Steps = {}): Promise<number> {
  return deleteInSteps(
    pool,
    `with old as materialized (
       select id from ${table} where ${at} < now() - make_interval(days => $2)
        order by ${at} limit $1 for update skip locked)
     delete from ${table} t using old where t.id = old.id`,
    [keptDays],
    steps,
  )
}

/** The same of a table with a row for each domain and path, whose index on times begins with the domain. */
export function removeOldPaths(
  pool: pg.Pool,
  { table, at, keptDays }: Age,
  steps: Steps = {},
): Promise<number> {
  return deleteInSteps(
    pool,
    `with old as materialized (
       select found.domain_id, found.path from domain cross join lateral (
         select domain_id, path from ${table}
          where domain_id = domain.id and ${at} < now() - make_interval(days => $2)
          order by ${at} limit $1 for update skip locked) found
       limit $1)
     delete from ${table} t using old where t.domain_id = old.domain_id and t.path = old.path`,
    [keptDays],
    steps,
  )
}

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
