import { readFileSync } from 'node:fs'
import path from 'node:path'

import type { CdpSession } from '../browser/cdp.ts'
import type { VirtualClock } from '../time/virtual-clock.ts'

/** What a page is told of the date. */
export type PageDate = {
  /** Before each render, while the page's clock stands: what the next document would be told. Nobody waits for a page then. */
  read(): Promise<void>
  /** Sees to it that the next document begins at `nowMs` (milliseconds since the Unix epoch), within a fraction of a second. */
  begin(nowMs: number): Promise<void>
  /** For each worker that the page makes: has it tell the date as the page does. Empty: there is nothing to correct. */
  workerScript(): string
}

/** Nobody sees less. */
const TOLERANCE_MS = 250

const SCRIPT = readFileSync(path.join(import.meta.dirname, '../in-page', 'true-date.js'), 'utf8')

/** The script in the page replaces all that tells the date but this one. */
const READ_DATE = `new File([], '').lastModified`

/**
 * The clock of a page's process runs only while a page is rendered, and then
 * by seconds in milliseconds. So it is behind after a rest, and is moved on; or
 * ahead after many renders, and as Chromium cannot set it back, a script in
 * each document takes what it is ahead from all that tells the date, and
 * so it does in each worker.
 */
export function createPageDate(
  session: CdpSession,
  clock: VirtualClock,
  /** A world of ours in the document that is there, if there is one: that document may have replaced what tells the date. */
  ownWorld: () => number | undefined,
): PageDate {
  let aheadMs = 0
  /** By the page's clock, as it was last read. */
  let dateMs = 0
  /** What adds the script, and gives its name. */
  let script: Promise<string> | null = null

  /**
   * Within the tolerance it is left as it is, so that most renders change
   * nothing. Nobody waits for it: the page's process hears of it long before the
   * first byte of the next document.
   */
  const setAhead = (ms: number) => {
    if (Math.abs(ms - aheadMs) <= TOLERANCE_MS) return
    const before = script
    aheadMs = ms
    script = ms === 0 ? null : add(correction(ms))
    // A page that has gone meanwhile fails the render by itself.
    script?.catch(() => {})
    void before?.then(remove).catch(() => {})
  }
  const add = async (source: string) =>
    (await session.send('Page.addScriptToEvaluateOnNewDocument', { source })).identifier
  const remove = (identifier: string) =>
    session.send('Page.removeScriptToEvaluateOnNewDocument', { identifier })

  return {
    workerScript: () => (aheadMs === 0 ? '' : correction(aheadMs)),
    async read() {
      const read = { expression: READ_DATE, returnByValue: true }
      const { result } = await session.send('Runtime.evaluate', { ...read, ...inWorld(ownWorld()) })
      dateMs = Number(result.value)
    },
    async begin(nowMs) {
      const ms = dateMs - nowMs
      if (ms < -TOLERANCE_MS) {
        const { expired } = await clock.grant('advance', -ms)
        await expired
        await clock.renew()
      }
      setAhead(ms > TOLERANCE_MS ? ms : 0)
    },
  }
}

function correction(aheadMs: number): string {
  return `(() => {${SCRIPT}\ntellTrueDate(${aheadMs})})()`
}

function inWorld(contextId: number | undefined): { contextId?: number } {
  return contextId === undefined ? {} : { contextId }
}
