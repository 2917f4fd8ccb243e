import type { PortfolioDomain, portfolioAnswer } from '@prepaint/contract/api/portfolio.ts'
import type { PROOF_STATES } from '@prepaint/contract/api/proof.ts'
import { tagKey } from '@prepaint/contract/api/tags.ts'
import { utcDay, utcMonth } from '@prepaint/contract/dates.ts'
import type { Scope } from '@prepaint/contract/ids.ts'
import { INCIDENT_KINDS, type IncidentKind, isTroubleKind } from '@prepaint/contract/notifications/kinds.ts'
import type {
  PORTFOLIO_ORDERS,
  PORTFOLIO_STATES,
  PortfolioSort,
} from '@prepaint/contract/portfolio-orders.ts'
import { broadCategory } from '@prepaint/contract/settings/domain-settings.ts'
import type { Plan, PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { z } from 'zod'
import { FORECAST_DAYS, historyStart, months, type RenderRow } from './traffic/read-renders.ts'

type State = (typeof PORTFOLIO_STATES)[number]
type Reason = PortfolioDomain['reasons'][number]

const DAY_MS = 86_400_000
const DAYS = 7
const CERTIFICATE_ENDS_MS = 14 * DAY_MS

const daysBack = Array.from({ length: DAYS }, (_, at) => DAYS - 1 - at)
const visitsOfDays = daysBack.map(
  (back) => `coalesce(sum(v.visits) filter (where v.day = $3::date - ${back}), 0)`,
)
const ofWeek = (column: string) => `coalesce(sum(v.${column}) filter (where v.day > $3::date - ${DAYS}), 0)`

const rendersOfDays = Array.from(
  { length: FORECAST_DAYS },
  (_, at) => `coalesce(sum(r.renders) filter (where r.day = $3::date - ${FORECAST_DAYS - at}), 0)`,
)

// All that the list shows, in one statement: some 50 ms for 1,000 domains. Sums of days stand in `traffic_folded_day`; the minutes that are not added up
// yet are read once for all domains.
const PORTFOLIO = `
  with asked as materialized (
    select d.id, d.custom_domain, d.is_active, coalesce(g.tags, '{}') as tags, d.created_at,
           case d.settings->>'way' when 'middleware' then 'middleware' else 'dns' end as way
      from domain d left join domain_tags g on g.domain_id = d.id
     where d.account_id = $1 and ($2::integer[] is null or d.id = any ($2))
       and ($4::text is null or strpos(d.custom_domain, $4) > 0 or strpos(lower(array_to_string(g.tags, chr(10))), $4) > 0)
       and ($5::text is null or exists (select from unnest(g.tags) tag where lower(tag) = $5))
       and ($6::text is null or (case d.settings->>'way' when 'middleware' then 'middleware' else 'dns' end) = $6)
  ), newest as materialized (
    select m.domain_id, (m.minute at time zone 'UTC')::date as day, sum(m.visits) as visits, sum(m.pages) as pages,
           sum(m.hits) as hits, sum(m.failed) as failed
      from traffic_minute m
     where m.minute >= ($3::date - ${2 * DAYS - 1})::timestamp at time zone 'UTC' and m.domain_id = any (array(select id from asked))
     group by 1, 2
  ), visited as materialized (
    select v.domain_id, array[${visitsOfDays.join(', ')}] as days, ${ofWeek('pages')} as pages, ${ofWeek('hits')} as hits,
           ${ofWeek('failed')} as failed,
           coalesce(sum(v.visits) filter (where v.day <= $3::date - ${DAYS}), 0) as before
      from (select f.domain_id, f.day, f.visits::float8, f.pages::float8, f.hits::float8, f.failed::float8 from traffic_folded_day f
             where f.domain_id = any (array(select id from asked)) and f.day > $3::date - ${2 * DAYS} and f.day <= $3::date
            union all
            select domain_id, day, visits::float8, pages::float8, hits::float8, failed::float8 from newest) v
     group by v.domain_id
  ), rendered as materialized (
    select r.domain_id, array[${rendersOfDays.join(', ')}]::float8[] as days,
           sum(r.renders) filter (where r.day < $8::date + interval '1 month')::float8 as of_month
      from render_day r
     where r.domain_id = any (array(select id from asked)) and r.day >= $3::date - ${FORECAST_DAYS} group by r.domain_id
  ), wrong as materialized (
    select i.domain_id, json_agg(json_build_object('kind', i.kind, 'text', i.summary, 'since', i.since,
                                                   'url', i.evidence ->> 'url', 'level', i.evidence -> 'level',
                                                   'acknowledged_by', t.acknowledged_by)) as incidents
      from incident i left join incident_acknowledged t on t.incident_id = i.id
     where i.account_id = $1 and i.state = 'open' and i.domain_id = any (array(select id from asked))
     group by i.domain_id
  )
  select a.id, a.custom_domain as domain, a.is_active, a.tags, a.way, a.created_at, array_to_json(v.days) as days, v.before, v.pages, v.hits, v.failed,
         coalesce(c.renders, 0) as used, coalesce(r.days, '{}') as "renderDays",
         greatest(0, b.renders - coalesce(r.of_month, 0)) as "rendersBefore", l.crawler, l.category, l.seen_at as "seenAt",
         case when a.way = 'dns' then t.not_after end as "certificateEndsAt", coalesce(w.incidents, '[]') as incidents,
         o.state as "proofState", o.served as "isServed", o.deadline as "proofDeadline", o.missed_at as "proofMissedAt",
         n.state as "dnsState", n.addresses as "dnsAddresses",
         -- Requests of people count where the DNS leads here, and no front has asked for pages.
         case a.way when 'middleware' then middleware.domain_id is not null
                    else proxy.domain_id is not null or (h.live_at is not null and middleware.domain_id is null) end as "isSeen"
    from asked a
    left join visited v on v.domain_id = a.id
    left join rendered r on r.domain_id = a.id
    left join wrong w on w.domain_id = a.id
    left join render_count c on c.domain_id = a.id and c.month = $7
    left join render_count b on b.domain_id = a.id and b.month = $8
    left join traffic_last l on l.domain_id = a.id
    left join certificate t on t.domain_id = a.id
    left join dns_look n on n.domain_id = a.id
    left join domain_proof o on o.domain_id = a.id
    left join health h on h.domain_id = a.id
    left join integration_way proxy on proxy.domain_id = a.id and proxy.way = 'proxy'
    left join integration_way middleware on middleware.domain_id = a.id and middleware.way = 'middleware'`

type Row = Omit<RenderRow, 'days'> & {
  id: number
  is_active: boolean
  tags: string[]
  way: 'dns' | 'middleware'
  /** Null, as the figures below: no visits. */
  days: number[] | null
  before: number | null
  pages: number | null
  hits: number | null
  failed: number | null
  /** Renders of each day of the forecast; empty: none. */
  renderDays: number[]
  /** Renders of the month in which these days begin, before them. Null: none. */
  rendersBefore: number | null
  crawler: string | null
  category: string | null
  seenAt: Date | null
  certificateEndsAt: Date | null
  incidents: {
    kind: IncidentKind
    text: string
    since: string
    url: string
    level: number | null
    acknowledged_by: string | null
  }[]
  /** Null: the proof was never asked for. */
  proofState: (typeof PROOF_STATES)[number] | null
  isServed: boolean | null
  proofDeadline: Date | null
  proofMissedAt: Date | null
  dnsState: string | null
  dnsAddresses: string[] | null
  isSeen: boolean
}

/** What the list is limited to. `search` is part of a name or tag. */
export type PortfolioFilter = {
  search?: string | undefined
  tag?: string | undefined
  way?: 'dns' | 'middleware' | undefined
}

export type PortfolioView = { plan: Plan; plans: PlanCatalogue; publicUrl: string | null; nowMs: number }

/** Reads all domains of the scope that match, in no order, in one statement. */
export async function readPortfolio(
  db: Queryable,
  { account, domains }: Scope,
  { search, tag, way }: PortfolioFilter,
  view: PortfolioView,
): Promise<PortfolioDomain[]> {
  const { nowMs } = view
  const { rows } = await db.query<Row>({
    // Without a name: the plan that PostgreSQL keeps for all values of a named statement takes three times as long.
    text: PORTFOLIO,
    values: [
      account, // $1
      domains, // $2
      utcDay(nowMs), // $3
      search === undefined ? null : tagKey(search.trim()), // $4
      tag === undefined ? null : tagKey(tag.trim()), // $5
      way ?? null, // $6
      utcMonth(nowMs), // $7
      historyStart(nowMs), // $8
    ],
  })
  const monthOf = months(view.plan.monthly_render_limit, nowMs, view.plans)
  return rows.map((row) => {
    const { used, limit, forecast } = monthOf({ ...row, days: rendersByDay(row, nowMs) })
    const reasons = reasonsOf(row, view)
    const days = row.days ?? new Array<number>(DAYS).fill(0)
    return {
      id: row.id,
      custom_domain: row.domain,
      is_active: row.is_active,
      way: row.way,
      tags: row.tags,
      state: stateOf(row, reasons),
      reasons: reasons.map(({ isTrouble: _, ...reason }) => reason),
      visits: { days, total: days.reduce((sum, visits) => sum + visits, 0), before: row.before ?? 0 },
      hit_ratio: share(row.hits, row.pages),
      failed_ratio: share(row.failed, row.pages),
      renders: { used, limit, forecast },
      last_crawler: lastCrawlerOf(row),
      certificate_ends_at: row.certificateEndsAt?.toISOString() ?? null,
      open_incidents: row.incidents.length,
    }
  })
}

/** What was rendered before the days of the forecast counts as rendered on the day before them: months are added up. */
function rendersByDay({ rendersBefore, renderDays }: Row, nowMs: number): Record<string, number> {
  const counts = [rendersBefore ?? 0, ...renderDays]
  return Object.fromEntries(
    counts.map((count, at) => [utcDay(nowMs - (FORECAST_DAYS + 1 - at) * DAY_MS), count]),
  )
}

type JudgedReason = Reason & { isTrouble: boolean }

/** The worst first, and of as bad ones the kind that says most. */
function reasonsOf(row: Row, { publicUrl, nowMs }: PortfolioView): JudgedReason[] {
  const url = `${publicUrl ?? ''}/domains/${row.domain}`
  const ofIncidents = row.incidents
    .map(({ level, since, ...incident }) => ({
      ...incident,
      since: new Date(since).toISOString(),
      isTrouble: isTroubleKind(incident.kind, level),
    }))
    .toSorted(
      (a, b) =>
        Number(b.isTrouble) - Number(a.isTrouble) ||
        INCIDENT_KINDS.indexOf(a.kind) - INCIDENT_KINDS.indexOf(b.kind),
    )
  const reasons: JudgedReason[] = [...ofIncidents]
  const endsMs = row.certificateEndsAt?.getTime() ?? Number.POSITIVE_INFINITY
  if (endsMs - nowMs <= CERTIFICATE_ENDS_MS) {
    reasons.push({
      kind: 'certificate_ending',
      text:
        endsMs <= nowMs ? 'The certificate has expired.' : `The certificate ends ${inDays(endsMs - nowMs)}.`,
      since: new Date(endsMs - CERTIFICATE_ENDS_MS).toISOString(),
      url: `${url}/settings`,
      isTrouble: false,
    })
  }
  if (row.proofState === 'lost') {
    reasons.push({
      kind: 'proof_lost',
      text: 'The proof that the name is yours is gone.',
      since: (row.proofMissedAt ?? row.created_at).toISOString(),
      url,
      isTrouble: false,
    })
  }
  if (!row.isSeen || row.isServed === false) {
    const since = row.created_at.toISOString()
    reasons.push({ kind: 'not_set_up', text: setupText(row), since, url, isTrouble: false })
  }
  return reasons
}

function inDays(ms: number): string {
  const days = Math.floor(ms / DAY_MS)
  if (days === 0) return 'today'
  return days === 1 ? 'tomorrow' : `in ${days} days`
}

function setupText({ way, proofState, isServed, proofDeadline, dnsState, dnsAddresses }: Row): string {
  if (isServed === false) return 'Not served until you have proven that the name is yours.'
  if (proofState === 'asked' && proofDeadline !== null) {
    return `Prove by ${proofDeadline.toISOString().slice(0, 10)} that the name is yours.`
  }
  if (way === 'middleware') return 'Waiting for the first request from the middleware.'
  if (dnsState === 'no-record') return 'The name has no DNS record yet.'
  if (dnsState === 'reaches-us') return 'The DNS points here. Waiting for the first request.'
  if (dnsState !== 'elsewhere') return 'Waiting for the first request.'
  const [first] = dnsAddresses ?? []
  return first === undefined ? 'The DNS points elsewhere.' : `The DNS points to ${first}.`
}

function stateOf({ is_active: isActive }: Row, reasons: readonly JudgedReason[]): State {
  if (reasons.some(({ isTrouble }) => isTrouble)) return 'trouble'
  if (reasons.some(({ kind }) => kind !== 'not_set_up')) return 'warning'
  if (reasons.length > 0) return 'setup'
  return isActive ? 'ok' : 'paused'
}

function share(part: number | null, all: number | null): number | null {
  if (part === null || all === null || all === 0) return null
  return Math.round((part / all) * 10_000) / 10_000
}

function lastCrawlerOf({ crawler, category, seenAt }: Row): PortfolioDomain['last_crawler'] {
  if (crawler === null || category === null || seenAt === null) return null
  return { name: crawler, category: broadCategory(category), at: seenAt.toISOString() }
}

type Order = (typeof PORTFOLIO_ORDERS)[number]

/** As the screen groups them: the fine ones before those that rest. */
const ATTENTION: readonly State[] = ['trouble', 'warning', 'setup', 'ok', 'paused']

/** By what an order compares, smallest first. Unknown values come last. */
const KEYS: Record<Order, (domain: PortfolioDomain) => (number | string)[]> = {
  attention: ({ state, visits, custom_domain }) => [ATTENTION.indexOf(state), -visits.total, custom_domain],
  name: ({ custom_domain }) => [custom_domain],
  visits: ({ visits, custom_domain }) => [-visits.total, custom_domain],
  hit_ratio: ({ hit_ratio, custom_domain }) => [hit_ratio ?? 2, custom_domain],
  renders: ({ renders, custom_domain }) => [-partUsed(renders), custom_domain],
  last_crawler: ({ last_crawler, custom_domain }) => [
    last_crawler === null ? 1 : -Date.parse(last_crawler.at),
    custom_domain,
  ],
}

function partUsed({ used, limit }: PortfolioDomain['renders']): number {
  return limit === 0 ? 0 : used / limit
}

type Key = readonly (number | string)[]

/** The place after which a part of the list goes on. */
export type PortfolioPlace = { sort: PortfolioSort; key: Key }

/** Sorts, counts by state, and takes the part of the list after `after`. */
export function partOfPortfolio(
  domains: readonly PortfolioDomain[],
  asked: { state?: State | undefined; sort: PortfolioSort; limit: number; after: PortfolioPlace | null },
): Omit<z.infer<typeof portfolioAnswer>, 'next'> & { next: PortfolioPlace | null } {
  const { state, sort, limit, after } = asked
  const keyOf = KEYS[sort.replace('-', '') as Order]
  const turn = sort.startsWith('-') ? -1 : 1
  const listed = domains
    .filter((domain) => state === undefined || domain.state === state)
    .map((domain) => ({ domain, key: keyOf(domain) }))
    .filter(({ key }) => after === null || turn * compared(key, after.key) > 0)
    .toSorted((a, b) => turn * compared(a.key, b.key))
  const part = listed.slice(0, limit)
  return {
    domains: part.map(({ domain }) => domain),
    counts: countsOf(domains),
    next: listed.length > limit ? { sort, key: part.at(-1)!.key } : null,
  }
}

/** Whether a place was made for this order, or one like it. */
export function isPlaceOf(sort: PortfolioSort, key: Key): boolean {
  const length = sort.endsWith('attention') ? 3 : 2
  const expected = sort.endsWith('name') ? 1 : length
  return (
    key.length === expected &&
    key.every((part, at) => typeof part === (at === key.length - 1 ? 'string' : 'number'))
  )
}

function compared(a: Key, b: Key): number {
  for (const [at, left] of a.entries()) {
    const right = b[at]!
    if (left < right) return -1
    if (left > right) return 1
  }
  return 0
}

function countsOf(domains: readonly PortfolioDomain[]): z.infer<typeof portfolioAnswer>['counts'] {
  const counts = { all: domains.length, trouble: 0, warning: 0, setup: 0, paused: 0, ok: 0 }
  for (const { state } of domains) counts[state] += 1
  return counts
}
