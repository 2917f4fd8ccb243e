import { setTimeout as delay } from 'node:timers/promises'

import type { CdpSession } from './cdp.ts'
import type { NetworkActivity } from './network-activity.ts'
import type { ReadySignal } from './ready-signal.ts'
import type { CaptureReason } from './record.ts'
import { untilStalled } from './stall.ts'
import type { Policy, VirtualClock } from './virtual-clock.ts'

/** Virtual milliseconds given to a page once it loads: its timers up to there are in the snapshot. */
const BUDGET_MS = 5_000
/** Given on top, in one step, when there was something still to come after that. */
const STEP_MS = 500
/** A page that finds something to do in every round is as ready as it gets. */
const ROUNDS_LIMIT = 20
/** Real time between two looks at what is waited for. */
const LOOK_EVERY_MS = 5
/** What a held page waits for may need real time: so much of it between two steps. */
const HOLD_PAUSE_MS = 20

/**
 * Gives the page its time, and resolves with why it has had it; never, while the
 * page holds the capture or hangs. The clock jumps from timer to timer while
 * nothing is loading, and stands while something is. Streams and requests that
 * never end would hold it for ever: once only such are left it is taken past
 * them, in steps small enough for what a timer asks for meanwhile to be waited
 * for. The reasons and figures are in docs/decisions/0002-virtual-time.md.
 */
export async function runUntilSettled(
  session: CdpSession,
  clock: VirtualClock,
  activity: NetworkActivity,
  page: ReadySignal,
  nowMs: () => number,
): Promise<CaptureReason> {
  const ready = page.ready.then(() => 'ready' as const)
  /** It stood, and nothing was pending that is known: a worker, say, that ended before its script had run. */
  let isStuck = false

  const run = async (policy: Policy, budgetMs: number) => {
    const { expired } = await clock.grant(policy, budgetMs)
    // Told to advance, the clock never stands: only a script that hangs can stop it.
    if (policy === 'advance' && !isStuck) return Promise.race([expired, ready])
    const over = new AbortController()
    const stalled = untilStalled(session, activity, nowMs, over.signal)
    const ended = await Promise.race([expired, ready, stalled]).finally(() => over.abort())
    if (ended === 'expired' && policy !== 'advance') activity.clockRanOut()
    if (ended === 'stalled') isStuck = !activity.isHeld()
    return ended === 'slow' ? 'stalled' : ended
  }

  let why = await run('pauseIfNetworkFetchesPending', BUDGET_MS)
  // The clock stood before its time was up: the page still has all of it to come.
  let owedMs = why === 'stalled' ? BUDGET_MS : 0
  let capture: CaptureReason = why === 'stalled' ? 'idle' : 'budget'

  for (let round = 0; why !== 'ready'; round++) {
    const isHeld = page.state === 'hold'
    // The clock ran out while the page waited for its data base: it has had nothing of its time yet.
    const hasWorked = activity.takeWorked()
    if (hasWorked) owedMs = BUDGET_MS
    const isMoreToCome = owedMs > 0 || activity.isBusy() || activity.isStreaming() || isHeld
    if (!isMoreToCome) break
    if (round >= ROUNDS_LIMIT && !isHeld) {
      capture = 'cap'
      break
    }

    // Meanwhile the page's clock goes at the pace of ours: stopped, it would also hold
    // back the answers of data bases and sockets.
    const policy = () => (activity.isHeld() || isStuck ? 'advance' : 'pauseIfNetworkFetchesPending')
    const untilMs = nowMs() + (isHeld ? HOLD_PAUSE_MS : 0)
    for (let sinceMs = nowMs(); ; ) {
      if (!activity.isBusy() && !activity.isStreaming() && nowMs() >= untilMs) break
      await delay(LOOK_EVERY_MS)
      const passedMs = Math.max(nowMs() - sinceMs, LOOK_EVERY_MS)
      sinceMs = nowMs()
      why = await run(policy(), passedMs)
      if (why === 'ready') break
      // It stood as long as it was told to.
      if (why === 'stalled') sinceMs = nowMs()
    }
    if (why === 'ready') break

    const budgetMs = hasWorked && policy() !== 'advance' ? BUDGET_MS : STEP_MS
    owedMs -= budgetMs
    why = await run(policy(), budgetMs)
  }
  await clock.pause()
  return page.state === 'ready' ? 'ready-signal' : capture
}
