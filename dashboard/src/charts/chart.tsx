import { Stack } from '@mantine/core'
import {
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { stepName } from '../format.ts'
import { DataTable } from '../parts/data-table.tsx'
import classes from './chart.module.css'
import { Plot, placeAt } from './plot.tsx'
import type { ChartSeries } from './shape.ts'

/** `layers`: stacked areas. `bars`: stacked columns. `log`: lines on a logarithmic scale, for times. */
type ChartKind = 'layers' | 'bars' | 'lines' | 'log'

export type ChartProps = {
  label: string
  times: readonly string[]
  step: 'hour' | 'day'
  kind: ChartKind
  series: readonly ChartSeries[]
  format: (value: number) => string
  formatShort?: (value: number) => string
  /** Highest possible value; by default the scale follows the data. */
  most?: number
  marks?: readonly { value: number; name: string }[]
}

/** Includes a legend with the values at the chosen step, and the same data as a table for screen readers. */
export function Chart(props: ChartProps) {
  const { label, times, step, series, format } = props
  const [at, setAt] = useState<number | null>(null)
  const [ref, width] = useWidth()
  const shown = at !== null && at < times.length ? at : null
  const textOf = ({ values, whole }: ChartSeries) => {
    if (shown === null) return whole
    const value = values[shown] ?? null
    return value === null ? '–' : format(value)
  }
  const when = shown === null ? 'Whole range' : stepName(times[shown]!, step)

  const point = (event: PointerEvent<HTMLDivElement>) => {
    const { left } = event.currentTarget.getBoundingClientRect()
    setAt(placeAt(event.clientX - left, width, times.length))
  }
  const move = (event: KeyboardEvent) => {
    const last = times.length - 1
    const from = shown ?? last + 1
    const to = { ArrowLeft: from - 1, ArrowRight: shown === null ? 0 : from + 1, Home: 0, End: last }[
      event.key
    ]
    if (to !== undefined) setAt(Math.min(last, Math.max(0, to)))
    else if (event.key === 'Escape') setAt(null)
    else return
    event.preventDefault()
  }

  return (
    <figure className={classes.chart}>
      <Stack gap="xs">
        <div>
          <div className={classes.when}>{when}</div>
          <ul className={classes.legend}>
            {series.map((each) => (
              <li key={each.name}>
                <span className={swatchClass(props.kind, each)} />
                {each.name} <span className={classes.value}>{textOf(each)}</span>
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
          aria-valuetext={`${when}: ${series.map((each) => `${each.name} ${textOf(each)}`).join(', ')}`}
          onPointerMove={point}
          onPointerDown={point}
          onPointerLeave={() => setAt(null)}
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
  return (
    <details className={classes.table} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show as a table</summary>
      {isOpen && (
        // A region that scrolls must be reachable by keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        <section className={classes.scroll} aria-label={`${label}, as a table`} tabIndex={0}>
          <DataTable
            look="compact"
            columns={[
              {
                title: step === 'day' ? 'Day (UTC)' : 'Hour',
                cell: (at) => stepName(times[at]!, step).replace(' (UTC)', ''),
              },
              ...series.map(({ name, values }) => ({
                title: name,
                kind: 'number' as const,
                cell: (at: number) => ((values[at] ?? null) === null ? '–' : format(values[at]!)),
              })),
            ]}
            rows={[...times.keys()]}
            keyOf={(at) => at}
          />
        </section>
      )}
    </details>
  )
}

/** Pixels, measured before the first paint; 0 until then. */
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
