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
