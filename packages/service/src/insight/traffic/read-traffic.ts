import type { Scope } from '@prepaint/contract/ids.ts'
import { FORMS, type Form } from '@prepaint/contract/outcome/form.ts'
import { PAGE_VARIANTS, type PageVariant } from '@prepaint/contract/page/page-id.ts'
import { broadCategory, purposeOf } from '@prepaint/contract/settings/domain-settings.ts'
import {
  quantileMs,
  roundedMs,
  startsOf,
  TIME_STEPS,
  type TimeRange,
} from '@prepaint/contract/traffic/time-range.ts'
import {
  hitRatio,
  kindOfVerdict,
  NO_PAGES,
  noVisits,
  type VerdictKind,
  type VisitsByKind,
} from '@prepaint/contract/traffic/verdict-kind.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { PEOPLE } from './visit-counts.ts'

type Series = { visits: number[]; total: number }

/** Lists have one value for each of `times`. */
export type TrafficView = {
  times: string[]
  /** Counts crawlers only, except `people`. `pages` counts requests for pages, which the hit ratio is of. */
  totals: VisitsByKind & {
    visits: number
    pages: number
    people: number
    hit_ratio: number | null
    p50_ms: number | null
    p95_ms: number | null
  }
  categories: (Series & { name: string })[]
  /** Visits of AI crawlers whose purpose is known. */
  purposes: (Series & { name: string })[]
  crawlers: (Series & { name: string; category: string; purpose: string | null })[]
  verdicts: (Series & { name: string; kind: VerdictKind; p50_ms: number | null; p95_ms: number | null })[]
  /** Responses to crawlers. `none` counts clients that disconnected before. */
  statuses: (Series & { name: '2xx' | '3xx' | '4xx' | '5xx' | 'none' })[]
  /** Visits to pages that Prepaint served, by form. */
  forms: (Series & { name: Form })[]
  variants: (Series & { name: PageVariant })[]
  hit_ratio: (number | null)[]
  p50_ms: (number | null)[]
  p95_ms: (number | null)[]
  people: Series & { p50_ms: number | null; p95_ms: number | null }
}

const SOURCE = {
  hour: {
    table: 'traffic_by_hour',
    at: 'hour',
    within: 'hour >= $3::timestamptz and hour < $4::timestamptz',
  },
  day: {
    table: 'traffic_by_day',
    at: `day::timestamp at time zone 'UTC'`,
    within: `day >= ($3::timestamptz at time zone 'UTC')::date and day < ($4::timestamptz at time zone 'UTC')::date`,
  },
} as const

// Always filtered by account in SQL.
const visitsBy = (step: TimeRange['step']) => `
  with t as (
    select ${SOURCE[step].at} as at, category, crawler, verdict, visits, status_3xx, status_4xx, status_5xx,
           unanswered, markdown, cards, mobile, times, category <> '${PEOPLE}' and verdict <> all ($5) as is_page
      from ${SOURCE[step].table}
     where domain_id = any (array(select id from domain where account_id = $1 and ($2::integer[] is null or id = any ($2))))
       and ${SOURCE[step].within})`

const countsBy = (step: TimeRange['step']) => `${visitsBy(step)}
  select at, category, crawler, verdict, sum(visits)::float8 as visits, sum(status_3xx)::float8 as status_3xx,
         sum(status_4xx)::float8 as status_4xx, sum(status_5xx)::float8 as status_5xx,
         sum(unanswered)::float8 as unanswered, sum(markdown)::float8 as markdown, sum(cards)::float8 as cards,
         sum(mobile)::float8 as mobile
    from t
   group by grouping sets ((at, category, crawler), (at, category, verdict))`

const timesBy = (step: TimeRange['step']) => `${visitsBy(step)}
  select at, is_page, verdict,
         array[${Array.from({ length: TIME_STEPS }, (_, at) => `sum(times[${at + 1}])`).join()}]::float8[] as times
    from t
   group by grouping sets ((at, is_page), (verdict))`

const COUNTS = { hour: countsBy('hour'), day: countsBy('day') }
const TIMES = { hour: timesBy('hour'), day: timesBy('day') }

type CountRow = {
  at: Date
  category: string
  crawler: string | null
  verdict: string | null
  visits: number
  status_3xx: number
  status_4xx: number
  status_5xx: number
  unanswered: number
  markdown: number
  cards: number
  mobile: number
}

type TimesRow = { at: Date | null; is_page: boolean | null; verdict: string | null; times: (number | null)[] }

export async function readTraffic(
  db: Queryable,
  { account, domains }: Scope,
  range: TimeRange,
): Promise<TrafficView> {
  const { step } = range
  const values = [account, domains, new Date(range.fromMs), new Date(range.toMs), NO_PAGES]
  const counts = await db.query<CountRow>({ name: `traffic-counts-${step}`, text: COUNTS[step], values })
  const times = await db.query<TimesRow>({ name: `traffic-times-${step}`, text: TIMES[step], values })
  return shape(startsOf(range), counts.rows, times.rows)
}

function shape(times: string[], counts: readonly CountRow[], timed: readonly TimesRow[]): TrafficView {
  const places = new Map(times.map((time, at) => [Date.parse(time), at]))
  const placeOf = (at: Date) => places.get(at.getTime())!
  const none = (): Series => ({ visits: times.map(() => 0), total: 0 })
  const add = (series: Series, at: Date, visits: number) => {
    series.visits[placeOf(at)]! += visits
    series.total += visits
  }

  const people = none()
  const categories = new Map<string, Series & { name: string }>()
  const purposes = new Map<string, Series & { name: string }>()
  const crawlers = new Map<string, Series & { name: string; category: string; purpose: string | null }>()
  const verdicts = new Map<string, Series & { name: string; kind: VerdictKind }>()
  const statuses = (['2xx', '3xx', '4xx', '5xx', 'none'] as const).map((name) => ({ name, ...none() }))
  const forms = FORMS.map((name) => ({ name, ...none() }))
  const variants = PAGE_VARIANTS.map((name) => ({ name, ...none() }))
  const byStep = times.map(noVisits)
  const kinds = noVisits()
  for (const { at, category, crawler, verdict, visits, ...row } of counts) {
    if (category === PEOPLE) {
      if (verdict !== null) add(people, at, visits)
    } else if (crawler !== null) {
      const broad = broadCategory(category)
      const purpose = purposeOf(category)
      const ofCategory = upsert(categories, broad, () => ({ name: broad, ...none() }))
      add(ofCategory, at, visits)
      if (purpose !== null) {
        const ofPurpose = upsert(purposes, purpose, () => ({ name: purpose, ...none() }))
        add(ofPurpose, at, visits)
      }
      const ofCrawler = upsert(crawlers, `${category} ${crawler}`, () => ({
        name: crawler,
        category: broad,
        purpose,
        ...none(),
      }))
      add(ofCrawler, at, visits)
    } else if (verdict !== null) {
      const kind = kindOfVerdict(verdict)
      const ofVerdict = upsert(verdicts, verdict, () => ({ name: verdict, kind, ...none() }))
      add(ofVerdict, at, visits)
      kinds[kind] += visits
      byStep[placeOf(at)]![kind] += visits
      const { markdown, cards, mobile } = row
      const isServed = kind === 'hit' || kind === 'stale' || kind === 'rendered'
      const byForm = { html: isServed ? visits - markdown - cards : 0, markdown, card: cards }
      for (const series of forms) add(series, at, byForm[series.name])
      const byVariant = { desktop: isServed ? visits - mobile : 0, mobile }
      for (const series of variants) add(series, at, byVariant[series.name])
      const { status_3xx, status_4xx, status_5xx, unanswered } = row
      const byStatus = {
        '2xx': visits - status_3xx - status_4xx - status_5xx - unanswered,
        '3xx': status_3xx,
        '4xx': status_4xx,
        '5xx': status_5xx,
        none: unanswered,
      }
      for (const series of statuses) add(series, at, byStatus[series.name])
    }
  }

  const timesOfVerdicts = new Map<string, number[]>()
  for (const row of timed) if (row.verdict !== null) timesOfVerdicts.set(row.verdict, numbers(row))
  const ofPages = times.map((): number[] => [])
  const allPages = new Array<number>(TIME_STEPS).fill(0)
  for (const row of timed) {
    if (row.at === null || row.is_page !== true) continue
    ofPages[placeOf(row.at)] = numbers(row)
    for (const [step, count] of numbers(row).entries()) allPages[step]! += count
  }
  const { hit, stale, rendered, failed, soft_404: missing, passed, sitemap } = kinds
  return {
    times,
    totals: {
      visits: hit + stale + rendered + failed + missing + passed + sitemap,
      pages: hit + stale + rendered + failed,
      ...kinds,
      people: people.total,
      hit_ratio: hitRatio(kinds),
      ...quantiles(allPages),
    },
    categories: sorted(categories),
    purposes: sorted(purposes),
    crawlers: sorted(crawlers),
    verdicts: sorted(verdicts).map((each) => ({ ...each, ...quantiles(timesOfVerdicts.get(each.name)) })),
    statuses,
    forms,
    variants,
    hit_ratio: byStep.map(hitRatio),
    p50_ms: ofPages.map((each) => quantiles(each).p50_ms),
    p95_ms: ofPages.map((each) => quantiles(each).p95_ms),
    people: { ...people, ...quantiles(timesOfVerdicts.get('pass; not-a-crawler')) },
  }
}

function sorted<Each extends Series & { name: string }>(series: ReadonlyMap<string, Each>): Each[] {
  return [...series.values()].toSorted((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1))
}

function upsert<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

function numbers({ times }: TimesRow): number[] {
  return times.map((count) => count ?? 0)
}

function quantiles(times: readonly number[] = []): { p50_ms: number | null; p95_ms: number | null } {
  return { p50_ms: roundedMs(quantileMs(times, 0.5)), p95_ms: roundedMs(quantileMs(times, 0.95)) }
}
