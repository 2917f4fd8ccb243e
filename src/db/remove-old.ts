import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

/** Rows of `table` expire `keptDays` after the time in the indexed column `at`. The names go into SQL: constants only. */
export type Age = { table: string; at: string; keptDays: number }

export type Steps = { step?: number; signal?: AbortSignal }

/** Removes expired rows of a table with the key `id`; returns their number. */
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

/** The same for a table with the key domain and path, whose index of times begins with the domain. */
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

/** Rows of one step: a few milliseconds. */
const STEP = 1_000

/** Between two full steps, for live traffic and vacuum. */
const REST_MS = 20

/**
 * Deletes in steps and returns the number of rows. `sql` deletes at most `$1`
 * rows and skips locked ones, so that all nodes may do it at once. Stops early
 * when `signal` aborts.
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
