import type { Clock } from '../clock.ts'
import { RecentMap } from '../recent-map.ts'

/** A client that is refused more often than this within `WINDOW_MS` goes on in spite of it. */
export const REFUSALS_BEFORE_PAUSE = 200
const WINDOW_MS = 10_000
export const FIRST_PAUSE_MS = 1_000
export const LONGEST_PAUSE_MS = 60_000
/** The next pause is the first one again after this long without a pause. */
const FORGIVEN_MS = 600_000
/** Clients whose refusals are remembered. */
const REMEMBERED = 10_000

type Refused = { refusals: number; sinceMs: number; pauseMs: number; untilMs: number }

/** Pauses clients that go on although they are refused: from 1 s, doubling to 60 s. */
export class ClientPauses {
  readonly #clock: Clock
  readonly #refused = new RecentMap<Refused>({ limit: REMEMBERED })
  /** No pause lasts longer. Requests compare with it before they look up their client. */
  #lastUntilMs = 0
  #begun = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The number of pauses so far. */
  get begun(): number {
    return this.#begun
  }

  isPaused(client: string): boolean {
    if (this.#lastUntilMs === 0) return false
    const nowMs = this.#clock.nowMs()
    if (nowMs >= this.#lastUntilMs) {
      this.#lastUntilMs = 0
      return false
    }
    return nowMs < (this.#refused.peek(client)?.untilMs ?? 0)
  }

  /** Notes that something of the client was refused, as `times` refusals. Those in a pause do not count for the next one. */
  noteRefusal(client: string, times = 1): void {
    const nowMs = this.#clock.nowMs()
    const entry = this.#refused.get(client) ?? { refusals: 0, sinceMs: nowMs, pauseMs: 0, untilMs: 0 }
    if (nowMs < entry.untilMs) return
    if (nowMs - entry.sinceMs > WINDOW_MS) {
      entry.refusals = 0
      entry.sinceMs = nowMs
    }
    entry.refusals += times
    if (entry.refusals > REFUSALS_BEFORE_PAUSE) this.#pause(entry, nowMs)
    this.#refused.set(client, entry)
  }

  #pause(entry: Refused, nowMs: number): void {
    const isForgiven = nowMs - entry.untilMs > FORGIVEN_MS
    const beforeMs = isForgiven ? 0 : entry.pauseMs
    entry.pauseMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * beforeMs))
    entry.untilMs = nowMs + entry.pauseMs
    entry.refusals = 0
    entry.sinceMs = entry.untilMs
    this.#lastUntilMs = Math.max(this.#lastUntilMs, entry.untilMs)
    this.#begun++
  }
}
