import { setTimeout as delay } from 'node:timers/promises'

import type { CdpSession } from './cdp.ts'
import type { NetworkActivity } from './network-activity.ts'

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
export async function untilStalled(
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
