// Every number, size, duration and time on a screen is written by one of these functions.

const NUMBER = new Intl.NumberFormat('en')
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const SHARE = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const SIZES = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

const TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const TIME_WITH_SECONDS = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const HOUR = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const SHORT_DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const SHORT_UTC_DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const DAY_AND_HOUR = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: 'numeric',
  minute: '2-digit',
})
const UTC_DAY = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/** Writes `12,345`. */
export const count = (value: number): string => NUMBER.format(value)

/** Writes `1 page` or `2 pages`. */
export const counted = (value: number, noun: string, plural = `${noun}s`): string =>
  `${count(value)} ${value === 1 ? noun : plural}`

/** Begins with a capital letter. */
export const capitalised = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** Writes `950` or `12.3K`. */
export const compact = (value: number): string => COMPACT.format(value)

/** Writes `98.5 %` without a break, as reports and letters do, or a dash for null. */
export const percent = (share: number | null): string =>
  share === null ? '–' : `${SHARE.format(share * 100)}\u00a0%`

/** Writes `12 % more`, `3 % less` or `as many`; empty where there was nothing before. */
export function difference(now: number, before: number): string {
  if (before === 0) return ''
  const change = (now - before) / before
  if (Math.abs(change) < 0.005) return 'as many'
  const size = percent(Math.round(Math.abs(change) * 100) / 100)
  return change > 0 ? `${size} more` : `${size} less`
}

/** Writes `12 % more than the week before` or `as many as the week before`; empty where there was nothing before. */
export function differenceToWeekBefore(now: number, before: number): string {
  const changed = difference(now, before)
  if (changed === '') return ''
  return `${changed} ${changed === 'as many' ? 'as' : 'than'} the week before`
}

/** Writes `0.07 ms`, `120 ms` or `2.4 s`, or a dash for null. */
export function milliseconds(ms: number | null): string {
  if (ms === null) return '–'
  if (ms >= 9_949.5) return `${Math.round(ms / 1_000)} s`
  if (ms >= 999.5) return `${(ms / 1_000).toFixed(1)} s`
  if (ms >= 9.95) return `${Math.round(ms)} ms`
  return `${Number(ms.toPrecision(2))} ms`
}

/** Writes `0.4 s`, `12 s`, `3 min`, `2 h` or `5 days`. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} days`
}

const EXACT_STEPS = [
  ['h', 3_600],
  ['min', 60],
] as const

/** Writes a duration that somebody set, without rounding: `25 s`, `90 min`, `24 h` or `7 days`. */
export function exactDuration(seconds: number): string {
  if (seconds >= 172_800 && seconds % 86_400 === 0) return `${count(seconds / 86_400)} days`
  for (const [unit, size] of EXACT_STEPS) {
    if (seconds >= size && seconds % size === 0) return `${count(seconds / size)} ${unit}`
  }
  return `${count(seconds)} s`
}

/** Writes `1 byte`, `812 bytes`, `33.4 KiB` or `512 MiB`. */
export function bytes(value: number): string {
  if (value === 1) return '1 byte'
  const power = value < 1 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log2(value) / 10))
  const scaled = value / 1024 ** power
  return `${scaled < 100 && power > 0 ? scaled.toFixed(1) : Math.round(scaled)} ${SIZES[power]}`
}

/** Writes date and time in the viewer's time zone. */
export const exactTime = (iso: string): string => TIME.format(new Date(iso))

/** Writes date and time with seconds, in the viewer's time zone. */
export const exactTimeWithSeconds = (iso: string): string => TIME_WITH_SECONDS.format(new Date(iso))

const RELATIVE_STEPS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const

/** After so many days the date says more than "46 days ago". */
const RELATIVE_DAYS = 45

/** Writes `3 hours ago` or `in 2 days`, and the date after 45 days. */
export function ago(iso: string, nowMs = Date.now()): string {
  const seconds = (Date.parse(iso) - nowMs) / 1_000
  if (Math.abs(seconds) > RELATIVE_DAYS * 86_400) return DATE.format(new Date(iso))
  for (const [unit, size] of RELATIVE_STEPS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.round(seconds / size), unit)
  }
  return 'just now'
}

/** As `ago`, of visits to a page, which a node notes at most once an hour. */
export function visitedAgo(iso: string, nowMs = Date.now()): string {
  return nowMs - Date.parse(iso) < 3_600_000 ? 'within the last hour' : ago(iso, nowMs)
}

export type Step = 'hour' | 'day'

/** Names an hour in the viewer's time zone, or a UTC day, because days are counted in UTC. */
export function stepName(iso: string, step: Step): string {
  const at = new Date(iso)
  return step === 'hour' ? DAY_AND_HOUR.format(at) : `${UTC_DAY.format(at)} (UTC)`
}

/** Names a time of day in the viewer's time zone, such as `14:00`. */
export const hourName = (iso: string): string => HOUR.format(new Date(iso))

/** Names a UTC day such as `2026-11-15`. */
export const dayName = (day: string): string => stepName(`${day}T00:00:00Z`, 'day')

/** Names a step below the axis of a chart: midnight by its day, and other hours by their time. */
export function axisName(iso: string, step: Step): string {
  const at = new Date(iso)
  if (step === 'day') return SHORT_UTC_DAY.format(at)
  return at.getHours() === 0 ? SHORT_DAY.format(at) : HOUR.format(at)
}
