import type pg from 'pg'
import { deleteInSteps } from '../../db/remove-old.ts'
import type { DomainId } from '../../ids.ts'

export const HOURS_KEPT_DAYS = 90
export const DAYS_KEPT = 400
/** Summaries cover seven days and a part of one. */
export const SUMMARY_DAYS_KEPT = 9
const RENDER_MONTHS_KEPT = 12
const BATCH_DAYS_KEPT = 2

// By domain, to use the primary key instead of another index.
const oldOf = (table: string, column: string, before: string, names: string) => `
  with old as materialized (
    select o.* from domain d cross join lateral (
      select ${names} from ${table} t where t.domain_id = d.id and t.${column} < ${before}
       limit $1 for update skip locked) o
     limit $1)
  delete from ${table} t using old where (${prefixed('t', names)}) = (${prefixed('old', names)})`

const HOURS = oldOf(
  'traffic_hour',
  'hour',
  `now() - make_interval(days => $2)`,
  'domain_id, hour, category, crawler, verdict',
)
const DAYS = oldOf(
  'traffic_day',
  'day',
  `(now() at time zone 'UTC')::date - $2::integer`,
  'domain_id, day, category, crawler, verdict',
)
const PATHS = oldOf(
  'traffic_path',
  'day',
  `(now() at time zone 'UTC')::date - $2::integer`,
  'domain_id, day, is_failing, path',
)
const FORBIDDEN = oldOf(
  'traffic_forbidden',
  'day',
  `(now() at time zone 'UTC')::date - $2::integer`,
  'domain_id, day, category, crawler',
)
const SUMMARIES = oldOf(
  'traffic_summary',
  'day',
  `(now() at time zone 'UTC')::date - $2::integer`,
  'domain_id, day, part',
)
const RENDERS = oldOf(
  'render_day',
  'day',
  `(date_trunc('month', now() at time zone 'UTC') - make_interval(months => $2))::date`,
  'domain_id, day',
)
const BATCHES = `
  with old as materialized (
    select node from traffic_batch where written_at < now() - make_interval(days => $2)
     limit $1 for update skip locked)
  delete from traffic_batch t using old where t.node = old.node`

export async function removeOldTraffic(
  pool: pg.Pool,
  options: { step?: number; signal?: AbortSignal } = {},
): Promise<number> {
  const hours = await deleteInSteps(pool, HOURS, [HOURS_KEPT_DAYS], options)
  const days = await deleteInSteps(pool, DAYS, [DAYS_KEPT], options)
  const paths = await deleteInSteps(pool, PATHS, [HOURS_KEPT_DAYS], options)
  const forbidden = await deleteInSteps(pool, FORBIDDEN, [DAYS_KEPT], options)
  const summaries = await deleteInSteps(pool, SUMMARIES, [SUMMARY_DAYS_KEPT], options)
  const renders = await deleteInSteps(pool, RENDERS, [RENDER_MONTHS_KEPT], options)
  const batches = await deleteInSteps(pool, BATCHES, [BATCH_DAYS_KEPT], options)
  return hours + days + paths + forbidden + summaries + renders + batches
}

function prefixed(table: string, names: string): string {
  return names
    .split(', ')
    .map((name) => `${table}.${name}`)
    .join(', ')
}

export const PATHS_KEPT = 300

// Adds the deleted rows to the row with the path ''.
const TRIM = `
  with ranked as (
    select is_failing, path, row_number() over (partition by is_failing order by visits desc, path) as rank
      from traffic_path where domain_id = $1 and day = $2 and path <> ''),
  dropped as (
    delete from traffic_path t using ranked r
     where t.domain_id = $1 and t.day = $2 and t.is_failing = r.is_failing and t.path = r.path and r.rank > $3
    returning t.is_failing, t.visits)
  insert into traffic_path as t (domain_id, day, is_failing, path, visits, verdict, status)
  select $1, $2, is_failing, '', sum(visits), '', 0 from dropped group by is_failing
  on conflict (domain_id, day, is_failing, path) do update set visits = t.visits + excluded.visits`

/** Domain-days whose new paths are counted; beyond that, all counts restart. */
const COUNTED_DAYS = 20_000

/** Merges a day's rarest paths after every `PATHS_KEPT` new ones. `added`: paths just stored. */
export function createTrimPaths(
  pool: pg.Pool,
): (added: readonly { domain_id: DomainId; day: string; is_new: boolean }[]) => Promise<void> {
  const newPaths = new Map<string, number>()

  return async (added) => {
    for (const { domain_id, day, is_new } of added) {
      if (!is_new) continue
      const name = `${domain_id} ${day}`
      newPaths.set(name, (newPaths.get(name) ?? 0) + 1)
    }
    for (const [name, count] of newPaths) {
      if (count < PATHS_KEPT) continue
      newPaths.delete(name)
      await pool.query({ name: 'traffic-trim-paths', text: TRIM, values: [...name.split(' '), PATHS_KEPT] })
    }
    if (newPaths.size > COUNTED_DAYS) newPaths.clear()
  }
}
