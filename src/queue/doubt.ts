import type { JobOutcome } from './job.ts'
import type { LastGood } from './last-good.ts'

/** Why a sound render does not take the place of the last good copy. */
export type Doubt = { outcome: Extract<JobOutcome, 'shrunk' | 'origin-error'>; detail: string }

/** What is compared: the status, and how many characters there are to read. */
export type Extent = { status: number; textChars: number }

/** A new render with less than a third of the text is doubted ... */
const SHRINK = 3
/** ... unless the last good copy had little to say itself. */
export const SHRINK_FROM_CHARS = 600
/** Doubted again so long after the first time, a page has really changed. A deploy or an outage is over by then. */
export const DOUBT_MS = 5 * 60_000

/**
 * Whether a render is far worse than the last good copy, as with a back end
 * that is down behind a front end that is up. What is seen a second time, at
 * least `DOUBT_MS` later and with nothing better between, is believed, and so is
 * anything once the copy is past its keep time. 404 and 410 are believed at once.
 */
export function doubtOf(fresh: Extent, last: LastGood | null, nowMs: number): Doubt | null {
  if (last === null || last.status >= 300 || nowMs - last.renderedAtMs >= last.keepMs) return null
  if (last.doubtedAtMs !== null && nowMs - last.doubtedAtMs >= DOUBT_MS) return null
  if (fresh.status === 404 || fresh.status === 410) return null
  if (fresh.status >= 400) {
    return {
      outcome: 'origin-error',
      detail: `status ${fresh.status}; the last good copy has ${last.status}`,
    }
  }
  const { textChars } = last
  if (textChars === null || textChars < SHRINK_FROM_CHARS || fresh.textChars * SHRINK >= textChars)
    return null
  const detail = `${fresh.textChars} characters of text; the last good copy has ${textChars}`
  return { outcome: 'shrunk', detail }
}
