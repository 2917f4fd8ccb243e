import type { Queryable } from '../db/transaction.ts'
import type { TrafficOf } from './read-traffic.ts'

/** `verdict` and `status`: of the newest day on which it was asked for. */
export type PathVisits = { path: string; visits: number; verdict: string; status: number }

/** `others`: visits to paths that are not told apart any more. */
export type PathsView = { top: PathVisits[]; failing: PathVisits[]; others: { top: number; failing: number } }

const PATHS = `
  with found as (
    select is_failing, path, sum(visits)::float8 as visits,
           (array_agg(verdict order by day desc))[1] as verdict, (array_agg(status order by day desc))[1] as status
      from traffic_path
     where domain_id = any (array(select id from domain where account_id = $1 and ($2::integer is null or id = $2)))
       and day >= $3 and day <= $4
     group by is_failing, path)
  select is_failing, path, visits, verdict, status from (
    select *, row_number() over (partition by is_failing, path = '' order by visits desc, path) as rank from found) f
   where rank <= $5
   order by is_failing, visits desc, path`

/** The paths that crawlers asked for most, and that failed most, from one UTC day to another; at most `limit` of each. */
export async function readPaths(
  db: Queryable,
  of: TrafficOf,
  days: { from: string; to: string },
  limit: number,
): Promise<PathsView> {
  const { rows } = await db.query<PathVisits & { is_failing: boolean }>({
    name: 'traffic-paths',
    text: PATHS,
    values: [of.account, of.domain, days.from, days.to, limit],
  })
  const listed = (failing: boolean) =>
    rows.flatMap(({ is_failing, ...each }) => (is_failing === failing && each.path !== '' ? [each] : []))
  const others = (failing: boolean) =>
    rows.find(({ is_failing, path }) => is_failing === failing && path === '')?.visits ?? 0
  return {
    top: listed(false),
    failing: listed(true),
    others: { top: others(false), failing: others(true) },
  }
}
