/** A value of null is none. `colour` is an index into the palette of chart.module.css. */
export type ChartSeries = {
  name: string
  values: readonly (number | null)[]
  colour: number
  /** The figure of all steps together, as text. */
  whole: string
  isDashed?: boolean
}

export type Named = { name: string; visits: readonly number[]; total: number }

const ROUND_STEPS = [1, 2, 2.5, 5, 10]

/** Round values for about `wanted` grid lines, from 0 to at least `most`. */
export function ticksTo(most: number, isWhole = true, wanted = 4): number[] {
  if (!(most > 0)) return [0, 1]
  const rough = most / wanted
  const size = 10 ** Math.floor(Math.log10(rough))
  const step = ROUND_STEPS.map((round) => round * size).find((round) => round >= rough * 0.999) ?? size
  const whole = isWhole ? Math.ceil(step) : step
  const ticks: number[] = []
  for (let at = 0; at * whole < most + whole * 0.999; at++) ticks.push(Number((at * whole).toPrecision(12)))
  return ticks
}

export function decades(values: readonly number[]): number[] {
  const positive = values.filter((value) => value > 0)
  if (positive.length === 0) return [1, 10]
  const low = Math.floor(Math.log10(Math.min(...positive)))
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...positive))))
  return Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at))
}

export function stacked(series: readonly ChartSeries[]): { low: number[]; high: number[] }[] {
  const heights: number[] = []
  return series.map(({ values }) => {
    const low = values.map((_, at) => heights[at] ?? 0)
    for (const [at, value] of values.entries()) heights[at] = (heights[at] ?? 0) + (value ?? 0)
    return { low, high: values.map((_, at) => heights[at]!) }
  })
}

export function linePath(points: readonly (readonly [x: number, y: number] | null)[]): string {
  let path = ''
  let isOpen = false
  for (const [at, point] of points.entries()) {
    if (point !== null) {
      path += `${isOpen ? 'L' : 'M'}${coordinate(point[0])} ${coordinate(point[1])}`
      if (!isOpen && (points[at + 1] ?? null) === null) path += 'h0.01'
    }
    isOpen = point !== null
  }
  return path
}

/** A line between fewer points would show a course that nobody has measured. */
const LEAST_OF_LINE = 12

/** Returns the places of the values that are drawn as dots; null: there are enough for a line. What is dashed is a comparison, or a forecast. */
export function dotsOf({ values, isDashed = false }: ChartSeries): number[] | null {
  if (isDashed) return null
  const places = [...values.keys()].filter((place) => values[place] !== null)
  return places.length < LEAST_OF_LINE ? places : null
}

function coordinate(value: number): string {
  return String(Math.round(value * 10) / 10)
}

/** The largest series, and the sum of the others, because colours are limited. */
export function withRest(series: readonly Named[], most: number, rest: string): Named[] {
  if (series.length <= most) return [...series]
  const kept = series.slice(0, most - 1)
  const others = series.slice(most - 1)
  return [...kept, added(rest, others)]
}

export function added(name: string, series: readonly Named[]): Named {
  const length = series[0]?.visits.length ?? 0
  return {
    name,
    visits: Array.from({ length }, (_, at) => series.reduce((sum, { visits }) => sum + visits[at]!, 0)),
    total: series.reduce((sum, { total }) => sum + total, 0),
  }
}

export function labelled(places: readonly number[], most: number): number[] {
  const every = Math.max(1, Math.ceil(places.length / Math.max(1, most)))
  return places.filter((_, at) => (places.length - 1 - at) % every === 0)
}

/** The number of values up to the last that is not null. */
export function lengthOf(values: readonly (number | null)[]): number {
  return values.findLastIndex((value) => value !== null) + 1
}
