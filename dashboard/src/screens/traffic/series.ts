import type { Form } from '@prepaint/contract/outcome/form.ts'
import type { PageVariant } from '@prepaint/contract/page/page-id.ts'
import type { Traffic } from '../../api/types.ts'
import { added, type ChartSeries, type Named, withRest } from '../../charts/shape.ts'
import { CHART_CATEGORIES } from '../../crawler-categories.ts'
import { DEVICE_LABELS } from '../../devices.ts'
import { count, milliseconds, percent } from '../../format.ts'
import { FORM_LABELS } from '../../page-forms.ts'

type VerdictKind = Traffic['verdicts'][number]['kind']

/** How crawlers were answered, in the order of the chart. Sitemaps and requests passed by a rule are not page visits. */
const VERDICT_KINDS: Record<VerdictKind, { label: string; colour: number }> = {
  hit: { label: 'Hit', colour: 2 },
  stale: { label: 'Stale', colour: 4 },
  rendered: { label: 'Rendered', colour: 0 },
  failed: { label: 'Failed', colour: 5 },
  soft_404: { label: 'Not found', colour: 3 },
  sitemap: { label: 'Sitemap', colour: 6 },
  passed: { label: 'Passed by rule', colour: 7 },
}

/** The last colour is for all others. */
const COLOURS = 8
const OTHERS = 'All others'

export const CRAWLERS_SHOWN = COLOURS

export function byCategory({ categories }: Traffic): ChartSeries[] {
  return CHART_CATEGORIES.flatMap(({ category, label, colour }) => {
    const found = categories.find(({ name }) => name === category)
    return found === undefined ? [] : [layer(label, found, colour)]
  })
}

/** Unnamed crawlers of all categories are counted as others. */
export function byCrawler({ crawlers }: Traffic): ChartSeries[] {
  const named = crawlers.filter(({ name }) => name !== 'other')
  const nameless = crawlers.filter(({ name }) => name === 'other')
  const shown = withRest(named, CRAWLERS_SHOWN - 1, OTHERS)
  const others = [...shown.filter(({ name }) => name === OTHERS), ...nameless]
  const series = shown
    .filter(({ name }) => name !== OTHERS)
    .map((crawler, rank) => layer(crawler.name, crawler, rank))
  if (others.length > 0) series.push(layer(OTHERS, added(OTHERS, others), COLOURS - 1))
  return series
}

export function byForm({ forms }: Traffic): ChartSeries[] {
  return byLabel<Form>(forms, FORM_LABELS)
}

export function byDevice({ variants }: Traffic): ChartSeries[] {
  return byLabel<PageVariant>(variants, DEVICE_LABELS)
}

/** Leaves out what nobody asked for. */
function byLabel<Name extends string>(
  all: readonly (Named & { name: Name })[],
  labels: Record<Name, string>,
): ChartSeries[] {
  return all
    .map((counted, colour) => layer(labels[counted.name], counted, colour))
    .filter((_series, at) => all[at]!.total > 0)
}

export function byVerdict({ verdicts }: Traffic): ChartSeries[] {
  return Object.entries(VERDICT_KINDS).flatMap(([kind, { label, colour }]) => {
    const found = verdicts.filter((verdict) => verdict.kind === kind)
    return found.length === 0 ? [] : [layer(label, added(label, found), colour)]
  })
}

export function hitRatioOf({ hit_ratio: values, totals }: Traffic): ChartSeries[] {
  return [{ name: 'Hit ratio', values, colour: 2, whole: percent(totals.hit_ratio) }]
}

export function timesOf({ p50_ms, p95_ms, totals }: Traffic): ChartSeries[] {
  return [
    { name: 'Median', values: p50_ms, colour: 0, whole: milliseconds(totals.p50_ms) },
    { name: '95th percentile', values: p95_ms, colour: 5, whole: milliseconds(totals.p95_ms) },
  ]
}

export function peopleOf({ people }: Traffic): ChartSeries[] {
  return [layer('People and tools', people, COLOURS - 1)]
}

const BEFORE = 'Before'

/** The period before as a dashed line; none if there were no visits. Its steps stand below those of this period. */
function lineBefore(
  { times }: Traffic,
  values: readonly (number | null)[],
  look: { colour: number; whole: string },
): ChartSeries[] {
  return [{ name: BEFORE, values: times.map((_, at) => values[at] ?? null), isDashed: true, ...look }]
}

export function visitsBefore(traffic: Traffic, before: Traffic | null): ChartSeries[] {
  if (before === null) return []
  const all = added(BEFORE, before.categories)
  return lineBefore(traffic, all.visits, { colour: COLOURS - 1, whole: count(all.total) })
}

export function ratioBefore(traffic: Traffic, before: Traffic | null): ChartSeries[] {
  if (before === null) return []
  return lineBefore(traffic, before.hit_ratio, { colour: 2, whole: percent(before.totals.hit_ratio) })
}

/** Of the median. */
export function timeBefore(traffic: Traffic, before: Traffic | null): ChartSeries[] {
  if (before === null) return []
  return lineBefore(traffic, before.p50_ms, { colour: 0, whole: milliseconds(before.totals.p50_ms) })
}

/** Returns the first step with a visit of a crawler or a person; 0 if there was none. */
export function firstVisitOf({ verdicts, people }: Traffic): number {
  const firsts = [...verdicts, people].map(({ visits }) => visits.findIndex((count) => count > 0))
  const found = firsts.filter((at) => at !== -1)
  return found.length === 0 ? 0 : Math.min(...found)
}

/** The same traffic without its first steps. */
export function trafficFrom(traffic: Traffic, first: number): Traffic {
  if (first === 0) return traffic
  const later = <Part extends { visits: number[] }>(part: Part): Part => ({
    ...part,
    visits: part.visits.slice(first),
  })
  return {
    ...traffic,
    times: traffic.times.slice(first),
    categories: traffic.categories.map(later),
    purposes: traffic.purposes.map(later),
    crawlers: traffic.crawlers.map(later),
    verdicts: traffic.verdicts.map(later),
    statuses: traffic.statuses.map(later),
    forms: traffic.forms.map(later),
    variants: traffic.variants.map(later),
    people: later(traffic.people),
    hit_ratio: traffic.hit_ratio.slice(first),
    p50_ms: traffic.p50_ms.slice(first),
    p95_ms: traffic.p95_ms.slice(first),
  }
}

type Counted = { visits: readonly number[]; total: number }

function layer(name: string, { visits, total }: Counted, colour: number): ChartSeries {
  return { name, values: visits, colour, whole: count(total) }
}

type Month = {
  days: readonly { day: string; renders: number }[]
  used: number
  limit: number
  forecast: { renders: number } | null
}

/** Cumulative renders by day, and the forecast. The first day includes renders from before daily counts existed. */
export function monthOfRenders(month: Month): { times: string[]; series: ChartSeries[] } {
  const times = daysOfMonth(month.days[0]?.day ?? '1970-01-01')
  const series = [rendersSoFar(month, times)]
  const forecast = forecastSeries(month, times)
  if (forecast !== null) series.push(forecast)
  return { times, series }
}

/** Returns the start of each UTC day of the month that `day` is in. */
function daysOfMonth(day: string): string[] {
  const [year, month] = day.split('-').map(Number) as [number, number]
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate()
  return Array.from({ length }, (_, at) => new Date(Date.UTC(year, month - 1, at + 1)).toISOString())
}

function rendersSoFar({ days, used }: Month, times: readonly string[]): ChartSeries {
  const countedByDay = days.reduce((sum, { renders }) => sum + renders, 0)
  let sum = Math.max(0, used - countedByDay)
  const sums = days.map(({ renders }) => {
    sum += renders
    return sum
  })
  return { name: 'Renders', values: times.map((_, at) => sums[at] ?? null), colour: 0, whole: count(used) }
}

/** A line from today to the end of the month. Returns null on the last day, or without a forecast. */
function forecastSeries({ days, used, forecast }: Month, times: readonly string[]): ChartSeries | null {
  const today = days.length - 1
  const left = times.length - 1 - today
  if (forecast === null || left <= 0) return null
  const perDay = (forecast.renders - used) / left
  const values = times.map((_, at) => (at < today ? null : Math.round(used + perDay * (at - today))))
  return { name: 'Forecast', values, colour: 1, whole: count(forecast.renders), isDashed: true }
}

/** Omits a limit so high that it would flatten the chart. */
export function limitMarks({ used, limit, forecast }: Month): { value: number; name: string }[] {
  const most = Math.max(used, forecast?.renders ?? 0)
  return limit > 0 && limit <= most * 4 ? [{ value: limit, name: `Limit ${count(limit)}` }] : []
}
