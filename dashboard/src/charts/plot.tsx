import { axisName, nameable } from '../format.ts'
import classes from './chart.module.css'
import type { ChartProps } from './chart.tsx'
import {
  areaPath,
  type ChartSeries,
  decades,
  labelled,
  lengthOf,
  linePath,
  stacked,
  ticksTo,
} from './shape.ts'

const HEIGHT = 224
const EDGE = { left: 46, right: 10, top: 8, bottom: 22 }
/** Pixels; lines between layers would leave nothing of steps that are narrower. */
const NARROW = 6
/** A label of the axis takes so many pixels. */
const LABEL_WIDTH = 76

type PlotProps = ChartProps & { width: number; at: number | null }

/** The place of a chart that is `width` wide at which a pointer is, `x` from its left edge. */
export function placeAt(x: number, width: number, count: number): number {
  const band = (width - EDGE.left - EDGE.right) / Math.max(1, count)
  return Math.max(0, Math.min(count - 1, Math.floor((x - EDGE.left) / band)))
}

/** The drawing itself: for the eye alone; the legend and the table say what it shows. */
export function Plot(props: PlotProps) {
  const { times, step, kind, series, width, at, marks = [] } = props
  const band = (width - EDGE.left - EDGE.right) / Math.max(1, times.length)
  const xs = times.map((_, place) => EDGE.left + band * (place + 0.5))
  const layers = kind === 'layers' || kind === 'bars' ? stacked(series.filter(isLayer)) : []
  const { ticks, yOf } = scaleOf(props, layers)
  const bottom = HEIGHT - EDGE.bottom
  const labels = labelled(nameable(times, step), Math.floor((width - EDGE.left) / LABEL_WIDTH))

  return (
    <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {ticks.map((tick) => (
        <g key={tick}>
          <line
            x1={EDGE.left}
            x2={width - EDGE.right}
            y1={yOf(tick)}
            y2={yOf(tick)}
            className={classes.grid}
          />
          <text x={EDGE.left - 8} y={yOf(tick) + 4} textAnchor="end">
            {(props.formatShort ?? props.format)(tick)}
          </text>
        </g>
      ))}
      {labels.map((place) => (
        <text key={place} x={xs[place]} y={HEIGHT - 4} textAnchor={anchorOf(place, times.length, band)}>
          {axisName(times[place]!, step)}
        </text>
      ))}
      {series.filter(isLayer).map(({ name, colour, values }, index) => {
        const layer = layers[index]
        if (layer === undefined) return null
        // What is still to come is not nothing.
        const shown = xs.slice(0, lengthOf(values))
        const [low, high] = [layer.low.map(yOf), layer.high.map(yOf)]
        const path = kind === 'bars' ? barsPath(shown, low, high, band) : areaPath(shown, low, high)
        const look = [classes.layer, classes[`c${colour}`], band < NARROW ? classes.narrow : '']
        return <path key={name} d={path} className={look.join(' ')} />
      })}
      {series.map(({ name, values, colour, isDashed = false }) =>
        layers.length > 0 && !isDashed ? null : (
          <path
            key={name}
            d={linePath(values.map((value, place) => (value === null ? null : [xs[place]!, yOf(value)])))}
            className={`${classes.line} ${classes[`c${colour}`]} ${isDashed ? classes.dashed : ''}`}
          />
        ),
      )}
      {marks.map(({ value, name }) => (
        <g key={name}>
          <line
            x1={EDGE.left}
            x2={width - EDGE.right}
            y1={yOf(value)}
            y2={yOf(value)}
            className={classes.mark}
          />
          <text x={width - EDGE.right} y={yOf(value) - 5} textAnchor="end" className={classes.markName}>
            {name}
          </text>
        </g>
      ))}
      {at !== null && <line x1={xs[at]} x2={xs[at]} y1={EDGE.top} y2={bottom} className={classes.cursor} />}
      {at !== null &&
        layers.length === 0 &&
        series.map(({ name, values, colour }) => {
          const value = values[at] ?? null
          if (value === null) return null
          const colourClass = `${classes.dot} ${classes[`c${colour}`]}`
          return <circle key={name} cx={xs[at]} cy={yOf(value)} r={4} className={colourClass} />
        })}
    </svg>
  )
}

function isLayer({ isDashed = false }: ChartSeries): boolean {
  return !isDashed
}

function scaleOf(
  { kind, series, most, marks = [] }: ChartProps,
  layers: readonly { high: readonly number[] }[],
): { ticks: number[]; yOf: (value: number) => number } {
  const values = series.flatMap((each) => each.values.filter((value) => value !== null))
  const [top, height] = [EDGE.top, HEIGHT - EDGE.top - EDGE.bottom]
  if (kind === 'log') {
    const ticks = decades(values)
    const [low, high] = [Math.log10(ticks[0]!), Math.log10(ticks.at(-1)!)]
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
  // Where there is room, some of it stays between them.
  const half = band >= NARROW ? band * 0.36 : band / 2
  return xs
    .map((x, at) =>
      high[at] === low[at] ? '' : `M${x - half} ${low[at]}V${high[at]}H${x + half}V${low[at]}Z`,
    )
    .join('')
}

/** At the edges a label would be cut off. */
function anchorOf(place: number, count: number, band: number): 'start' | 'middle' | 'end' {
  if (band * (place + 0.5) < LABEL_WIDTH / 2 - EDGE.left / 2) return 'start'
  return band * (count - place - 0.5) < LABEL_WIDTH / 2 ? 'end' : 'middle'
}
