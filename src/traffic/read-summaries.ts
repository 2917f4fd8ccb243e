import { utcDay } from '../accounts/month.ts'
import type { Queryable } from '../db/transaction.ts'
import type { AccountId, DomainName } from '../ids.ts'

/** What a list of domains says of each: requests for pages of crawlers, how many of them were hits, who came last. */
export type TrafficSummary = {
  domain: DomainName
  day: { pages: number; hit_ratio: number | null }
  week: { pages: number; hit_ratio: number | null }
  last_crawler: { name: string; category: string; at: string } | null
}

const DAY_MS = 86_400_000

/**
 * A week of sums by day (`traffic_summary`), where the lines of its hours would be some hundreds for each domain. Days
 * that lie within count as a whole; the one in which the week begins, and that in which the last 24 hours do, from the
 * same `hour` on, which is written out: slices of arrays took twice as long.
 */
const summariesFrom = (hour: number) => {
  const rest = (hours: string) =>
    Array.from({ length: 24 - hour }, (_, at) => `t.${hours}[${hour + at + 1}]`).join(' + ')
  const since = (day: string, whole: string) =>
    `coalesce(sum(case when t.day > ${day} then t.${whole} when t.day = ${day} then ${rest(`hourly_${whole}`)} end), 0)::float8`
  return `
  select d.custom_domain as domain, l.crawler, l.category, l.seen_at, s.*
    from domain d
    left join traffic_last l on l.domain_id = d.id
   cross join lateral (
     select ${since('$3::date', 'pages')} as day_pages, ${since('$3::date', 'hits')} as day_hits,
            ${since('$2::date', 'pages')} as week_pages, ${since('$2::date', 'hits')} as week_hits
       from traffic_summary t
      where t.domain_id = d.id and t.day >= $2::date) s
   where d.account_id = $1
   order by d.custom_domain`
}
const SUMMARIES = Array.from({ length: 24 }, (_, hour) => summariesFrom(hour))

type Row = {
  domain: DomainName
  crawler: string | null
  category: string | null
  seen_at: Date | null
  day_pages: number
  day_hits: number
  week_pages: number
  week_hits: number
}

/** All domains of the account, by name. One query. The last 24 hours and 7 days, in whole hours. */
export async function readSummaries(
  db: Queryable,
  account: AccountId,
  nowMs: number,
): Promise<TrafficSummary[]> {
  const hour = new Date(nowMs).getUTCHours()
  const { rows } = await db.query<Row>({
    name: `traffic-summaries-${hour}`,
    text: SUMMARIES[hour]!,
    values: [account, utcDay(nowMs - 7 * DAY_MS), utcDay(nowMs - DAY_MS)],
  })
  return rows.map((row) => ({
    domain: row.domain,
    day: { pages: row.day_pages, hit_ratio: ratio(row.day_hits, row.day_pages) },
    week: { pages: row.week_pages, hit_ratio: ratio(row.week_hits, row.week_pages) },
    last_crawler:
      row.crawler === null || row.category === null || row.seen_at === null
        ? null
        : { name: row.crawler, category: row.category, at: row.seen_at.toISOString() },
  }))
}

function ratio(hits: number, pages: number): number | null {
  return pages === 0 ? null : Math.round((hits / pages) * 10_000) / 10_000
}
