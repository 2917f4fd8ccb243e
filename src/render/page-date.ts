import { readFileSync } from 'node:fs'
import path from 'node:path'

import type { CdpSession } from './cdp.ts'
import type { VirtualClock } from './virtual-clock.ts'

/** What a page is told of the date. */
export type PageDate = {
  /**
   * Stops the page's clock, and sees to it that the next document begins at
   * `nowMs` (milliseconds since the Unix epoch), within a fraction of a second.
   */
  begin(nowMs: number): Promise<void>
}

/** Nobody sees less. */
const TOLERANCE_MS = 250

const SCRIPT = readFileSync(path.join(import.meta.dirname, 'in-page', 'true-date.js'), 'utf8')

/** The script in the page replaces all that tells the date but this one. */
const READ_DATE = `new File([], '').lastModified`

/**
 * The clock of a page's process runs only while a page is rendered, and then
 * by seconds in milliseconds. So it is behind after a rest, and is moved on; or
 * ahead after many renders, and as Chromium cannot set it back, a script in
 * each document takes what it is ahead from all that tells the date. Workers
 * are not told: theirs may be ahead by as much as a process lives.
 */
export function createPageDate(
  session: CdpSession,
  clock: VirtualClock,
  /** A world of ours in the document that is there, if there is one: that document may have replaced what tells the date. */
  ownWorld: () => number | undefined,
): PageDate {
  let aheadMs = 0
  let scriptId: string | null = null

  /** Within the tolerance it is left as it is, so that most renders change nothing. */
  const setAhead = async (ms: number) => {
    if (Math.abs(ms - aheadMs) <= TOLERANCE_MS) return
    const before = scriptId
    aheadMs = ms
    scriptId = null
    const source = `(() => {${SCRIPT}\ntellTrueDate(${ms})})()`
    const [added] = await Promise.all([
      ms === 0 ? null : session.send('Page.addScriptToEvaluateOnNewDocument', { source }),
      before === null
        ? null
        : session.send('Page.removeScriptToEvaluateOnNewDocument', { identifier: before }),
    ])
    scriptId = added?.identifier ?? null
  }

  return {
    async begin(nowMs) {
      const [, { result }] = await Promise.all([
        clock.pause(),
        session.send('Runtime.evaluate', {
          expression: READ_DATE,
          returnByValue: true,
          ...inWorld(ownWorld()),
        }),
      ])
      const ms = Number(result.value) - nowMs
      if (ms < -TOLERANCE_MS) {
        const { expired } = await clock.grant('advance', -ms)
        await expired
      }
      await setAhead(ms > TOLERANCE_MS ? ms : 0)
    },
  }
}

function inWorld(contextId: number | undefined): { contextId?: number } {
  return contextId === undefined ? {} : { contextId }
}
