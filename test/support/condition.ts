import { setTimeout as delay } from 'node:timers/promises'

/** How long beyond its time one look may take before it is given up. */
const LOOK_MS = 60_000

/**
 * Looks every 20 ms until `probe` gives something other than null, undefined or
 * false, and returns that. `what` stands in the error after `timeoutMs`; an
 * error that `probe` throws counts as "not yet" and becomes the cause. A look
 * that began in time may end later; one that never ends is an error too.
 */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  timeoutMs = 10_000,
): Promise<NonNullable<T>> {
  const deadlineMs = performance.now() + timeoutMs
  const { promise: stuck, reject } = Promise.withResolvers<never>()
  stuck.catch(() => {})
  const timer = setTimeout(() => reject(new Error('a look that never ended')), timeoutMs + LOOK_MS)
  let cause: unknown
  try {
    for (;;) {
      try {
        const seen = await Promise.race([probe(), stuck])
        if (seen !== null && seen !== undefined && seen !== false) return seen
      } catch (error) {
        cause = error
      }
      if (performance.now() > deadlineMs) throw new Error(`not within ${timeoutMs} ms: ${what}`, { cause })
      await delay(20)
    }
  } finally {
    clearTimeout(timer)
  }
}
