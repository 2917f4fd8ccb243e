import { setTimeout as delay } from 'node:timers/promises'

/** How much longer a single probe may take. */
const LOOK_MS = 60_000

/** Probes every 10 ms until the result is not null, undefined or false. Throws after `timeoutMs`: enough for a busy machine. */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  timeoutMs = 30_000,
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
      await delay(10)
    }
  } finally {
    clearTimeout(timer)
  }
}

/** The number, once ten looks have seen the same: of something that fills up and then stands still. */
export async function standsAt(read: () => number): Promise<number> {
  let before = 0
  for (let same = 0; same < 10; ) {
    await delay(20)
    const now = read()
    same = now > 0 && now === before ? same + 1 : 0
    before = now
  }
  return before
}
