import {
  type CHANGE_KINDS,
  type DomainOfMonth,
  monthAfter,
  monthOf,
  reportMonths,
} from '@prepaint/contract/api/reports.ts'
import { utcDay } from '@prepaint/contract/dates.ts'
import type { AccountId, DomainId, DomainName, Scope } from '@prepaint/contract/ids.ts'
import { monthSummary } from '@prepaint/contract/notifications/monthly-words.ts'
import { broadCategory } from '@prepaint/contract/settings/domain-settings.ts'
import { quantileMs, roundedMs, TIME_STEPS } from '@prepaint/contract/traffic/time-range.ts'
import { kindOfVerdict, NO_PAGES } from '@prepaint/contract/traffic/verdict-kind.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { DAYS_KEPT } from '../traffic/retention.ts'

const DAY_MS = 86_400_000
/** Domains that are read by one set of statements. */
const AT_ONCE = 100
const MOST_PAGES = 10
/** Of a domain and month. How many more there were is told beside them. */
const MOST_INCIDENTS = 500
const MOST_CRAWLERS = 200
/** Of months that were kept before it was told. */
const NONE_LEFT_OUT = { crawlers: 0, incidents: 0 }

/** What is kept of a domain and month. `pages`: requests for pages; `hits`: those of them that came from the cache. */
type KeptFigures = Omit<DomainOfMonth, 'domain'> & { pages: number; hits: number }

type MonthOfDomain = KeptFigures & { id: DomainId; domain: DomainName }

/** Reads what is told of a month, of each domain within the scope, those with most visits first. Months that were kept are not counted again. */
export async function readMonth(
  db: Queryable,
  scope: Scope,
  month: string,
  nowMs: number,
): Promise<MonthOfDomain[]> {
  const domains = await domainsOf(db, scope)
  const read: MonthOfDomain[] = []
  for (let at = 0; at < domains.length; at += AT_ONCE) {
    const some = domains.slice(at, at + AT_ONCE)
    const ids = some.map(({ id }) => id)
    const kept = await readKept(db, { ...scope, domains: ids }, month)
    const missing = ids.filter((id) => !kept.has(id))
    const counted = await countMonth(db, { ...scope, domains: missing }, month, nowMs)
    for (const domain of some) read.push({ ...domain, ...(kept.get(domain.id) ?? counted.get(domain.id)!) })
  }
  return read.toSorted((a, b) => b.visits - a.visits || (a.domain < b.domain ? -1 : 1))
}

/** The months of which an account has reports, the running one first. */
export async function monthsOf(db: Queryable, account: AccountId, nowMs: number): Promise<string[]> {
  const { rows } = await db.query<{ created_at: Date }>('select created_at from account where id = $1', [
    account,
  ])
  return reportMonths(rows[0]?.created_at.getTime() ?? nowMs, nowMs)
}

/** The sentence about all of them. */
export function summaryOf(month: string, domains: readonly MonthOfDomain[], nowMs: number): string {
  return monthSummary(month, domains, { isRunning: month === monthOf(nowMs) })
}

/** What the API answers of a domain. */
export function toDomainOfMonth({
  id: _id,
  pages: _pages,
  hits: _hits,
  ...shown
}: MonthOfDomain): DomainOfMonth {
  return shown
}

async function domainsOf(db: Queryable, { account, domains }: Scope) {
  const { rows } = await db.query<{ id: DomainId; domain: DomainName }>(
    `select id, custom_domain as domain from domain
      where account_id = $1 and ($2::integer[] is null or id = any ($2)) order by custom_domain`,
    [account, domains],
  )
  return rows
}

async function readKept(
  db: Queryable,
  { account, domains }: Scope,
  month: string,
): Promise<Map<DomainId, KeptFigures>> {
  const { rows } = await db.query<{ id: DomainId; figures: KeptFigures }>(
    `select m.domain_id as id, m.figures from domain_month m join domain d on d.id = m.domain_id
      where d.account_id = $1 and m.domain_id = any ($2) and m.month = $3`,
    [account, domains, `${month}-01`],
  )
  return new Map(
    rows.map(({ id, figures }) => [id, { ...figures, left_out: figures.left_out ?? NONE_LEFT_OUT }]),
  )
}

/** $1: the account, $2: domains, $3 and $4: the first day and the one after the last. */
const OWNED = 'domain_id = any (array(select id from domain where account_id = $1 and id = any ($2)))'
const IN_MONTH = `${OWNED} and day >= $3::date and day < $4::date`

const COUNTS = `
  select domain_id, (day - $3::date)::integer as day, category, crawler, verdict, sum(visits)::float8 as visits
    from traffic_by_day where ${IN_MONTH} and category <> 'people'
   group by grouping sets ((domain_id, day), (domain_id, category, crawler), (domain_id, verdict))`

const BEFORE = `
  select domain_id, sum(visits)::float8 as visits from traffic_by_day
   where ${IN_MONTH} and category <> 'people' group by domain_id`

const TIMES = `
  select domain_id, array[${Array.from({ length: TIME_STEPS }, (_, at) => `sum(times[${at + 1}])`).join()}]::float8[] as times
    from traffic_by_day where ${IN_MONTH} and category <> 'people' and verdict <> all ($5) group by domain_id`

const PATHS = `
  select domain_id, path, visits from (
    select domain_id, path, sum(visits)::float8 as visits,
           row_number() over (partition by domain_id order by sum(visits) desc, path) as rank
      from traffic_path where ${IN_MONTH} and not is_failing and path <> '' group by domain_id, path) p
   where rank <= ${MOST_PAGES} order by domain_id, rank`

const INCIDENTS = `
  select domain_id, kind, summary, iso_time(since) as since, iso_time(resolved_at) as resolved_at, whole from (
    select *, row_number() over (partition by domain_id order by since desc, id desc) as rank,
           (count(*) over (partition by domain_id))::integer as whole
      from incident
     where account_id = $1 and ${OWNED} and since < $4::timestamp at time zone 'UTC'
       and (resolved_at is null or resolved_at >= $3::timestamp at time zone 'UTC')) i
   where rank <= ${MOST_INCIDENTS} order by domain_id, rank`

const CHANGES = `
  with noted as (
    select d.id as domain_id, e.at, case e.action
             when 'domain.added' then 'added' when 'domain.changed' then 'settings' when 'template.applied' then 'settings'
             when 'rules.changed' then 'rules' when 'redirects.changed' then 'redirects'
             when 'robots.changed' then 'robots' else 'certificate' end as what
      from audit_entry e join domain d on d.custom_domain = e.domain and d.account_id = $1 and d.id = any ($2)
     where e.account_id = $1 and e.at >= d.created_at - interval '1 minute'
       and e.at >= $3::timestamp at time zone 'UTC' and e.at < $4::timestamp at time zone 'UTC'
       and e.action in ('domain.added', 'domain.changed', 'template.applied', 'rules.changed', 'redirects.changed',
                        'robots.changed', 'certificate.uploaded', 'certificate.removed')
    union all
    select domain_id, created_at, case type when 'domain.live' then 'live' when 'deploy.detected' then 'deploy' else 'certificate' end
      from event
     where account_id = $1 and ${OWNED} and type in ('domain.live', 'deploy.detected', 'domain.certificate_issued')
       and created_at >= $3::timestamp at time zone 'UTC' and created_at < $4::timestamp at time zone 'UTC')
  select domain_id, what, iso_time(max(at)) as at from noted
   group by domain_id, what, (at at time zone 'UTC')::date order by domain_id, max(at) desc, what`

type CountRow = {
  domain_id: DomainId
  day: number | null
  category: string | null
  crawler: string | null
  verdict: string | null
  visits: number
}

/** Adds up what the counts of days, the incidents and the changes tell of a month. */
export async function countMonth(
  db: Queryable,
  { account, domains }: Scope,
  month: string,
  nowMs: number,
): Promise<Map<DomainId, KeptFigures>> {
  const ids = domains ?? []
  const first = `${month}-01`
  const after = `${monthAfter(month, 1)}-01`
  const monthBefore = `${monthAfter(month, -1)}-01`
  const days = daysOf(first, after, nowMs)
  const found = new Map(ids.map((id) => [id, nothing(days)]))
  if (ids.length === 0) return found
  const values = [account, ids, first, after]

  const counts = await db.query<CountRow>({ name: 'month-counts', text: COUNTS, values })
  for (const row of counts.rows) addCount(found.get(row.domain_id)!, row)
  // A month of which days have expired would make this one look like a success.
  if (Date.parse(monthBefore) >= Date.parse(utcDay(nowMs)) - DAYS_KEPT * DAY_MS) {
    const before = await db.query<{ domain_id: DomainId; visits: number }>({
      name: 'month-before',
      text: BEFORE,
      values: [account, ids, monthBefore, first],
    })
    for (const row of before.rows) found.get(row.domain_id)!.before = row.visits
  }
  const times = await db.query<{ domain_id: DomainId; times: (number | null)[] }>({
    name: 'month-times',
    text: TIMES,
    values: [...values, NO_PAGES],
  })
  for (const row of times.rows) {
    const steps = row.times.map((visits) => visits ?? 0)
    found.get(row.domain_id)!.response_ms = roundedMs(quantileMs(steps, 0.5))
  }
  const paths = await db.query<{ domain_id: DomainId; path: string; visits: number }>(PATHS, values)
  for (const { domain_id: id, ...page } of paths.rows) found.get(id)!.top_pages.push(page)
  type IncidentRow = { domain_id: DomainId; whole: number } & KeptFigures['incidents'][number]
  const incidents = await db.query<IncidentRow>(INCIDENTS, values)
  for (const { domain_id: id, whole, ...incident } of incidents.rows) {
    const figures = found.get(id)!
    figures.incidents.push(incident)
    figures.left_out.incidents = Math.max(0, whole - MOST_INCIDENTS)
  }
  const changes = await db.query<{ domain_id: DomainId; what: (typeof CHANGE_KINDS)[number]; at: string }>(
    CHANGES,
    values,
  )
  for (const { domain_id: id, ...change } of changes.rows) found.get(id)!.changes.push(change)

  for (const figures of found.values()) complete(figures)
  return found
}

/** How many days of the month there are, of the running one until today. */
function daysOf(first: string, after: string, nowMs: number): number {
  const endMs = Math.min(Date.parse(after), Date.parse(utcDay(nowMs)) + DAY_MS)
  return Math.max(0, Math.round((endMs - Date.parse(first)) / DAY_MS))
}

function nothing(days: number): KeptFigures {
  return {
    visits: 0,
    before: 0,
    days: new Array<number>(days).fill(0),
    by_crawler: [],
    hit_ratio: null,
    rendered: 0,
    failed: 0,
    response_ms: null,
    incidents: [],
    top_pages: [],
    changes: [],
    left_out: { crawlers: 0, incidents: 0 },
    pages: 0,
    hits: 0,
  }
}

function addCount(figures: KeptFigures, { day, category, crawler, verdict, visits }: CountRow): void {
  if (day !== null) {
    // The clock of a node may be ahead of this one's.
    if (day >= figures.days.length) return
    figures.days[day] = visits
    return
  }
  if (category !== null && crawler !== null) {
    figures.by_crawler.push({ crawler, category: broadCategory(category), visits })
    return
  }
  figures.visits += visits
  switch (kindOfVerdict(verdict!)) {
    case 'hit':
    case 'stale':
      figures.hits += visits
      figures.pages += visits
      return
    case 'rendered':
      figures.rendered += visits
      figures.pages += visits
      return
    case 'failed':
      figures.failed += visits
      figures.pages += visits
      return
    default:
  }
}

function complete(figures: KeptFigures): void {
  const { pages, hits } = figures
  if (pages > 0) figures.hit_ratio = Math.round((hits / pages) * 10_000) / 10_000
  const crawlers = joined(figures.by_crawler).toSorted(
    (a, b) => b.visits - a.visits || (a.crawler < b.crawler ? -1 : 1),
  )
  figures.by_crawler = crawlers.slice(0, MOST_CRAWLERS)
  figures.left_out.crawlers = crawlers.length - figures.by_crawler.length
}

/** Several purposes of a crawler's category are one category. */
function joined(crawlers: KeptFigures['by_crawler']): KeptFigures['by_crawler'] {
  const known = new Map<string, KeptFigures['by_crawler'][number]>()
  for (const each of crawlers) {
    const key = JSON.stringify([each.category, each.crawler])
    const same = known.get(key)
    if (same === undefined) known.set(key, { ...each })
    else same.visits += each.visits
  }
  return [...known.values()]
}

/** Whether there is nothing to tell. Such months are not kept. */
export function isEmpty({ visits, before, incidents, changes, top_pages: pages }: KeptFigures): boolean {
  return visits === 0 && before === 0 && incidents.length + changes.length + pages.length === 0
}
