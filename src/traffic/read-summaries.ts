import type { Queryable } from '../db/transaction.ts'
import type { AccountId, DomainName } from '../ids.ts'
import { NO_PAGES } from './verdict-kind.ts'

/** What a list of domains says of each: requests for pages of crawlers, how many of them were hits, who came last. */
export type TrafficSummary = {
  domain: DomainName
  day: { pages: number; hit_ratio: number | null }
  week: { pages: number; hit_ratio: number | null }
  last_crawler: { name: string; category: string; at: string } | null
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

const SUMMARIES = `
  select d.custom_domain as domain, l.crawler, l.category, l.seen_at, s.*
    from domain d
    left join traffic_last l on l.domain_id = d.id
   cross join lateral (
     select coalesce(sum(t.visits) filter (where t.hour >= $3), 0)::float8 as day_pages,
            coalesce(sum(t.visits) filter (where t.hour >= $3 and t.verdict in ('hit', 'stale')), 0)::float8 as day_hits,
            coalesce(sum(t.visits), 0)::float8 as week_pages,
            coalesce(sum(t.visits) filter (where t.verdict in ('hit', 'stale')), 0)::float8 as week_hits
       from traffic_hour t
      where t.domain_id = d.id and t.hour >= $2 and t.category <> 'people' and t.verdict <> all ($4)) s
   where d.account_id = $1
   order by d.custom_domain`

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
  const since = (ms: number) => new Date(Math.floor((nowMs - ms) / HOUR_MS) * HOUR_MS)
  const { rows } = await db.query<Row>({
    name: 'traffic-summaries',
    text: SUMMARIES,
    values: [account, since(7 * DAY_MS), since(DAY_MS), NO_PAGES],
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
