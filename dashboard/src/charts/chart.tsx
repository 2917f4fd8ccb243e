import { Stack, Table } from '@mantine/core'
import { type KeyboardEvent, type PointerEvent, useState } from 'react'
import { stepName } from '../format.ts'
import classes from './chart.module.css'
import { Plot, placeAt } from './plot.tsx'
import type { ChartSeries } from './shape.ts'
import { useWidth } from './use-width.ts'

/** `layers` stand on top of each other, as areas; `bars` too, as columns. `log`: for times, which differ by thousands. */
export type ChartKind = 'layers' | 'bars' | 'lines' | 'log'

export type ChartProps = {
  /** What it shows, as a name. */
  label: string
  times: readonly string[]
  step: 'hour' | 'day'
  kind: ChartKind
  series: readonly ChartSeries[]
  /** A value in full. */
  format: (value: number) => string
  /** And at the axis; absent: in full. */
  formatShort?: (value: number) => string
  /** The highest value that there can be; absent: what there is decides. */
  most?: number
  /** Lines across, such as a limit. */
  marks?: readonly { value: number; name: string }[]
}

/**
 * A chart, its legend with the values of the place that is pointed at (by mouse,
 * finger or arrow keys), and the same as a table for whoever reads better than he sees.
 */
export function Chart(props: ChartProps) {
  const { label, times, step, series, format } = props
  const [at, setAt] = useState<number | null>(null)
  const [ref, width] = useWidth()
  const shown = at !== null && at < times.length ? at : null
  const wordsOf = ({ values, whole }: ChartSeries) => {
    if (shown === null) return whole
    const value = values[shown] ?? null
    return value === null ? '–' : format(value)
  }
  const when = shown === null ? 'The whole range' : stepName(times[shown]!, step)

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
                {each.name} <span className={classes.value}>{wordsOf(each)}</span>
              </li>
            ))}
          </ul>
        </div>
        <div
          ref={ref}
          className={classes.plot}
          role="slider"
          tabIndex={0}
          aria-label={`${label}: a place in time`}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, times.length - 1)}
          aria-valuenow={shown ?? Math.max(0, times.length - 1)}
          aria-valuetext={`${when}: ${series.map((each) => `${each.name} ${wordsOf(each)}`).join(', ')}`}
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

/** Drawn only when it is opened: a month of hours has hundreds of rows. */
function AsTable({ label, times, step, series, format }: ChartProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className={classes.table} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Show as a table</summary>
      {isOpen && (
        // A region that scrolls is to be reached by keyboard.
        // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
        <section className={classes.scroll} aria-label={`${label}, as a table`} tabIndex={0}>
          <Table fz="xs" verticalSpacing={4} stickyHeader>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{step === 'day' ? 'Day (UTC)' : 'Hour'}</Table.Th>
                {series.map(({ name }) => (
                  <Table.Th key={name} className="end">
                    {name}
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {times.map((time, at) => (
                <Table.Tr key={time}>
                  <Table.Td>{stepName(time, step).replace(' (UTC)', '')}</Table.Td>
                  {series.map(({ name, values }) => (
                    <Table.Td key={name} className="end number">
                      {(values[at] ?? null) === null ? '–' : format(values[at]!)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </section>
      )}
    </details>
  )
}
