import type { Problem } from '../problem.ts'

/** Whole UTC hours or days, excluding `toMs`. */
export type TimeRange = { fromMs: number; toMs: number; step: 'hour' | 'day' }

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const STEP_MS = { hour: HOUR_MS, day: DAY_MS } as const

export const MAX_DAYS = { hour: 31, day: 366 } as const

const DEFAULT_DAYS = { hour: 1, day: 30 } as const

const HOURS_UP_TO_DAYS = 7

export type RequestedRange = {
  from?: string | undefined
  to?: string | undefined
  step?: 'hour' | 'day' | undefined
}

const MOMENT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/

/** The requested range in whole steps, up to now. */
export function timeRange(
  requested: RequestedRange,
  nowMs: number,
): { range: TimeRange } | { problem: Problem } {
  const from = requested.from === undefined ? null : moment(requested.from)
  const to = requested.to === undefined ? null : moment(requested.to)
  for (const [name, ms] of Object.entries({ from, to })) {
    if (Number.isNaN(ms)) {
      return refused(name, 'must be a day (2026-11-01) or a moment in UTC (2026-11-01T12:00:00Z)')
    }
  }
  if (from !== null && from > nowMs) return refused('from', 'must not lie in the future')
  const endMs = Math.min(to ?? nowMs, nowMs)
  const step = requested.step ?? defaultStep(from, endMs)
  const startMs = from ?? endMs - DEFAULT_DAYS[step] * DAY_MS
  if (startMs >= (to ?? Number.POSITIVE_INFINITY)) return refused('to', 'must be later than from')

  const size = STEP_MS[step]
  const range = { step, fromMs: Math.floor(startMs / size) * size, toMs: Math.ceil(endMs / size) * size }
  if (range.toMs <= range.fromMs) range.toMs = range.fromMs + size
  // The last 24 hours are parts of 25.
  if (range.toMs - range.fromMs > MAX_DAYS[step] * DAY_MS + size) {
    return refused('from', `must be at most ${MAX_DAYS[step]} days before to, in steps of one ${step}`)
  }
  return { range }
}

function refused(field: string, message: string): { problem: Problem } {
  return { problem: { path: [field], message } }
}

function defaultStep(from: number | null, endMs: number): 'hour' | 'day' {
  return from !== null && endMs - from > HOURS_UP_TO_DAYS * DAY_MS ? 'day' : 'hour'
}

/** NaN: not a date (Date.parse turns 31 February into 3 March), or before 1970. */
function moment(text: string): number {
  if (!MOMENT.test(text)) return Number.NaN
  const ms = Date.parse(text)
  // PostgreSQL has no year 0.
  if (Number.isNaN(ms) || ms < 0) return Number.NaN
  return new Date(ms).toISOString().startsWith(text.slice(0, 10)) ? ms : Number.NaN
}

export function startsOf({ fromMs, toMs, step }: TimeRange): string[] {
  const starts: string[] = []
  for (let ms = fromMs; ms < toMs; ms += STEP_MS[step]) starts.push(new Date(ms).toISOString())
  return starts
}

/** Each step is √2 times the previous, from 1/16 ms to two minutes. Quantiles are right within a fifth. */
export const TIME_STEPS = 44
const FIRST_MS = 0.0625

export function stepOf(seconds: number): number {
  const ms = seconds * 1_000
  if (!(ms > FIRST_MS)) return 0
  return Math.min(TIME_STEPS - 1, Math.ceil(2 * Math.log2(ms / FIRST_MS)))
}

function endOfStepMs(step: number): number {
  return FIRST_MS * 2 ** (step / 2)
}

/** `share`: 0 to 1. Interpolates on a logarithmic scale; null without counts. */
export function quantileMs(times: readonly number[], share: number): number | null {
  const total = times.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let left = share * total
  for (const [step, count] of times.entries()) {
    if (count > 0 && left <= count) {
      const endMs = endOfStepMs(step)
      return step === 0 ? endMs : endMs * 2 ** ((left / count - 1) / 2)
    }
    left -= count
  }
  return endOfStepMs(times.length - 1)
}

export function roundedMs(ms: number | null): number | null {
  return ms === null ? null : Number(ms.toPrecision(3))
}
