import { axisName, type Step } from '../format.ts'
import classes from './chart.module.css'
import type { ChartProps } from './chart.tsx'
import { type ChartSeries, decades, dotsOf, labelled, lengthOf, linePath, stacked, ticksTo } from './shape.ts'

// Sizes are in CSS pixels.
const HEIGHT = 224
const EDGE = { left: 46, right: 10, top: 8, bottom: 22 }
/** Narrower steps are drawn without gaps and outlines. */
const NARROW = 6
/** Half of the widest bar: a few bars do not fill the chart. */
const WIDEST_HALF = 24
/** Of a dot that is drawn in place of a line. */
const DOT_RADIUS = 2
const LABEL_WIDTH = 76

type PlotProps = ChartProps & { width: number; at: number | null }

export function placeAt(x: number, width: number, count: number): number {
  const band = (width - EDGE.left - EDGE.right) / Math.max(1, count)
  return Math.max(0, Math.min(count - 1, Math.floor((x - EDGE.left) / band)))
}

/** Hidden from screen readers, which use the legend and the table. */
export function Plot(props: PlotProps) {
  const { times, kind, series, width, at } = props
  const band = (width - EDGE.left - EDGE.right) / Math.max(1, times.length)
  const xs = times.map((_, place) => EDGE.left + band * (place + 0.5))
  const layers = kind === 'bars' ? stacked(series.filter(isLayer)) : []
  const scale = scaleOf(props, layers)
  const { yOf } = scale
  const lines = layers.length === 0 ? series : series.filter((drawn) => !isLayer(drawn))
  return (
    <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <Axes {...props} xs={xs} band={band} scale={scale} />
      {series.filter(isLayer).map(({ name, colour, values }, index) => {
        const layer = layers[index]
        if (layer === undefined) return null
        // The future is empty, not 0.
        const shown = xs.slice(0, lengthOf(values))
        const low = layer.low.map(yOf)
        const high = layer.high.map(yOf)
        const path = barsPath(shown, low, high, band)
        const look = [classes.layer, classes[`c${colour}`], band < NARROW ? classes.narrow : '']
        return <path key={name} d={path} className={look.join(' ')} />
      })}
      {lines.map((drawn) => {
        const { name, values, colour, isDashed = false } = drawn
        const dots = dotsOf(drawn)
        if (dots !== null) {
          return dots.map((place) => (
            <circle
              key={`${name} ${place}`}
              cx={xs[place]}
              cy={yOf(values[place]!)}
              r={DOT_RADIUS}
              className={`${classes.point} ${classes[`c${colour}`]}`}
            />
          ))
        }
        return (
          <path
            key={name}
            d={linePath(values.map((value, place) => (value === null ? null : [xs[place]!, yOf(value)])))}
            className={`${classes.line} ${classes[`c${colour}`]} ${isDashed ? classes.dashed : ''}`}
          />
        )
      })}
      {props.marks?.map(({ value, name }) => (
        <g key={name}>
          <Across width={width} y={yOf(value)} className={classes.mark} />
          <text x={width - EDGE.right} y={yOf(value) - 5} textAnchor="end" className={classes.markName}>
            {name}
          </text>
        </g>
      ))}
      {at !== null && (
        <line x1={xs[at]} x2={xs[at]} y1={EDGE.top} y2={HEIGHT - EDGE.bottom} className={classes.cursor} />
      )}
      {at !== null &&
        layers.length === 0 &&
        series.map(({ name, values, colour }) => {
          const value = values[at] ?? null
          if (value === null) return null
          const look = `${classes.dot} ${classes[`c${colour}`]}`
          return <circle key={name} cx={xs[at]} cy={yOf(value)} r={4} className={look} />
        })}
    </svg>
  )
}

type Scale = { ticks: number[]; yOf: (value: number) => number }

function Axes(props: PlotProps & { xs: readonly number[]; band: number; scale: Scale }) {
  const { times, step, width, xs, band, scale } = props
  const labels = labelled(nameable(times, step), Math.floor((width - EDGE.left) / LABEL_WIDTH))
  return (
    <>
      {scale.ticks.map((tick) => (
        <g key={tick}>
          <Across width={width} y={scale.yOf(tick)} className={classes.grid} />
          <text x={EDGE.left - 8} y={scale.yOf(tick) + 4} textAnchor="end">
            {(props.formatShort ?? props.format)(tick)}
          </text>
        </g>
      ))}
      {labels.map((place) => (
        <text key={place} x={xs[place]} y={HEIGHT - 4} textAnchor={anchorOf(place, times.length, band)}>
          {axisName(times[place]!, step)}
        </text>
      ))}
    </>
  )
}

function Across({ width, y, className }: { width: number; y: number; className: string | undefined }) {
  return <line x1={EDGE.left} x2={width - EDGE.right} y1={y} y2={y} className={className} />
}

function isLayer({ isDashed = false }: ChartSeries): boolean {
  return !isDashed
}

function scaleOf(
  { kind, series, most, marks = [] }: ChartProps,
  layers: readonly { high: readonly number[] }[],
): Scale {
  const values = series.flatMap((drawn) => drawn.values.filter((value) => value !== null))
  const top = EDGE.top
  const height = HEIGHT - EDGE.top - EDGE.bottom
  if (kind === 'log') {
    const ticks = decades(values)
    const low = Math.log10(ticks[0]!)
    const high = Math.log10(ticks.at(-1)!)
    const shareOf = (value: number) => (Math.log10(Math.max(value, ticks[0]!)) - low) / (high - low)
    return { ticks, yOf: (value) => top + height * (1 - shareOf(value)) }
  }
  const highest = Math.max(
    0,
    ...values,
    ...layers.flatMap(({ high }) => high),
    ...marks.map(({ value }) => value),
  )
  const ticks = ticksTo(most ?? highest, most === undefined)
  return { ticks, yOf: (value) => top + height * (1 - value / ticks.at(-1)!) }
}

function barsPath(
  xs: readonly number[],
  low: readonly number[],
  high: readonly number[],
  band: number,
): string {
  const half = band >= NARROW ? Math.min(band * 0.36, WIDEST_HALF) : band / 2
  const bars = xs.map((x, at) => {
    if (high[at] === low[at]) return ''
    return `M${x - half} ${low[at]}V${high[at]}H${x + half}V${low[at]}Z`
  })
  return bars.join('')
}

function anchorOf(place: number, count: number, band: number): 'start' | 'middle' | 'end' {
  if (band * (place + 0.5) < LABEL_WIDTH / 2 - EDGE.left / 2) return 'start'
  return band * (count - place - 0.5) < LABEL_WIDTH / 2 ? 'end' : 'middle'
}

/** The steps that an axis may label. Above two days of hours: only midnights in the viewer's time zone. */
function nameable(times: readonly string[], step: Step): number[] {
  const places = [...times.keys()]
  if (step === 'day' || times.length <= 48) return places
  return places.filter((at) => new Date(times[at]!).getHours() === 0)
}
