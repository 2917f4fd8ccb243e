import { count } from '../../format.ts'
import classes from './reports.module.css'

const WIDTH = 640
const HEIGHT = 120
const FOOT = 18
const TOP = 14

/** The visits of each day of a month as bars. A picture with a fixed shape, so that it is the same on paper. */
export function MonthBars({ days, monthDays }: { days: readonly number[]; monthDays: number }) {
  const most = Math.max(1, ...days)
  const band = WIDTH / monthDays
  const height = HEIGHT - TOP - FOOT
  const path = days
    .map((visits, at) => {
      if (visits === 0) return ''
      const bar = Math.max(1, (visits / most) * height)
      return `M${round(at * band + band * 0.14)} ${HEIGHT - FOOT}v${round(-bar)}h${round(band * 0.72)}v${round(bar)}z`
    })
    .join('')
  const busiest = days.indexOf(Math.max(...days))
  const label = `Visits by day: ${days.map((visits, at) => `${at + 1}: ${count(visits)}`).join(', ')}`
  return (
    <svg className={classes.bars} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <line x1="0" x2={WIDTH} y1={HEIGHT - FOOT} y2={HEIGHT - FOOT} className={classes.axis} />
      <path d={path} />
      {days[busiest]! > 0 && (
        <text x={labelX(busiest, band)} y={TOP - 4} textAnchor={anchorOf(busiest, monthDays)}>
          {count(days[busiest]!)}
        </text>
      )}
      {Array.from({ length: monthDays }, (_, at) => at)
        .filter((at) => at === 0 || (at + 1) % 5 === 0)
        .map((at) => (
          <text key={at} x={round((at + 0.5) * band)} y={HEIGHT - 4} textAnchor="middle">
            {at + 1}
          </text>
        ))}
    </svg>
  )
}

function labelX(at: number, band: number): number {
  return round((at + 0.5) * band)
}

function anchorOf(at: number, days: number): 'start' | 'middle' | 'end' {
  if (at < 2) return 'start'
  return at > days - 3 ? 'end' : 'middle'
}

const round = (value: number) => Math.round(value * 10) / 10
