import type { Clock } from './clock.ts'
import { RecentMap } from './recent-map.ts'

export type MemoryRateOptions = {
  most: number
  withinMs: number
  /** Subjects that are remembered. Beyond it, those that were quiet longest begin anew. */
  subjects: number
}

/** A rate limit of one node, in windows that begin with the first use. Limits over all nodes: `@prepaint/postgres/rates`. */
export class MemoryRate {
  readonly #clock: Clock
  readonly #options: MemoryRateOptions
  readonly #windows: RecentMap<{ count: number; endsMs: number }>

  constructor(clock: Clock, options: MemoryRateOptions) {
    this.#clock = clock
    this.#options = options
    this.#windows = new RecentMap({ limit: options.subjects })
  }

  /** Returns the milliseconds until the limit allows another use, or null if it does now. */
  waitMs(subject: string): number | null {
    const window = this.#window(subject)
    if (window === null || window.count < this.#options.most) return null
    return window.endsMs - this.#clock.nowMs()
  }

  /** Counts a use, also beyond the limit. */
  count(subject: string): void {
    const window = this.#window(subject) ?? {
      count: 0,
      endsMs: this.#clock.nowMs() + this.#options.withinMs,
    }
    this.#windows.set(subject, { count: window.count + 1, endsMs: window.endsMs })
  }

  /** Takes back a use that was counted in the window that is open. */
  giveBack(subject: string): void {
    const window = this.#window(subject)
    if (window === null || window.count === 0) return
    this.#windows.set(subject, { count: window.count - 1, endsMs: window.endsMs })
  }

  #window(subject: string): { count: number; endsMs: number } | null {
    const window = this.#windows.get(subject)
    return window === undefined || window.endsMs <= this.#clock.nowMs() ? null : window
  }
}
