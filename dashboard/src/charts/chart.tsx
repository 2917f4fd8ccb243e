import { Stack } from '@mantine/core'
import {
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { type Step, stepName } from '../format.ts'
import { type Column, DataTable } from '../parts/data-table.tsx'
import classes from './chart.module.css'
import { Plot, placeAt } from './plot.tsx'
import type { ChartSeries } from './shape.ts'

/** `bars` are stacked columns, for counts; `log` are lines on a logarithmic scale, for response times. */
type ChartKind = 'bars' | 'lines' | 'log'

export type ChartProps = {
  label: string
  times: readonly string[]
  step: Step
  kind: ChartKind
  series: readonly ChartSeries[]
  format: (value: number) => string
  formatShort?: (value: number) => string
  /** Highest possible value; by default the scale follows the data. */
  most?: number
  marks?: readonly { value: number; name: string }[]
  /** Called with the start of the step that is clicked, or at which Enter is pressed. */
  onPick?: ((time: string) => void) | undefined
}

/** Includes a legend with the values at the chosen step, and the same data as a table for screen readers. */
export function Chart(props: ChartProps) {
  const { label, times, step, series, format, onPick } = props
  const [at, setAt] = useState<number | null>(null)
  const [ref, width] = useWidth()
  const shown = at !== null && at < times.length ? at : null
  const textOf = ({ values, whole }: ChartSeries) => {
    if (shown === null) return whole
    const value = values[shown] ?? null
    return value === null ? '–' : format(value)
  }
  const when = shown === null ? 'Total' : stepName(times[shown]!, step)
  const figures = series.map((drawn) => `${drawn.name} ${textOf(drawn)}`)

  const point = (event: PointerEvent<HTMLDivElement>) => {
    const { left } = event.currentTarget.getBoundingClientRect()
    setAt(placeAt(event.clientX - left, width, times.length))
  }
  const pick = (place: number | null) => {
    const time = place === null ? undefined : times[place]
    if (time !== undefined) onPick?.(time)
  }
  const move = (event: KeyboardEvent) => {
    if (event.key === 'Enter') pick(shown)
    const to = stepAfter(event.key, shown, times.length)
    if (to === undefined) return
    setAt(to)
    event.preventDefault()
  }

  return (
    <figure className={classes.chart}>
      <Stack gap="xs">
        <div>
          <div className={classes.when}>{when}</div>
          <ul className={classes.legend}>
            {series.map((drawn) => (
              <li key={drawn.name}>
                <span className={swatchClass(props.kind, drawn)} />
                {drawn.name} <span className={classes.value}>{textOf(drawn)}</span>
              </li>
            ))}
          </ul>
        </div>
        <div
          ref={ref}
          className={classes.plot}
          role="slider"
          tabIndex={0}
          aria-label={`${label}: point in time`}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, times.length - 1)}
          aria-valuenow={shown ?? Math.max(0, times.length - 1)}
          aria-valuetext={`${when}: ${figures.join(', ')}`}
          onPointerMove={point}
          onPointerDown={point}
          onPointerLeave={() => setAt(null)}
          onClick={() => pick(shown)}
          data-picks={onPick !== undefined || undefined}
          onBlur={() => setAt(null)}
          onKeyDown={move}
        >
          {width > 0 && <Plot {...props} width={width} at={shown} />}
        </div>
        <AsTable {...props} />
      </Stack>
    </figure>
  )
}

/** Returns the step that a key chooses, null for none, and undefined if the key means nothing here. */
function stepAfter(key: string, shown: number | null, steps: number): number | null | undefined {
  const last = steps - 1
  switch (key) {
    case 'ArrowLeft':
      return Math.max(0, (shown ?? steps) - 1)
    case 'ArrowRight':
      return shown === null ? 0 : Math.min(last, shown + 1)
    case 'Home':
      return 0
    case 'End':
      return last
    case 'Escape':
      return null
    default:
      return undefined
  }
}

function swatchClass(kind: ChartKind, { colour, isDashed = false }: ChartSeries): string {
  const isLine = kind === 'lines' || kind === 'log' || isDashed
  return [
    classes.swatch,
    classes[`c${colour}`],
    isLine ? classes.lineSwatch : '',
    isDashed ? classes.dashedSwatch : '',
  ].join(' ')
}

/** Rendered only when opened: a month of hours has hundreds of rows. */
function AsTable({ label, times, step, series, format }: ChartProps) {
  const [isOpen, setOpen] = useState(false)
  const stepColumn: Column<number> = {
    title: step === 'day' ? 'Day (UTC)' : 'Hour',
    cell: (at) => stepName(times[at]!, step).replace(' (UTC)', ''),
  }
  const valueColumns = series.map(({ name, values }): Column<number> => {
    const cell = (at: number) => {
      const value = values[at] ?? null
      return value === null ? '–' : format(value)
    }
    return { title: name, kind: 'number', cell }
  })
  return (
    <details className={classes.table} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show as a table</summary>
      {isOpen && (
        // A region that scrolls must be reachable by keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        <section className={classes.scroll} aria-label={`${label}, as a table`} tabIndex={0}>
          <DataTable
            look="compact"
            columns={[stepColumn, ...valueColumns]}
            rows={[...times.keys()]}
            keyOf={(at) => at}
          />
        </section>
      )}
    </details>
  )
}

/** Measures the width in CSS pixels before the first paint. It is 0 until then. */
function useWidth(): [RefObject<HTMLDivElement | null>, number] {
  const ref = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const element = ref.current
    if (element === null) return
    const measure = () => setWidth(Math.round(element.getBoundingClientRect().width))
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return [ref, width]
}
