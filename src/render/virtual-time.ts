import { setTimeout as delay } from 'node:timers/promises'

import type { CdpSession } from './cdp.ts'
import type { NetworkActivity } from './network-activity.ts'

/** Virtual milliseconds given to a page once it loads: its timers up to there are in the snapshot. */
const BUDGET_MS = 5_000
/** Given on top when the clock ran past something that was still to come. */
const STEP_MS = 500
/** Between two looks, in real time, at what is waited for. */
const WAIT_MS = 5
/** How often, in real time, we look whether the clock stands for nothing. */
const LOOK_EVERY_MS = 25

/** What the page itself says about being ready; `hold` until it takes that back. */
export type ReadySignal = { readonly state: 'none' | 'hold' | 'ready'; readonly ready: Promise<void> }

export type VirtualClock = {
  /** Stops the page's clock; to be sent before navigating. */
  pause(): Promise<unknown>
  /** Resolves when the page has had its time. Does not end by itself while the page holds or hangs. */
  runUntilSettled(activity: NetworkActivity, page: ReadySignal): Promise<void>
  /** For the session's `Emulation.virtualTimeBudgetExpired`. */
  budgetExpired(): void
}

/**
 * The page's clock is ours: it jumps from timer to timer while nothing is
 * loading, and stands while something is. See docs/decisions/0002-virtual-time.md.
 */
export function createVirtualClock(session: CdpSession): VirtualClock {
  let tellExpired = () => {}

  const grant = async (policy: 'pauseIfNetworkFetchesPending' | 'advance', budget: number) => {
    const expired = new Promise<'expired'>((resolve) => {
      tellExpired = () => resolve('expired')
    })
    await session.send('Emulation.setVirtualTimePolicy', { policy, budget })
    return { expired }
  }

  return {
    pause: () => session.send('Emulation.setVirtualTimePolicy', { policy: 'pause' }),
    budgetExpired: () => tellExpired(),

    async runUntilSettled(activity, page) {
      const ready = page.ready.then(() => 'ready' as const)
      let { expired } = await grant('pauseIfNetworkFetchesPending', BUDGET_MS)
      // Streams and endless requests hold the clock. Once they have, it is taken past them in
      // steps, small enough for what a timer asks for meanwhile to be waited for.
      let steppedMs = 0
      const step = async () => {
        steppedMs += STEP_MS
        while (activity.isBusy()) await delay(WAIT_MS)
        ;({ expired } = await grant(activity.isHeld() ? 'advance' : 'pauseIfNetworkFetchesPending', STEP_MS))
      }

      for (;;) {
        const why = await firstOf(expired, ready, activity)
        if (why === 'ready') return
        if (why === 'stalled' || activity.isBusy() || (steppedMs > 0 && steppedMs < BUDGET_MS)) {
          // A page that asks for ever, also after its time was doubled, is as ready as it gets.
          if (steppedMs >= 2 * BUDGET_MS && page.state !== 'hold') return
          await step()
        } else if (activity.isStreaming()) {
          while (activity.isStreaming()) await delay(WAIT_MS)
          await step()
        } else if (page.state === 'hold') {
          // What it waits for may need real time (a socket, a worker): do not spin.
          await Promise.race([ready, delay(10 * WAIT_MS)])
          await step()
        } else {
          return
        }
      }
    },
  }
}

/** The clock has run out, the page says it is ready, or the clock stands for nothing. */
async function firstOf(
  expired: Promise<'expired'>,
  ready: Promise<'ready'>,
  activity: NetworkActivity,
): Promise<'expired' | 'ready' | 'stalled'> {
  const { promise: stalled, resolve } = Promise.withResolvers<'stalled'>()
  const looking = setInterval(() => activity.isStalled() && resolve('stalled'), LOOK_EVERY_MS)
  try {
    return await Promise.race([expired, ready, stalled])
  } finally {
    clearInterval(looking)
  }
}
