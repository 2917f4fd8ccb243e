const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })
const HOUR = new Intl.DateTimeFormat(undefined, { hour: 'numeric', minute: '2-digit' })
const DAY_AND_HOUR = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: 'numeric',
  minute: '2-digit',
})
const LOCAL_DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const UTC_DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' })
const UTC_DAY_LONG = new Intl.DateTimeFormat(undefined, {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
})

/** `950`, `12.3K`: for axes. */
export const short = (value: number): string => COMPACT.format(value)

/** `98.5%`; a dash where there was nothing. */
export const percent = (share: number | null): string => (share === null ? '–' : PERCENT.format(share))

/** `0.07 ms`, `120 ms`, `2.4 s`; a dash where there was nothing. */
export function duration(ms: number | null): string {
  if (ms === null) return '–'
  if (ms >= 9_949.5) return `${Math.round(ms / 1_000)} s`
  if (ms >= 999.5) return `${(ms / 1_000).toFixed(1)} s`
  if (ms >= 9.95) return `${Math.round(ms)} ms`
  return `${Number(ms.toPrecision(2))} ms`
}

/** A step of a chart, in full: hours in the viewer's zone, days in UTC, as they were counted. */
export function stepName(iso: string, step: 'hour' | 'day'): string {
  const at = new Date(iso)
  return step === 'hour' ? DAY_AND_HOUR.format(at) : `${UTC_DAY_LONG.format(at)} (UTC)`
}

/** Which steps an axis may name: of many hours only those that begin a day, where the viewer is. */
export function nameable(times: readonly string[], step: 'hour' | 'day'): number[] {
  const places = times.map((_, at) => at)
  if (step === 'day' || times.length <= MANY) return places
  return places.filter((at) => new Date(times[at]!).getHours() === 0)
}

/** Hours, past which an axis names days. */
const MANY = 48

/** The same for an axis: of hours the time, and of the first of a day the day. */
export function axisName(iso: string, step: 'hour' | 'day'): string {
  const at = new Date(iso)
  if (step === 'day') return UTC_DAY.format(at)
  return at.getHours() === 0 ? LOCAL_DAY.format(at) : HOUR.format(at)
}
