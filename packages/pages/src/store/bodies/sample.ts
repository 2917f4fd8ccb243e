import type pg from 'pg'
import { type BodyStore, IS_STORED } from './body-store.ts'

export type Checked = { read: number; missing: number; damaged: number; failed: number }

/** Tables with more rows are sampled by their blocks instead of being sorted. */
const SORTED_ROWS = 200_000
/** A sample of blocks has this many times more rows than wanted, because some have no key. */
const SPARE = 20
const AT_ONCE = 16

type Sampled = { body_key: string; body_bytes: number; body_sum: Buffer }

/** Reads random bodies in the object store. Changes nothing: a page whose body is missing is rendered at its next request. */
export async function checkSample(pool: pg.Pool, bodies: BodyStore, sample: number): Promise<Checked> {
  const checked: Checked = { read: 0, missing: 0, damaged: 0, failed: 0 }
  const rows = await readSample(pool, sample)
  for (let at = 0; at < rows.length; at += AT_ONCE) {
    const group = rows.slice(at, at + AT_ONCE)
    const results = await Promise.all(
      group.map(({ body_key: key, body_bytes: bytes, body_sum: sum }) => bodies.inspect({ key, bytes, sum })),
    )
    for (const result of results) checked[result]++
  }
  return checked
}

async function readSample(pool: pg.Pool, sample: number): Promise<Sampled[]> {
  const { rows: sizes } = await pool.query<{ rows: string }>(
    `select coalesce(sum(greatest(reltuples, 0)), 0)::bigint as rows from pg_class
      where relkind = 'r' and (oid = 'page'::regclass or oid in (select inhrelid from pg_inherits where inhparent = 'page'::regclass))`,
  )
  const known = Number(sizes[0]!.rows)
  const percent = Math.min(100, Math.max(0.01, (sample * SPARE * 100) / Math.max(1, known)))
  const part = known <= SORTED_ROWS ? '' : `tablesample system (${percent.toFixed(4)})`
  const { rows } = await pool.query<Sampled>(
    `select body_key, body_bytes, body_sum from (
       (select body_key, body_bytes, body_sum from page ${part} where ${IS_STORED}
         order by random() limit $1)
       union all
       (select body_key, body_bytes, body_sum from page_form ${part} where ${IS_STORED}
         order by random() limit $1)) sampled
      order by random() limit $1`,
    [sample],
  )
  return rows
}
