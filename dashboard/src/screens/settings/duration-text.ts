const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** `s`, `sec`, `seconds`; `min`, `minutes`; `h`, `hours`; `d`, `days`, with or without a space before. */
const DURATION = /^(\d+(?:\.\d+)?)\s*(s|sec|secs|seconds?|min|mins|minutes?|h|hours?|d|days?)$/i

/** Reads what `exactDuration` writes, and what people write like it. Returns whole seconds; null: it is no duration. */
export function parseDuration(text: string): number | null {
  const trimmed = text.trim().replaceAll(',', '')
  if (trimmed === '0') return 0
  const [, amount, unit] = DURATION.exec(trimmed) ?? []
  const inSeconds = SECONDS[unit?.[0]?.toLowerCase() ?? '']
  return inSeconds === undefined ? null : Math.round(Number(amount) * inSeconds)
}
