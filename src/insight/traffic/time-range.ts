/** Whole hours or days (UTC) from `fromMs` until before `toMs`. */
export type TimeRange = { fromMs: number; toMs: number; step: 'hour' | 'day' }

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
export const STEP_MS = { hour: HOUR_MS, day: DAY_MS } as const

/** The longest range, in days, in each step: a month of hours, a year of days. */
export const MOST_DAYS = { hour: 31, day: 366 } as const

/** Without an end, until now; without a start, so many days before the end. */
const USUAL_DAYS = { hour: 1, day: 30 } as const

/** Ranges longer than this are in days, where nobody says otherwise. */
const HOURS_UP_TO_DAYS = 7

export type AskedRange = {
  from?: string | undefined
  to?: string | undefined
  step?: 'hour' | 'day' | undefined
}

const MOMENT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z)?$/

/**
 * The range that is asked for, widened to whole steps; never past the step that
 * runs. Gives what is wrong as words that begin with the field.
 */
export function timeRange(asked: AskedRange, nowMs: number): { range: TimeRange } | { problem: string } {
  const from = asked.from === undefined ? null : moment(asked.from)
  const to = asked.to === undefined ? null : moment(asked.to)
  for (const [name, ms] of Object.entries({ from, to })) {
    if (Number.isNaN(ms)) {
      return { problem: `${name} must be a day (2026-11-01) or a moment in UTC (2026-11-01T12:00:00Z)` }
    }
  }
  if (from !== null && from > nowMs) return { problem: 'from must not lie in the future' }
  const endMs = Math.min(to ?? nowMs, nowMs)
  const step = asked.step ?? usualStep(from, endMs)
  const startMs = from ?? endMs - USUAL_DAYS[step] * DAY_MS
  if (startMs >= (to ?? Number.POSITIVE_INFINITY)) return { problem: 'to must be later than from' }

  const size = STEP_MS[step]
  const range = { step, fromMs: Math.floor(startMs / size) * size, toMs: Math.ceil(endMs / size) * size }
  // In its very first moment the step that runs is not empty either.
  if (range.toMs <= range.fromMs) range.toMs = range.fromMs + size
  // Whoever asks for the last 24 hours asks for parts of 25, and is not to be told that they are too many.
  if (range.toMs - range.fromMs > MOST_DAYS[step] * DAY_MS + size) {
    return { problem: `from must be at most ${MOST_DAYS[step]} days before to, in steps of one ${step}` }
  }
  return { range }
}

function usualStep(from: number | null, endMs: number): 'hour' | 'day' {
  return from !== null && endMs - from > HOURS_UP_TO_DAYS * DAY_MS ? 'day' : 'hour'
}

/** NaN: it is none, such as the 31st of February, which Date.parse takes for the 3rd of March; or nothing was counted then. */
function moment(text: string): number {
  if (!MOMENT.test(text)) return Number.NaN
  const ms = Date.parse(text)
  // PostgreSQL has no year 0.
  if (Number.isNaN(ms) || ms < 0) return Number.NaN
  return new Date(ms).toISOString().startsWith(text.slice(0, 10)) ? ms : Number.NaN
}

/** The starts of all steps of a range, as times. */
export function startsOf({ fromMs, toMs, step }: TimeRange): string[] {
  const starts: string[] = []
  for (let ms = fromMs; ms < toMs; ms += STEP_MS[step]) starts.push(new Date(ms).toISOString())
  return starts
}

/**
 * How long answers took, in fixed steps of a factor of √2: counts of nodes and
 * hours can be added up, and a quantile is right to within a fifth. Step 0 ends
 * at 1/16 ms; the last, which began after two minutes, has no end.
 */
export const STEPS = 44
const FIRST_MS = 0.0625

/** The step of a duration; what is no positive number is in the first. */
export function stepOf(seconds: number): number {
  const ms = seconds * 1_000
  if (!(ms > FIRST_MS)) return 0
  return Math.min(STEPS - 1, Math.ceil(2 * Math.log2(ms / FIRST_MS)))
}

/** Where a step ends, in milliseconds. */
export function endOfStepMs(step: number): number {
  return FIRST_MS * 2 ** (step / 2)
}

/**
 * The time, in milliseconds, within which `share` (0 to 1) of what was counted
 * was answered; null where nothing was. Within a step, evenly on a scale of
 * logarithms.
 */
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

/** For people and answers: three digits say all that is known. */
export function roundedMs(ms: number | null): number | null {
  return ms === null ? null : Number(ms.toPrecision(3))
}
