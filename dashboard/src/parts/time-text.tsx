import { useTicks } from './ticks.ts'

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

const STEPS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** `3 hours ago` or `in 2 days`; after some weeks the day itself. */
export function ago(iso: string, nowMs = Date.now()): string {
  const seconds = (Date.parse(iso) - nowMs) / 1_000
  if (Math.abs(seconds) > 45 * 86_400) return DAY.format(new Date(iso))
  for (const [unit, size] of STEPS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.round(seconds / size), unit)
  }
  return 'just now'
}

/** A moment in words, with the exact one for whoever points at it. */
export function TimeText({ at, none = 'never' }: { at: string | null; none?: string }) {
  useTicks()
  if (at === null) return <span className="quiet">{none}</span>
  return (
    <time dateTime={at} title={EXACT.format(new Date(at))}>
      {ago(at)}
    </time>
  )
}
