import type { Clock } from '@prepaint/runtime/clock.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'

const DAY_MS = 86_400_000
/** Subjects that are remembered. Beyond it, those that were quiet longest begin anew. */
const SUBJECTS_LIMIT = 20_000

/** `count`: entries that were written or left out. `leftOut`: since the last one that was written. */
type Share = { count: number; leftOut: number; endsMs: number }

/** What an entry uses of a share. `subject`: the action, and what it is about. */
export type ShareUse = { subject: string; most: number }

/**
 * Limits what is added to the audit log in a day about one subject, at this node: nobody may delete it. Beyond the limit the
 * second, fourth, eighth ... entry is written, and says how many before it were left out. So the log grows by the logarithm.
 */
export class AuditShares {
  readonly #clock: Clock
  readonly #shares = new RecentMap<Share>({ limit: SUBJECTS_LIMIT })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Returns how many entries were left out before this one, or null if this one is to be left out too. */
  leftOutBefore({ subject, most }: ShareUse): number | null {
    const { count, leftOut } = this.#share(subject)
    const beyond = count + 1 - most
    return beyond <= 0 || (beyond > 1 && isPowerOfTwo(beyond)) ? leftOut : null
  }

  /** Call it when the entry is committed, or was left out. */
  count({ subject }: ShareUse, { isWritten }: { isWritten: boolean }): void {
    const { count, leftOut, endsMs } = this.#share(subject)
    this.#shares.set(subject, { count: count + 1, leftOut: isWritten ? 0 : leftOut + 1, endsMs })
  }

  #share(subject: string): Share {
    const nowMs = this.#clock.nowMs()
    const share = this.#shares.get(subject)
    if (share === undefined) return { count: 0, leftOut: 0, endsMs: nowMs + DAY_MS }
    return share.endsMs > nowMs ? share : { count: 0, leftOut: share.leftOut, endsMs: nowMs + DAY_MS }
  }
}

function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0
}
