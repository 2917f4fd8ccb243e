import { setTimeout as delay } from 'node:timers/promises'

/**
 * Looks every 20 ms until `probe` gives something other than null, undefined or
 * false, and returns that. `what` stands in the error after `timeoutMs`; an
 * error that `probe` throws counts as "not yet" and becomes the cause.
 */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  timeoutMs = 10_000,
): Promise<NonNullable<T>> {
  const deadlineMs = performance.now() + timeoutMs
  let cause: unknown
  for (;;) {
    try {
      const seen = await probe()
      if (seen !== null && seen !== undefined && seen !== false) return seen
    } catch (error) {
      cause = error
    }
    if (performance.now() > deadlineMs) throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause })
    await delay(20)
  }
}
