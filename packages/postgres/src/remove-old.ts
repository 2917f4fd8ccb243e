import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'

/** Rows expire `keptDays` after the indexed column `at`. The names go into SQL: constants only. */
export type Age = { table: string; at: string; keptDays: number }

/** `step`: the most rows that a statement deletes. */
export type Steps = { step?: number; signal?: AbortSignal }

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

/** Deletes from a table with the key (domain, path), whose time index begins with the domain. */
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

/** The rows of a step, which takes a few milliseconds. */
const STEP = 1_000

/** The pause between full steps leaves time to live traffic and vacuum. */
const REST_MS = 20

/** Returns the number of rows. `sql` deletes at most `$1` rows and skips locked ones, for parallel nodes. */
export async function deleteInSteps(
  pool: pg.Pool,
  sql: string,
  values: readonly unknown[] = [],
  { step = STEP, signal }: Steps = {},
): Promise<number> {
  let deleted = 0
  while (!signal?.aborted) {
    const { rowCount } = await pool.query(sql, [step, ...values])
    deleted += rowCount ?? 0
    if ((rowCount ?? 0) < step) break
    await sleep(REST_MS)
  }
  return deleted
}
