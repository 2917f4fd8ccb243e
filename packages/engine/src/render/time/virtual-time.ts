import { setTimeout as delay } from 'node:timers/promises'
import type { CaptureReason } from '@prepaint/contract/outcome/record.ts'
import { within } from '@prepaint/runtime/within.ts'
import type { CdpListeners, CdpSession } from '../browser/cdp.ts'
import type { NetworkActivity } from './network-activity.ts'
import type { Policy, RenderClock } from './virtual-clock.ts'

/** Virtual milliseconds after load: timers up to there are in the snapshot. */
const BUDGET_MS = 5_000
const STEP_MS = 500
/** A page that is busy in every round is as ready as it gets. */
const ROUNDS_LIMIT = 20
const CHECK_EVERY_MS = 5
/** While late responses are awaited, which can take many seconds. */
const CHECK_AWAITED_EVERY_MS = 25
/** A page that holds its capture gets this much real time between steps. */
const HOLD_PAUSE_MS = 20

/**
 * Ends at `captureByMs`, if given; else never while the page holds the capture or hangs. See
 * docs/decisions/0002-virtual-time.md.
 */
export async function runUntilSettled(
  session: CdpSession,
  clock: RenderClock,
  activity: NetworkActivity,
  signal: ReadySignal,
  nowMs: () => number,
  captureByMs: number | null = null,
): Promise<CaptureReason> {
  let isOver = false
  const stoppable: RenderClock = {
    pause: () => clock.pause(),
    grant: (policy, budgetMs) => (isOver ? new Promise(() => {}) : clock.grant(policy, budgetMs)),
  }
  const settled = settle(session, stoppable, activity, signal, nowMs)
  const capture =
    captureByMs === null ? await settled : await within(captureByMs - nowMs(), settled, 'deadline' as const)
  isOver = true
  await clock.pause()
  return capture
}

async function settle(
  session: CdpSession,
  clock: RenderClock,
  activity: NetworkActivity,
  signal: ReadySignal,
  nowMs: () => number,
): Promise<CaptureReason> {
  const ready = signal.ready.then(() => 'ready' as const)
  let isStuck = false

  const run = async (policy: Policy, budgetMs: number) => {
    const { expired } = await clock.grant(policy, budgetMs)
    // Told to advance, the clock never stands: only a script that hangs can stop it.
    if (policy === 'advance' && !isStuck) return Promise.race([expired, ready])
    const over = new AbortController()
    const stopped = untilClockStops(session, activity, nowMs, over.signal)
    const ended = await Promise.race([expired, ready, stopped]).finally(() => over.abort())
    if (ended === 'expired' && policy !== 'advance') activity.clockRanOut()
    if (ended === 'stopped') isStuck = !activity.isClockHeld()
    return ended === 'slow' ? 'stopped' : ended
  }
  const policy = () => (activity.isClockHeld() || isStuck ? 'advance' : 'pauseIfNetworkFetchesPending')

  /** Runs the clock at real speed: stopped, it would hold back databases and sockets. */
  const runInRealTime = async (mustGoOn: () => boolean, everyMs = CHECK_EVERY_MS) => {
    for (let sinceMs = nowMs(); activity.isBusy() || activity.isStreaming() || mustGoOn(); ) {
      await delay(everyMs)
      const passedMs = Math.max(nowMs() - sinceMs, everyMs)
      sinceMs = nowMs()
      const ended = await run(policy(), passedMs)
      if (ended === 'ready') return ended
      if (ended === 'stopped') sinceMs = nowMs()
    }
    return 'expired'
  }

  let ended = await run('pauseIfNetworkFetchesPending', BUDGET_MS)
  let capture: CaptureReason = ended === 'stopped' ? 'idle' : 'budget'
  // The clock stopped early: the page is owed its whole budget.
  let owedMs = ended === 'stopped' ? BUDGET_MS : 0

  for (let round = 0; ended !== 'ready'; round++) {
    const isOnHold = signal.state === 'hold'
    const hasLostTime = activity.takeLostTime()
    if (hasLostTime) owedMs = BUDGET_MS
    const isDone = owedMs <= 0 && !activity.isBusy() && !activity.isStreaming()
    if ((isDone || round >= ROUNDS_LIMIT) && !isOnHold) {
      if (!activity.isAwaiting()) {
        if (!isDone) capture = 'cap'
        break
      }
      // By now the page's clock shows about the real time, as in a browser.
      if ((await runInRealTime(() => activity.isAwaiting(), CHECK_AWAITED_EVERY_MS)) === 'ready') break
      owedMs = BUDGET_MS
      round = 0
      continue
    }
    const holdUntilMs = nowMs() + (isOnHold ? HOLD_PAUSE_MS : 0)
    if ((await runInRealTime(() => nowMs() < holdUntilMs)) === 'ready') break
    const budgetMs = hasLostTime && policy() !== 'advance' ? BUDGET_MS : STEP_MS
    owedMs -= budgetMs
    ended = await run(policy(), budgetMs)
  }
  return signal.state === 'ready' ? 'ready-signal' : capture
}

const CHECK_CLOCK_EVERY_MS = 25
/** A page that answers within this time runs at its usual speed; a slower one gets more time. */
const USUAL_ANSWER_MS = 5
const MOST_SLOWNESS = 3

const READ_CLOCK = `new File([], '').lastModified`

const CHECKS_WITHOUT_REQUESTS = 12
const WHILE_IT_MOVES = 3

/** Resolves when the clock stands for nothing relevant (`stopped`) or is too slow (`slow`); never after `over`. */
async function untilClockStops(
  session: CdpSession,
  activity: NetworkActivity,
  nowMs: () => number,
  over: AbortSignal,
): Promise<'stopped' | 'slow'> {
  let slowness = 1
  let clock: unknown = null
  let checks = 0
  while (!over.aborted) {
    await delay(CHECK_CLOCK_EVERY_MS)
    if (over.aborted || !activity.isQuiet(slowness)) continue
    // The response time shows how busy the machine is.
    const askedMs = nowMs()
    const { result } = await session.send('Runtime.evaluate', { expression: READ_CLOCK })
    slowness = Math.min(Math.max((nowMs() - askedMs) / USUAL_ANSWER_MS, 1), MOST_SLOWNESS)
    checks = result.value === clock ? checks + 1 : 0
    const enough = activity.isClockHeld() ? 1 : CHECKS_WITHOUT_REQUESTS
    if (checks >= enough && activity.isQuiet(slowness)) return 'stopped'
    if (checks === 0 && clock !== null && activity.isQuiet(slowness * WHILE_IT_MOVES)) return 'slow'
    clock = result.value
  }
  return new Promise(() => {})
}

/**
 * Flags of the page: false holds the capture, true ends the wait, unless it goes on in any case. If several are false,
 * each must become true.
 */
export class ReadySignal {
  readonly ready: Promise<void>
  readonly #resolve: () => void
  readonly #endsWait: boolean
  readonly #onHold = new Set<string>()
  #isReady = false

  constructor(endsWait = true) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#endsWait = endsWait
    this.ready = promise
    this.#resolve = resolve
  }

  get state(): 'none' | 'hold' | 'ready' {
    if (this.#onHold.size > 0) return 'hold'
    return this.#isReady ? 'ready' : 'none'
  }

  /** `hold` or `ready` and the flag's name, from in-page/new-document.js. */
  hear(word: string): void {
    const [verb, flag = ''] = word.split(' ', 2)
    if (verb === 'hold') this.#onHold.add(flag)
    if (verb !== 'ready') return
    this.#onHold.delete(flag)
    if (this.#onHold.size > 0) return
    this.#isReady = true
    if (this.#endsWait) this.#resolve()
  }

  readonly listeners: CdpListeners = { 'Runtime.bindingCalled': ({ payload }) => this.hear(payload) }
}
