const NUMBER = new Intl.NumberFormat('en')
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const PERCENT = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 1 })
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
const SIZES = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** `12,345`. */
export const count = (value: number): string => NUMBER.format(value)

/** `1 page`, `2 pages`. */
export const counted = (value: number, noun: string, plural = `${noun}s`): string =>
  `${count(value)} ${value === 1 ? noun : plural}`

/** `950`, `12.3K`. */
export const compact = (value: number): string => COMPACT.format(value)

/** `98.5%`; a dash for null. */
export const percent = (share: number | null): string => (share === null ? '–' : PERCENT.format(share))

/** `0.07 ms`, `120 ms`, `2.4 s`; a dash for null. */
export function milliseconds(ms: number | null): string {
  if (ms === null) return '–'
  if (ms >= 9_949.5) return `${Math.round(ms / 1_000)} s`
  if (ms >= 999.5) return `${(ms / 1_000).toFixed(1)} s`
  if (ms >= 9.95) return `${Math.round(ms)} ms`
  return `${Number(ms.toPrecision(2))} ms`
}

/** `0.4 s`, `12 s`, `3 min`, `2 h`, `5 days`. */
export function duration(seconds: number): string {
  if (seconds < 10) return `${Math.round(seconds * 10) / 10} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} days`
}

/** `812 bytes`, `33.4 KiB`, `512 MiB`. */
export function bytes(value: number): string {
  const power = value < 1 ? 0 : Math.min(SIZES.length - 1, Math.floor(Math.log2(value) / 10))
  const scaled = value / 1024 ** power
  return `${scaled < 100 && power > 0 ? scaled.toFixed(1) : Math.round(scaled)} ${SIZES[power]}`
}

/** An hour in the viewer's time zone, or a UTC day, because days are counted in UTC. */
export function stepName(iso: string, step: 'hour' | 'day'): string {
  const at = new Date(iso)
  return step === 'hour' ? DAY_AND_HOUR.format(at) : `${UTC_DAY.format(at)} (UTC)`
}

export const dayName = (day: string): string => stepName(`${day}T00:00:00Z`, 'day')

export const FORM_LABELS = { html: 'HTML', markdown: 'Markdown', card: 'Card' } as const
