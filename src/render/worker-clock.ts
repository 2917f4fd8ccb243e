import { setTimeout as delay } from 'node:timers/promises'

import type { Policy, VirtualClock } from './virtual-clock.ts'

/** Time goes by in steps of so much where timers of workers wait. */
const STEP_MS = 100
/** What workers said last is heard by the page in a moment of its own. */
const HEAR_MS = 1

/** Wakes one worker. Resolves with whether timers wait in it, once those that are due have run. */
export type Wake = () => Promise<boolean>

/**
 * A clock that the workers of its page keep step with. They read the same one,
 * but sleep by ours: after a jump, timers of theirs that are due would sleep on.
 * So where timers wait each step ends with a question to all workers, which
 * wakes them. (Chromium can bind workers to the clock, but one that ends while
 * it loads something then stops it for good: Chromium 153.)
 */
export function inStepWith(
  workers: () => readonly Wake[],
  clock: VirtualClock,
  /** How long one that computes is waited for at most, in real ms. */
  patienceMs: () => number,
  /** The clock has gone on by a step. */
  moved: () => void,
): VirtualClock {
  let grants = 0

  /** Whether timers wait in any of them. */
  const wake = async (): Promise<boolean> => {
    if (workers().length === 0 || patienceMs() === 0) return false
    const answered = new AbortController()
    const answers = Promise.all(workers().map((ask) => ask().catch(() => false)))
    const tooLate = delay(patienceMs(), null, { signal: answered.signal }).catch(() => null)
    const found = await Promise.race([answers, tooLate]).finally(() => answered.abort())
    return found?.includes(true) ?? false
  }

  return {
    ...clock,
    async grant(policy: Policy, budgetMs: number) {
      const grant = ++grants
      if (workers().length === 0) return clock.grant(policy, budgetMs)

      const goOn = async () => {
        for (let leftMs = budgetMs; leftMs > 0; ) {
          const stepMs = (await wake()) ? Math.min(STEP_MS, leftMs) : leftMs
          if (grant !== grants) return never
          const { expired } = await clock.grant(policy, stepMs)
          await expired
          moved()
          leftMs -= stepMs
        }
        await wake()
        if (grant !== grants) return never
        const { expired } = await clock.grant(policy, HEAR_MS)
        return expired
      }
      const expired = goOn()
      // The render may end meanwhile.
      expired.catch(() => {})
      return { expired }
    },
  }
}

/** Another grant has taken the place of this one, and nobody waits for it. */
const never = new Promise<never>(() => {})
