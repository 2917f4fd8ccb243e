import type pg from 'pg'

import { deleteInSteps } from '../db/delete-in-steps.ts'

/** For so long hours of traffic are kept, and paths. */
export const HOURS_KEPT_DAYS = 90
/** And days of it: a year to look back on, and a month. */
export const DAYS_KEPT = 400
/** Sums of days for summaries, which look back on seven days and a part of one. */
export const SUMMARY_DAYS_KEPT = 9
/** Renders of days are kept like those of months: a year to look back on, beside the month that runs. */
const RENDER_MONTHS_KEPT = 12
/** A node that has written nothing for so long has no batch left whose end it does not know. */
const BATCH_DAYS_KEPT = 2

// By domain, off the primary key: no table needs an index for its age alone.
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

/** Removes counts of traffic past their time. Gives how many rows. */
export async function removeOldTraffic(
  pool: pg.Pool,
  options: { step?: number; signal?: AbortSignal } = {},
): Promise<number> {
  const hours = await deleteInSteps(pool, HOURS, [HOURS_KEPT_DAYS], options)
  const days = await deleteInSteps(pool, DAYS, [DAYS_KEPT], options)
  const paths = await deleteInSteps(pool, PATHS, [HOURS_KEPT_DAYS], options)
  const summaries = await deleteInSteps(pool, SUMMARIES, [SUMMARY_DAYS_KEPT], options)
  const renders = await deleteInSteps(pool, RENDERS, [RENDER_MONTHS_KEPT], options)
  const batches = await deleteInSteps(pool, BATCHES, [BATCH_DAYS_KEPT], options)
  return hours + days + paths + summaries + renders + batches
}

function prefixed(table: string, names: string): string {
  return names
    .split(', ')
    .map((name) => `${table}.${name}`)
    .join(', ')
}
