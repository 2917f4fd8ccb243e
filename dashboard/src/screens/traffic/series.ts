import type { Traffic } from '../../api/types.ts'
import { added, type ChartSeries, type Named, withRest } from '../../charts/shape.ts'
import { CATEGORIES } from '../../crawler-categories.ts'
import { count, FORM_LABELS, milliseconds, percent } from '../../format.ts'

/** Sitemaps and requests passed by a rule are not page visits. */
const KINDS = [
  { kind: 'hit', label: 'Hit', colour: 2 },
  { kind: 'stale', label: 'Stale', colour: 4 },
  { kind: 'rendered', label: 'Rendered', colour: 0 },
  { kind: 'failed', label: 'Failed', colour: 5 },
  { kind: 'sitemap', label: 'Sitemap', colour: 6 },
  { kind: 'passed', label: 'Passed by rule', colour: 7 },
] as const

const RANKS = [0, 1, 2, 3, 4, 5, 6, 7] as const

export const CRAWLERS_SHOWN = RANKS.length

export function byCategory({ categories }: Traffic): ChartSeries[] {
  return CATEGORIES.flatMap(({ category: name, label, colour }) => {
    const found = categories.find((each) => each.name === name)
    return found === undefined ? [] : [layer(label, found, colour)]
  })
}

/** Unnamed crawlers of all categories are counted as others. */
export function byCrawler({ crawlers }: Traffic): ChartSeries[] {
  const named = crawlers.filter(({ name }) => name !== 'other')
  const nameless = crawlers.filter(({ name }) => name === 'other')
  const shown = withRest(named, CRAWLERS_SHOWN - 1, 'All others')
  const rest =
    shown.length > 0 && shown.at(-1)!.name === 'All others' ? [shown.pop()!, ...nameless] : nameless
  return [
    ...shown.map((each, rank) => layer(each.name, each, RANKS[rank]!)),
    ...(rest.length === 0 ? [] : [layer('All others', added('', rest), RANKS.at(-1)!)]),
  ]
}

export function byForm({ forms }: Traffic): ChartSeries[] {
  return asked(forms, FORM_LABELS)
}

export function byDevice({ variants }: Traffic): ChartSeries[] {
  return asked(variants, { desktop: 'Desktop', mobile: 'Phone' })
}

function asked<Name extends string>(
  all: readonly (Named & { name: Name })[],
  labels: Record<Name, string>,
): ChartSeries[] {
  return all.flatMap((each, at) => (each.total === 0 ? [] : [layer(labels[each.name], each, RANKS[at]!)]))
}

export function byVerdict({ verdicts }: Traffic): ChartSeries[] {
  return KINDS.flatMap(({ kind, label, colour }) => {
    const found = verdicts.filter((each) => each.kind === kind)
    return found.length === 0 ? [] : [layer(label, added('', found), colour)]
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
  return [layer('People and tools', people, 7)]
}

function layer(name: string, { visits, total }: Omit<Named, 'name'>, colour: number): ChartSeries {
  return { name, values: visits, colour, whole: count(total) }
}

type Month = {
  days: readonly { day: string; renders: number }[]
  used: number
  limit: number
  forecast: { renders: number } | null
}

/** Cumulative renders by day, and the forecast. The first day includes renders from before daily counts existed. */
export function monthOfRenders({ days, used, forecast }: Month): { times: string[]; series: ChartSeries[] } {
  const today = days.length - 1
  const first = days[0]?.day ?? '1970-01-01'
  const [year, month] = first.split('-').map(Number) as [number, number]
  const length = new Date(Date.UTC(year, month, 0)).getUTCDate()
  const times = Array.from({ length }, (_, at) => new Date(Date.UTC(year, month - 1, at + 1)).toISOString())

  const counted = days.reduce((sum, { renders }) => sum + renders, 0)
  let sum = Math.max(0, used - counted)
  const soFar = times.map((_, at) => {
    if (at > today) return null
    sum += days[at]!.renders
    return sum
  })
  const series: ChartSeries[] = [{ name: 'Renders', values: soFar, colour: 0, whole: count(used) }]
  if (forecast !== null && today < length - 1) {
    const left = length - 1 - today
    const values = times.map((_, at) =>
      at < today ? null : used + ((forecast.renders - used) * (at - today)) / left,
    )
    series.push({
      name: 'Forecast',
      values: values.map((value) => (value === null ? null : Math.round(value))),
      colour: 1,
      whole: count(forecast.renders),
      isDashed: true,
    })
  }
  return { times, series }
}

/** Omits a limit so high that it would flatten the chart. */
export function limitMarks({ used, limit, forecast }: Month): { value: number; name: string }[] {
  const most = Math.max(used, forecast?.renders ?? 0)
  return limit > 0 && limit <= most * 4 ? [{ value: limit, name: `Limit ${count(limit)}` }] : []
}
