import { utcDay } from '@prepaint/contract/dates.ts'
import type pg from 'pg'
import { removeOld, type Steps } from './remove-old.ts'
import { transaction } from './transaction.ts'

/**
 * A table with a partition for each UTC day of the column `at`, and one for other times, `<table>_default`. An upgraded table may
 * have one for all days before another, `<table>_before_YYYYMMDD`. `storage`: parameters of the partitions. All go into SQL: constants only.
 */
export type DailyTable = { table: string; at: string; storage?: string }

const DAY_MS = 86_400_000
const DAYS_AHEAD = 3
/** Queries of the table queue behind one that waits for its lock: rather fail, and let the caller try again. */
const LOCK_WITHIN_MS = 500
/** PostgreSQL ends an autovacuum for whose lock another session has waited one second. */
const VACUUM_ENDS_WITHIN_MS = 5_000

/**
 * Makes the partitions of today and the next three days that are missing. Rows of such a day came while no node ran, or by a
 * clock that is ahead: they move from the default partition.
 */
export async function makeDays(
  pool: pg.Pool,
  { table, at, storage }: DailyTable,
  nowMs: number,
): Promise<void> {
  const known = await readPartitions(pool, table)
  for (let ahead = 0; ahead <= DAYS_AHEAD; ahead++) {
    const dayMs = nowMs + ahead * DAY_MS
    const day = utcDay(dayMs)
    if (known.some((each) => holds(each, day))) continue
    const partition = `${table}_${day.replaceAll('-', '')}`
    const from = `'${day} 00:00+00'`
    const to = `'${utcDay(dayMs + DAY_MS)} 00:00+00'`
    await transaction(pool, async (client) => {
      await client.query(`set local lock_timeout = ${LOCK_WITHIN_MS}`)
      // Another node may have made it meanwhile.
      await client.query(`lock table only ${table} in share update exclusive mode`)
      if ((await readPartitions(client, table)).some((each) => holds(each, day))) return
      await client.query(`lock table ${table}_default in access exclusive mode`)
      const parameters = storage === undefined ? '' : `with (${storage})`
      await client.query(`create table ${partition} (like ${table} including all) ${parameters}`)
      await client.query(
        `with late as (delete from ${table}_default where ${at} >= ${from} and ${at} < ${to} returning *)
         insert into ${partition} select * from late`,
      )
      await client.query(
        `alter table ${table} attach partition ${partition} for values from (${from}) to (${to})`,
      )
    })
  }
}

/**
 * Looks after a table whose rows are kept so many days: makes the partitions of the next days, and drops those whose rows are all older.
 * Returns how many days and rows were removed.
 */
export async function keepDays(
  pool: pg.Pool,
  daily: DailyTable,
  { keptDays, nowMs }: { keptDays: number; nowMs: number },
  steps?: Steps,
): Promise<number> {
  await makeDays(pool, daily, nowMs)
  const days = await dropDays(pool, daily, nowMs - keptDays * DAY_MS)
  // Those of times that have no partition.
  const rows = await removeOld(pool, { table: `${daily.table}_default`, at: daily.at, keptDays }, steps)
  return days + rows
}

/** Drops the partitions of days that ended before a time and have no rows. Returns how many were dropped. */
export function dropEmptyDays(pool: pg.Pool, daily: DailyTable, beforeMs: number): Promise<number> {
  return drop(pool, daily, beforeMs, true)
}

/** The same with all rows that they have. */
export function dropDays(pool: pg.Pool, daily: DailyTable, beforeMs: number): Promise<number> {
  return drop(pool, daily, beforeMs, false)
}

async function drop(
  pool: pg.Pool,
  { table }: DailyTable,
  beforeMs: number,
  isEmptyOnly: boolean,
): Promise<number> {
  const before = utcDay(beforeMs)
  let dropped = 0
  for (const { partition, until } of await readPartitions(pool, table)) {
    if (until > before) continue
    await transaction(pool, async (client) => {
      // These two locks wait for other nodes and for vacuum, and keep them out. No query waits behind them.
      await client.query(`set local lock_timeout = ${VACUUM_ENDS_WITHIN_MS}`)
      await client.query(`lock table only ${table} in share update exclusive mode`)
      // Another node may have dropped it meanwhile.
      if (!(await readPartitions(client, table)).some((each) => each.partition === partition)) return
      await client.query(`lock table only ${partition} in share update exclusive mode`)
      await client.query(`set local lock_timeout = ${LOCK_WITHIN_MS}`)
      await client.query(`lock table only ${table} in access exclusive mode`)
      await client.query(`lock table only ${partition} in access exclusive mode`)
      if (isEmptyOnly && (await client.query(`select from ${partition} limit 1`)).rowCount !== 0) return
      await client.query(`drop table ${partition}`)
      dropped++
    })
  }
  return dropped
}

/** `first` is null if it has all earlier days. `until`: the day after its last. */
type Partition = { partition: string; first: string | null; until: string }

function holds({ first, until }: Partition, day: string): boolean {
  return day < until && (first === null || day >= first)
}

/** Returns the partitions that are named by a day, oldest first. */
async function readPartitions(
  db: Pick<pg.Pool, 'query'> | pg.PoolClient,
  table: string,
): Promise<Partition[]> {
  const { rows } = await db.query<{ partition: string; day: string; isBefore: boolean }>(
    `select c.relname as partition, to_char(to_date(right(c.relname, 8), 'YYYYMMDD'), 'YYYY-MM-DD') as day,
            c.relname ~ '_before_\\d{8}$' as "isBefore"
       from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = $1::regclass and c.relname ~ '_\\d{8}$'
      order by 2`,
    [table],
  )
  return rows.map(({ partition, day, isBefore }) => {
    if (isBefore) return { partition, first: null, until: day }
    return { partition, first: day, until: utcDay(Date.parse(`${day}T00:00Z`) + DAY_MS) }
  })
}
