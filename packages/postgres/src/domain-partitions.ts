import type pg from 'pg'
import { DatabaseError } from './connection.ts'
import { type Queryable, transaction } from './transaction.ts'

/** So many partitions: what looks after one, such as autovacuum, then has a sixteenth of the rows at hand. */
const PARTITIONS = 16

type Definition = { table: string; sql: string }

/** What a table has besides its columns. */
type Definitions = { keys: Definition[]; indexes: Definition[]; references: Definition[] }

/**
 * Divides tables into partitions by hash of their column `domain_id`. Call it in a transaction, while they are empty. Those that
 * are divided already stay as they are. Rows of a table with another shape are the same, and so are all statements. Triggers and
 * views of the tables go: apply the functions afterwards, as `migrate` does.
 */
export async function divideByDomain(client: pg.ClientBase, tables: readonly string[]): Promise<void> {
  const whole = await readWhole(client, tables)
  for (const table of whole) {
    const { rowCount } = await client.query(`select from ${table} limit 1`)
    if (rowCount !== 0) throw new DatabaseError(`The table ${table} has rows, and is not divided.`)
  }
  const { keys, indexes, references } = await readDefinitions(client, whole)
  const options = await readOptions(client, whole)
  for (const table of whole) {
    await client.query(`
      alter table ${table} rename to ${table}_whole;
      create table ${table} (like ${table}_whole including all excluding identity excluding indexes excluding statistics)
        partition by hash (domain_id);
      drop table ${table}_whole cascade`)
    for (let remainder = 0; remainder < PARTITIONS; remainder++) {
      await client.query(
        `create table ${table}_${remainder} partition of ${table} for values with (modulus ${PARTITIONS}, remainder ${remainder})
           ${options.get(table) ?? ''}`,
      )
    }
  }
  for (const { sql } of [...keys, ...indexes, ...references]) await client.query(sql)
  if (whole.length > 0) await client.query('delete from schema_functions')
}

/** Lists the tables that are there and not divided. */
async function readWhole(client: pg.ClientBase, tables: readonly string[]): Promise<string[]> {
  const { rows } = await client.query<{ table: string }>(
    `select relname as table from unnest($1::text[]) with ordinality as asked (name, at)
       join pg_class on oid = to_regclass(name)
      where relkind = 'r' order by at`,
    [tables],
  )
  return rows.map(({ table }) => table)
}

/** Reads keys and indexes of the tables, and the foreign keys from and to them. */
async function readDefinitions(client: pg.ClientBase, tables: readonly string[]): Promise<Definitions> {
  const { rows: constraints } = await client.query<Definition & { type: string }>(
    `select conrelid::regclass::text as table, contype as type,
            format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as sql
       from pg_constraint
      where contype in ('p', 'u', 'f') and conparentid = 0 and (conrelid = any ($1::regclass[]) or confrelid = any ($1::regclass[]))
      order by conname`,
    [tables],
  )
  const { rows: indexes } = await client.query<Definition>(
    `select indrelid::regclass::text as table, pg_get_indexdef(indexrelid) as sql from pg_index
      where indrelid = any ($1::regclass[]) and not exists (select from pg_constraint where conindid = indexrelid and contype <> 'f')
      order by indexrelid`,
    [tables],
  )
  return {
    keys: constraints.filter(({ type }) => type !== 'f'),
    indexes,
    references: constraints.filter(({ type }) => type === 'f'),
  }
}

/** Reads the storage parameters of the tables, which only partitions can have. */
async function readOptions(
  client: pg.ClientBase,
  tables: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const { rows } = await client.query<{ table: string; options: string[] }>(
    `select c.relname as table,
            coalesce(c.reloptions, '{}') || array(select 'toast.' || o from unnest(t.reloptions) o) as options
       from pg_class c left join pg_class t on t.oid = c.reltoastrelid
      where c.oid = any ($1::regclass[])`,
    [tables],
  )
  const withOptions = rows.filter(({ options }) => options.length > 0)
  return new Map(withOptions.map(({ table, options }) => [table, `with (${options.join(', ')})`]))
}

/** `rows` and `bytes` are of all the tables together, with their indexes. PostgreSQL estimates the rows when it vacuums or analyzes. */
export type TableShape = { isDivided: boolean; rows: number; bytes: number }

/** Returns null if none of the tables is there. `isDivided`: all of them are. */
export async function readShape(db: Queryable, tables: readonly string[]): Promise<TableShape | null> {
  const { rows } = await db.query<TableShape & { isDivided: boolean | null }>(
    `select bool_and(c.relkind = 'p') as "isDivided", sum(stored.rows)::float8 as rows, sum(stored.bytes)::float8 as bytes
       from unnest($1::text[]) name join pg_class c on c.oid = to_regclass(name)
      cross join lateral (
        select sum(greatest(reltuples, 0)) as rows, sum(pg_total_relation_size(oid)) as bytes from pg_class
         where relkind = 'r' and (oid = c.oid or oid in (select inhrelid from pg_inherits where inhparent = c.oid))) stored`,
    [tables],
  )
  const [shape] = rows
  return shape === undefined || shape.isDivided === null ? null : shape
}

/** Below this many new rows, plans are good without statistics. */
const ROWS_UNSEEN = 1_000
const ANALYZE_WITHIN_MS = 30 * 60_000

/**
 * Analyzes divided tables that have grown or shrunk by a fifth since the last time: autovacuum looks at partitions only, and plans of
 * joins need the statistics of the whole. Returns the tables.
 */
export async function analyzeDivided(
  pool: pg.Pool,
  tables: readonly string[],
  signal?: AbortSignal,
): Promise<string[]> {
  const { rows } = await pool.query<{ table: string }>(
    `select c.relname as table from unnest($1::text[]) name join pg_class c on c.oid = to_regclass(name)
      cross join lateral (
        select sum(greatest(p.reltuples, 0)) as rows from pg_inherits join pg_class p on p.oid = inhrelid
         where inhparent = c.oid) now
      where c.relkind = 'p' and abs(now.rows - greatest(c.reltuples, 0)) > $2 + 0.2 * greatest(c.reltuples, 0)`,
    [tables, ROWS_UNSEEN],
  )
  const analyzed: string[] = []
  for (const { table } of rows) {
    if (signal?.aborted) break
    await transaction(pool, async (client) => {
      // As gentle as autovacuum.
      await client.query(
        `set local statement_timeout = ${ANALYZE_WITHIN_MS}; set local vacuum_cost_delay = 2`,
      )
      await client.query({ text: `analyze ${table}`, query_timeout: ANALYZE_WITHIN_MS } as pg.QueryConfig)
    })
    analyzed.push(table)
  }
  return analyzed
}
