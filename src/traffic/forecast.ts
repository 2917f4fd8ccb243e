const DAY_MS = 86_400_000

/** Whole days on which a forecast looks back. */
export const FORECAST_DAYS = 7

export type Forecast = {
  /** Renders of an ordinary day: the median of the last whole days. */
  per_day: number
  /** Until the month ends, with the part of today that is left. */
  days_left: number
  /** Renders of the month at its end: those until now, and `per_day` for each day that is left. */
  renders: number
  /** The UTC day on which the limit is reached at that pace; null: not in this month. */
  reaches_limit_on: string | null
}

/**
 * What a month comes to: month-to-date + median of the last 7 whole UTC days ×
 * days left. A median, as one deploy that renders a whole site anew says
 * nothing of the days to come. Null: there is no whole day yet.
 * `used`: renders of the month so far; `days`: of the last whole days, none left out.
 */
export function forecastRenders(month: {
  used: number
  limit: number
  days: readonly number[]
  nowMs: number
}): Forecast | null {
  const { used, limit, days, nowMs } = month
  if (days.length === 0) return null
  const perDay = median(days)
  const now = new Date(nowMs)
  const endMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
  const daysLeft = (endMs - nowMs) / DAY_MS
  return {
    per_day: perDay,
    days_left: Math.round(daysLeft * 100) / 100,
    renders: Math.round(used + perDay * daysLeft),
    reaches_limit_on: reachedOn(limit - used, perDay, nowMs, endMs),
  }
}

function reachedOn(left: number, perDay: number, nowMs: number, endMs: number): string | null {
  if (left <= 0) return new Date(nowMs).toISOString().slice(0, 10)
  if (perDay === 0) return null
  const atMs = nowMs + (left / perDay) * DAY_MS
  return atMs < endMs ? new Date(atMs).toISOString().slice(0, 10) : null
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1]!, sorted[sorted.length >> 1]!]
  return (low + high) / 2
}
