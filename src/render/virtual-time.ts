import { setTimeout as delay } from 'node:timers/promises'

import type { CdpSession } from './cdp.ts'
import type { NetworkActivity } from './network-activity.ts'
import type { ReadySignal } from './ready-signal.ts'

/** Virtual milliseconds given to a page once it loads: its timers up to there are in the snapshot. */
const BUDGET_MS = 5_000
/** Given on top, in one step, when there was something still to come after that. */
const STEP_MS = 500
/** A page that asks for ever, also after its time was tripled, is as ready as it gets. */
const STEPS_LIMIT_MS = 2 * BUDGET_MS
/** Real time between two looks at what is waited for. */
const LOOK_EVERY_MS = 5
const LOOK_FOR_STALL_EVERY_MS = 25
/** A page that answers in this time runs at its usual speed; one that is slower is given more patience. */
const USUAL_ANSWER_MS = 5
const MOST_PATIENCE = 10

type Policy = 'pauseIfNetworkFetchesPending' | 'advance'

export type VirtualClock = {
  /** Stops the page's clock; to be sent before navigating. */
  pause(): Promise<unknown>
  /** Resolves when the page has had its time. Never, while the page holds the capture or hangs. */
  runUntilSettled(activity: NetworkActivity, page: ReadySignal): Promise<void>
  /** For the session's `Emulation.virtualTimeBudgetExpired`. */
  budgetExpired(): void
}

/**
 * The page's clock is ours: it jumps from timer to timer while nothing is
 * loading, and stands while something is. Streams and requests that never end
 * would hold it for ever: once only such are left it is taken past them, in
 * steps small enough for what a timer asks for meanwhile to be waited for.
 * The reasons and figures are in docs/decisions/0002-virtual-time.md.
 */
export function createVirtualClock(session: CdpSession, nowMs: () => number): VirtualClock {
  let tellExpired = () => {}

  /** Resolves when the granted time is used up, the page is ready, or the clock stands for nothing. */
  async function run(policy: Policy, budget: number, activity: NetworkActivity, ready: Promise<'ready'>) {
    const expired = new Promise<'expired'>((resolve) => {
      tellExpired = () => resolve('expired')
    })
    await session.send('Emulation.setVirtualTimePolicy', { policy, budget })
    // Told to advance, the clock never stands: only a script that hangs can stop it.
    if (policy === 'advance') return Promise.race([expired, ready])
    const over = new AbortController()
    try {
      return await Promise.race([expired, ready, untilStalled(activity, over.signal)])
    } finally {
      over.abort()
    }
  }

  async function untilStalled(activity: NetworkActivity, over: AbortSignal): Promise<'stalled'> {
    let patience = 1
    while (!over.aborted) {
      await delay(LOOK_FOR_STALL_EVERY_MS)
      if (over.aborted || !activity.isStalled(patience)) continue
      // On a busy machine quiet means little. How long the page takes to answer says how busy it is,
      // and while a script runs it does not answer at all.
      const askedMs = nowMs()
      await session.send('Runtime.evaluate', { expression: '0' })
      patience = Math.min(Math.max((nowMs() - askedMs) / USUAL_ANSWER_MS, 1), MOST_PATIENCE)
      if (activity.isStalled(patience)) return 'stalled'
    }
    return new Promise(() => {})
  }

  return {
    pause: () => session.send('Emulation.setVirtualTimePolicy', { policy: 'pause' }),
    budgetExpired: () => tellExpired(),

    async runUntilSettled(activity, page) {
      const ready = page.ready.then(() => 'ready' as const)
      let why = await run('pauseIfNetworkFetchesPending', BUDGET_MS, activity, ready)
      // The clock stood before its time was up: the page still has all of it to come.
      let owedMs = why === 'stalled' ? BUDGET_MS : 0

      for (let steppedMs = 0; why !== 'ready'; steppedMs += STEP_MS) {
        const isHeld = page.state === 'hold'
        const isMoreToCome = owedMs > 0 || activity.isBusy() || activity.isStreaming() || isHeld
        if (!isMoreToCome || (steppedMs >= STEPS_LIMIT_MS && !isHeld)) return

        while (activity.isBusy() || activity.isStreaming()) await delay(LOOK_EVERY_MS)
        // What a held page waits for may need real time (a worker, a socket): do not spin.
        if (isHeld) await Promise.race([ready, delay(4 * LOOK_EVERY_MS)])
        const policy = activity.isHeld() ? 'advance' : 'pauseIfNetworkFetchesPending'
        why = await run(policy, STEP_MS, activity, ready)
        owedMs -= STEP_MS
      }
    },
  }
}
