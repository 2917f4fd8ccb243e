import { setTimeout as delay } from 'node:timers/promises'
import { CdpClosed, type CdpConnection, type CdpSession } from '../browser/cdp.ts'
import type { CaptureReason } from '../record.ts'
import type { NetworkActivity } from './network-activity.ts'
import type { ReadySignal } from './stillness.ts'
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

const LOOK_FOR_STALL_EVERY_MS = 25
/** A page that answers in this time runs at its usual speed; one that is slower is given more patience. */
const USUAL_ANSWER_MS = 5
const MOST_PATIENCE = 3

/** The clock that may stand, in ms. */
const READ_CLOCK = `new File([], '').lastModified`

/** With nothing pending that we know of it may only rest between two jumps: a page that never rests lets it go now and then. */
const LOOKS_WITH_NOTHING_PENDING = 12
/** A clock that moves is given so many times the patience. */
const WHILE_IT_MOVES = 3

/**
 * Resolves once the page's clock stands for nothing that is worth waiting for
 * (`stalled`), or goes too slowly to be waited for (`slow`); never, after `over`.
 */
async function untilStalled(
  session: CdpSession,
  activity: NetworkActivity,
  nowMs: () => number,
  over: AbortSignal,
): Promise<'stalled' | 'slow'> {
  let patience = 1
  let clock: unknown = null
  let looks = 0
  while (!over.aborted) {
    await delay(LOOK_FOR_STALL_EVERY_MS)
    if (over.aborted || !activity.isStalled(patience)) continue
    // Quiet alone also means timers at work: the clock stands when it was the same at the last look.
    // On a busy machine quiet means little. How long the page takes to answer says how busy it is,
    // and while a script runs it does not answer at all.
    const askedMs = nowMs()
    const { result } = await session.send('Runtime.evaluate', { expression: READ_CLOCK })
    patience = Math.min(Math.max((nowMs() - askedMs) / USUAL_ANSWER_MS, 1), MOST_PATIENCE)
    looks = result.value === clock ? looks + 1 : 0
    const enough = activity.isHeld() ? 1 : LOOKS_WITH_NOTHING_PENDING
    if (looks >= enough && activity.isStalled(patience)) return 'stalled'
    if (looks === 0 && clock !== null && activity.isStalled(patience * WHILE_IT_MOVES)) return 'slow'
    clock = result.value
  }
  return new Promise(() => {})
}

/** What is left of a render that ended early must not reach the next one in the same tab. */
export function sessionUntilOver(session: CdpSession, isOver: () => boolean): CdpSession {
  return {
    ...session,
    send: (method, ...params) =>
      isOver() ? Promise.reject(new CdpClosed('the render is over')) : session.send(method, ...params),
  }
}

/** The same for the page's clock: time that a render takes after its end would be missing in the next one. */
export function clockUntilOver(clock: VirtualClock, isOver: () => boolean): VirtualClock {
  const over = () => Promise.reject(new CdpClosed('the render is over'))
  return {
    ...clock,
    pause: () => (isOver() ? over() : clock.pause()),
    grant: (...given) => (isOver() ? over() : clock.grant(...given)),
  }
}

/** The same for the sessions of what a page has started. */
export function connectionUntilOver(
  connection: CdpConnection,
  isOver: () => boolean,
): Pick<CdpConnection, 'session' | 'endSession'> {
  const session = (sessionId: string) => sessionUntilOver(connection.session(sessionId), isOver)
  return { session, endSession: connection.endSession }
}
