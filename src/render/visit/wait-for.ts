import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { within } from '../../within.ts'
import type { CdpSession } from '../browser/cdp.ts'
import type { NetworkActivity } from '../time/network-activity.ts'
import type { RenderClock } from '../time/virtual-clock.ts'

const SCRIPT = readFileSync(path.join(import.meta.dirname, '../in-page', 'rule.js'), 'utf8')

/** Different, so that an element which comes and goes at regular times is met. */
const STEPS_MS = [100, 170, 130]
/** Real time between steps: for databases, sockets and workers, which do not follow the page's clock. */
const PAUSE_MS = 10

type Awaited = {
  session: CdpSession
  world(): Promise<number>
  clock: RenderClock
  activity: Pick<NetworkActivity, 'isClockHeld'>
  nowMs(): number
  /** Of real time. */
  untilMs: number
}

/** Lets the page's clock run on: after `waitMs` of it until an element matches, for at most `pageMs`. False: none did. */
export async function waitFurther(
  { session, world, clock, activity, nowMs, untilMs }: Awaited,
  { waitFor, waitMs, pageMs }: { waitFor: string | undefined; waitMs: number; pageMs: number },
): Promise<boolean> {
  const run = async (ms: number): Promise<void> => {
    const isHeld = activity.isClockHeld()
    const { expired } = await clock.grant(isHeld ? 'advance' : 'pauseIfNetworkFetchesPending', ms)
    await within(untilMs - nowMs(), expired, 'late')
    await clock.pause()
  }
  if (waitMs > 0) await run(waitMs)
  if (waitFor === undefined) return true
  for (let [step, passedMs] = [0, 0]; ; step++) {
    // The clock stands, so that what is there now is in the snapshot.
    if (await isThere(session, await world(), waitFor)) return true
    if (passedMs >= pageMs || nowMs() >= untilMs) return false
    await delay(PAUSE_MS)
    const ms = STEPS_MS[step % STEPS_MS.length]!
    await run(ms)
    passedMs += ms
  }
}

async function isThere(session: CdpSession, contextId: number, selector: string): Promise<boolean> {
  const { result } = await session.send('Runtime.evaluate', {
    expression: `(() => {${SCRIPT}\nreturn isThere(${JSON.stringify(selector)})})()`,
    contextId,
    returnByValue: true,
  })
  return result.value === true
}
