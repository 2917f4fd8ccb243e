import type { DomainId } from '@prepaint/contract/ids.ts'
import { dropEmptyDays, makeDays } from '@prepaint/postgres/day-partitions.ts'
import { deleteInSteps } from '@prepaint/postgres/remove-old.ts'
import type pg from 'pg'

const DAY_MS = 86_400_000
export const HOURS_KEPT_DAYS = 90
export const DAYS_KEPT = 400
const RENDER_MONTHS_KEPT = 12
/** The last flush of a node that writes no more is needed only if its result was lost. */
export const FLUSH_DAYS_KEPT = 7
/** Partitions of days before are dropped when all their rows were added up. */
const MINUTE_DAYS_KEPT = 2

// By domain, to use the primary key instead of another index.
const oldOf = (table: string, column: string, before: string, rest: readonly string[] = []) => {
  const names = ['domain_id', column, ...rest]
  const namesOf = (alias: string) => names.map((name) => `${alias}.${name}`).join()
  return `
  with old as materialized (
    select o.* from domain d cross join lateral (
      select ${names.join()} from ${table} t where t.domain_id = d.id and t.${column} < ${before}
       limit $1 for update skip locked) o
     limit $1)
  delete from ${table} t using old where (${namesOf('t')}) = (${namesOf('old')})`
}

const BEFORE_DAY = `(now() at time zone 'UTC')::date - $2::integer`
const BEFORE_MONTH = `(date_trunc('month', now() at time zone 'UTC') - make_interval(months => $2))::date`
const LINE = ['category', 'crawler', 'verdict']
const FLUSHES = `
  with old as materialized (
    select node from traffic_flush where at < now() - make_interval(days => $2) limit $1 for update skip locked)
  delete from traffic_flush t using old where t.node = old.node`

/** `kept` is in days, and in months for renders. */
const OLD: readonly [statement: string, kept: number][] = [
  [oldOf('traffic_hour', 'hour', 'now() - make_interval(days => $2)', LINE), HOURS_KEPT_DAYS],
  [oldOf('traffic_day', 'day', BEFORE_DAY, LINE), DAYS_KEPT],
  [oldOf('traffic_folded_hour', 'hour', 'now() - make_interval(days => $2)'), HOURS_KEPT_DAYS],
  [oldOf('traffic_folded_day', 'day', BEFORE_DAY), DAYS_KEPT],
  [oldOf('traffic_path', 'day', BEFORE_DAY, ['is_failing', 'path']), HOURS_KEPT_DAYS],
  [oldOf('traffic_forbidden', 'day', BEFORE_DAY, ['category', 'crawler']), DAYS_KEPT],
  [oldOf('traffic_unrecognised', 'day', BEFORE_DAY, ['name']), HOURS_KEPT_DAYS],
  [oldOf('render_day', 'day', BEFORE_MONTH), RENDER_MONTHS_KEPT],
  [FLUSHES, FLUSH_DAYS_KEPT],
]

export async function removeOldTraffic(
  pool: pg.Pool,
  options: { step?: number; signal?: AbortSignal } = {},
): Promise<number> {
  let removed = 0
  for (const [statement, kept] of OLD) removed += await deleteInSteps(pool, statement, [kept], options)
  return removed
}

/** Makes the partitions of the next days, and drops those that are of no use. Returns how many were dropped. */
export async function keepTrafficDays(pool: pg.Pool, nowMs: number): Promise<number> {
  const days = { table: 'traffic_minute', at: 'minute' }
  await makeDays(pool, days, nowMs)
  return dropEmptyDays(pool, days, nowMs - MINUTE_DAYS_KEPT * DAY_MS)
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

/** So many days of domains are counted. Beyond that, all counts begin anew. */
const COUNTED_DAYS = 20_000

/** Merges a day's rarest paths after every `PATHS_KEPT` new ones. */
export class PathTrimmer {
  readonly #pool: pg.Pool
  /** New paths since the last trim, by `<domain> <day>`. */
  readonly #newPaths = new Map<string, number>()

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Call it with the paths that were just stored. */
  async trim(stored: readonly { domain_id: DomainId; day: string; is_new: boolean }[]): Promise<void> {
    for (const { domain_id, day, is_new } of stored) {
      if (!is_new) continue
      const name = `${domain_id} ${day}`
      this.#newPaths.set(name, (this.#newPaths.get(name) ?? 0) + 1)
    }
    for (const [name, count] of this.#newPaths) {
      if (count < PATHS_KEPT) continue
      this.#newPaths.delete(name)
      const [domain, day] = name.split(' ')
      await this.#pool.query({ name: 'traffic-trim-paths', text: TRIM, values: [domain, day, PATHS_KEPT] })
    }
    if (this.#newPaths.size > COUNTED_DAYS) this.#newPaths.clear()
  }
}
