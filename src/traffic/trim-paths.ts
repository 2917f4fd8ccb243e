import type pg from 'pg'

import type { DomainId } from '../ids.ts'

/** Of one domain, UTC day and list. */
export const PATHS_KEPT = 300

// A row of the rest at a time, so that two nodes that trim the same day move each row once.
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

/** Days of domains of which is remembered how many paths are new; then all are forgotten, and begin anew. */
const REMEMBERED = 20_000

/**
 * Keeps the stored paths of a day few: once as many new ones have come as are
 * kept, the rarest of that day are counted together. `added`: the paths that a
 * node has just stored; `is_new`: they were not there before.
 */
export function createTrimPaths(
  pool: pg.Pool,
): (added: readonly { domain_id: DomainId; day: string; is_new: boolean }[]) => Promise<void> {
  const news = new Map<string, number>()

  return async (added) => {
    for (const { domain_id, day, is_new } of added) {
      if (!is_new) continue
      const name = `${domain_id} ${day}`
      news.set(name, (news.get(name) ?? 0) + 1)
    }
    for (const [name, count] of news) {
      if (count < PATHS_KEPT) continue
      news.delete(name)
      await pool.query({ name: 'traffic-trim-paths', text: TRIM, values: [...name.split(' '), PATHS_KEPT] })
    }
    if (news.size > REMEMBERED) news.clear()
  }
}
