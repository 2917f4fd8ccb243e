import type { MonthOfRenders } from '@prepaint/service/insight/traffic/read-renders.ts'
import type { PathsView } from '@prepaint/service/insight/traffic/read-summaries.ts'
import type { TrafficView } from '@prepaint/service/insight/traffic/read-traffic.ts'
import { type CsvCell, csvText } from '../http/csv.ts'

const KINDS = ['hit', 'stale', 'rendered', 'failed', 'soft_404', 'passed', 'sitemap'] as const

/** One line per step: fixed columns, then categories, crawlers, verdicts, status classes, forms and devices. */
export function trafficCsv(view: TrafficView): string {
  const names = [
    'time',
    'visits',
    'people',
    ...KINDS,
    'hit_ratio',
    'p50_ms',
    'p95_ms',
    ...view.categories.map(({ name }) => `category ${name}`),
    ...view.crawlers.map(({ name, category }) => `crawler ${name} (${category})`),
    ...view.verdicts.map(({ name }) => `verdict ${name}`),
    ...view.statuses.map(({ name }) => `status ${name}`),
    ...view.forms.map(({ name }) => `form ${name}`),
    ...view.variants.map(({ name }) => `device ${name}`),
  ]
  const { categories, crawlers, verdicts, statuses, forms, variants } = view
  const lists = [...categories, ...crawlers, ...verdicts, ...statuses, ...forms, ...variants]
  return csvText(
    names,
    view.times.map((time, at): CsvCell[] => {
      const ofKind = (kind: string) =>
        view.verdicts.reduce((sum, each) => sum + (each.kind === kind ? each.visits[at]! : 0), 0)
      const kinds = KINDS.map(ofKind)
      return [
        time,
        kinds.reduce((sum, count) => sum + count, 0),
        view.people.visits[at]!,
        ...kinds,
        view.hit_ratio[at]!,
        view.p50_ms[at]!,
        view.p95_ms[at]!,
        ...lists.map(({ visits }) => visits[at]!),
      ]
    }),
  )
}

export function pathsCsv({ top, failing, others }: PathsView): string {
  return csvText(
    ['list', 'path', 'visits', 'last_verdict', 'last_status'],
    [...pathLines('top', top, others.top), ...pathLines('failing', failing, others.failing)],
  )
}

/** One line per path, and one of all other paths if there are more. */
function pathLines(list: string, paths: PathsView['top'], rest: number): CsvCell[][] {
  const lines: CsvCell[][] = paths.map(({ path, visits, verdict, status }) => [
    list,
    path,
    visits,
    verdict,
    status,
  ])
  if (rest > 0) lines.push([list, 'all others', rest, null, null])
  return lines
}

/** One line per day; the last one has the forecast. */
export function rendersCsv({ days, limit, forecast }: MonthOfRenders): string {
  let month = 0
  return csvText(
    ['day', 'renders', 'renders_of_month', 'limit', 'forecast_of_month'],
    days.map(({ day, renders }, at): CsvCell[] => {
      month += renders
      return [day, renders, month, limit, at === days.length - 1 ? (forecast?.renders ?? null) : null]
    }),
  )
}
