import { utcDay } from '@prepaint/contract/dates.ts'
import type { DomainId, DomainName, PagePath, Scope } from '@prepaint/contract/ids.ts'
import type { Form } from '@prepaint/contract/outcome/form.ts'
import { broadCategory } from '@prepaint/contract/settings/domain-settings.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

export type TrafficSummary = {
  domain: DomainName
  day: { pages: number; hit_ratio: number | null }
  week: { pages: number; hit_ratio: number | null }
  last_crawler: { name: string; category: string; at: string } | null
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Days with their hours, because hours have many lines. Array slices took twice as long. */
const summariesFrom = (hour: number) => {
  const rest = (hours: string) =>
    Array.from({ length: 24 - hour }, (_, at) => `t.${hours}[${hour + at + 1}]`).join(' + ')
  const since = (day: string, whole: string) =>
    `coalesce(sum(case when t.day > ${day} then t.${whole} when t.day = ${day} then ${rest(`hourly_${whole}`)} end), 0)`
  const withNewest = (name: string) => `(s.${name} + coalesce(n.${name}, 0))::float8 as ${name}`
  return `
  with newest as materialized (
    select domain_id, sum(pages) filter (where minute >= $5) as day_pages, sum(hits) filter (where minute >= $5) as day_hits,
           sum(pages) as week_pages, sum(hits) as week_hits
      from traffic_minute
     where minute >= $4 and domain_id = any (array(select id from domain where account_id = $1 and ($6::integer[] is null or id = any ($6))))
     group by domain_id)
  select d.custom_domain as domain, l.crawler, l.category, l.seen_at, ${withNewest('day_pages')}, ${withNewest('day_hits')},
         ${withNewest('week_pages')}, ${withNewest('week_hits')}
    from domain d
    left join traffic_last l on l.domain_id = d.id
    left join newest n on n.domain_id = d.id
   cross join lateral (
     select ${since('$3::date', 'pages')} as day_pages, ${since('$3::date', 'hits')} as day_hits,
            ${since('$2::date', 'pages')} as week_pages, ${since('$2::date', 'hits')} as week_hits
       from traffic_folded_day t
      where t.domain_id = d.id and t.day >= $2::date) s
   where d.account_id = $1 and ($6::integer[] is null or d.id = any ($6))
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

/** Reads the domains by name, with their last 24 hours and 7 days in whole hours, in one query. */
export async function readSummaries(
  db: Queryable,
  { account, domains }: Scope,
  nowMs: number,
): Promise<TrafficSummary[]> {
  const hour = new Date(nowMs).getUTCHours()
  const hourMs = nowMs - (nowMs % HOUR_MS)
  const weekMs = hourMs - 7 * DAY_MS
  const dayMs = hourMs - DAY_MS
  const { rows } = await db.query<Row>({
    name: `traffic-summaries-${hour}`,
    text: SUMMARIES[hour]!,
    values: [
      account,
      utcDay(weekMs),
      utcDay(dayMs),
      new Date(weekMs), // $4
      new Date(dayMs), // $5
      domains, // $6
    ],
  })
  return rows.map((row) => ({
    domain: row.domain,
    day: { pages: row.day_pages, hit_ratio: ratio(row.day_hits, row.day_pages) },
    week: { pages: row.week_pages, hit_ratio: ratio(row.week_hits, row.week_pages) },
    last_crawler:
      row.crawler === null || row.category === null || row.seen_at === null
        ? null
        : { name: row.crawler, category: broadCategory(row.category), at: row.seen_at.toISOString() },
  }))
}

function ratio(hits: number, pages: number): number | null {
  return pages === 0 ? null : Math.round((hits / pages) * 10_000) / 10_000
}

/** Counts requests of the last seven days and today. Only the most requested paths of a day are counted. */
export async function readFormRequests(
  db: Queryable,
  domain: DomainId,
  path: PagePath,
  nowMs: number,
): Promise<Record<Form, number>> {
  const { rows } = await db.query<Record<Form, number>>({
    name: 'traffic-forms-of-path',
    text: `select coalesce(sum(visits - markdown - cards), 0)::float8 as html,
                  coalesce(sum(markdown), 0)::float8 as markdown, coalesce(sum(cards), 0)::float8 as card
             from traffic_path where domain_id = $1 and path = $2 and day >= $3 and not is_failing`,
    values: [domain, path, utcDay(nowMs - 7 * DAY_MS)],
  })
  return rows[0]!
}

type PathVisits = { path: string; visits: number; verdict: string; status: number }

/** `others` counts visits to paths that are no longer counted separately. */
export type PathsView = { top: PathVisits[]; failing: PathVisits[]; others: { top: number; failing: number } }

const PATHS = `
  with found as (
    select is_failing, path, sum(visits)::float8 as visits,
           (array_agg(verdict order by day desc))[1] as verdict, (array_agg(status order by day desc))[1] as status
      from traffic_path
     where domain_id = any (array(select id from domain where account_id = $1 and ($2::integer[] is null or id = any ($2))))
       and day >= $3 and day <= $4
     group by is_failing, path)
  select is_failing, path, visits, verdict, status from (
    select *, row_number() over (partition by is_failing, path = '' order by visits desc, path) as rank from found) f
   where rank <= $5
   order by is_failing, visits desc, path`

/** Reads the paths with the most crawler visits and with the most failures, at most `limit` of each. */
export async function readPaths(
  db: Queryable,
  owner: Scope,
  days: { from: string; to: string },
  limit: number,
): Promise<PathsView> {
  const { rows } = await db.query<PathVisits & { is_failing: boolean }>({
    name: 'traffic-paths',
    text: PATHS,
    values: [owner.account, owner.domains, days.from, days.to, limit],
  })
  const listed = (failing: boolean) =>
    rows
      .filter(({ is_failing, path }) => is_failing === failing && path !== '')
      .map(({ path, visits, verdict, status }) => ({ path, visits, verdict, status }))
  const others = (failing: boolean) =>
    rows.find(({ is_failing, path }) => is_failing === failing && path === '')?.visits ?? 0
  return {
    top: listed(false),
    failing: listed(true),
    others: { top: others(false), failing: others(true) },
  }
}

/** Returns the paths that crawlers asked for most in the last week, or `/` if they asked for none. */
export async function mostAskedPaths(
  db: Queryable,
  owner: Scope,
  nowMs: number,
  limit: number,
): Promise<PagePath[]> {
  const days = { from: utcDay(nowMs - 7 * DAY_MS), to: utcDay(nowMs) }
  const { top } = await readPaths(db, owner, days, limit)
  const paths = top.length === 0 ? ['/'] : top.map(({ path }) => path)
  return paths as PagePath[]
}
