import type { Log } from '@prepaint/runtime/log.ts'
import { isAway } from './away/errors.ts'

/** The most keys in memory. Further ones are dropped until there is room. */
export const BUFFER_LIMIT = 20_000
const BATCH = 1_000
const FLUSH_EVERY_MS = 5_000

/**
 * Writes the last value of each key every few seconds. A failed batch is logged (`failed`) and not retried, unless the database
 * is away: then it is written later.
 */
export class BufferedWrites<T> {
  readonly #write: (batch: readonly T[]) => Promise<unknown>
  readonly #failed: (error: Error) => void
  readonly #flushEveryMs: number
  readonly #waiting = new Map<string, T>()
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()

  constructor(
    write: (batch: readonly T[]) => Promise<unknown>,
    {
      log,
      failed,
      flushEveryMs = FLUSH_EVERY_MS,
    }: { log: Log; failed: string; flushEveryMs?: number | undefined },
  ) {
    this.#write = write
    this.#failed = (error) => log.warn({ err: error }, failed)
    this.#flushEveryMs = flushEveryMs
  }

  note(key: string, value: T): void {
    if (this.#waiting.size >= BUFFER_LIMIT && !this.#waiting.has(key)) return
    this.#waiting.set(key, value)
    this.#timer ??= setTimeout(() => void this.flush(), this.#flushEveryMs).unref()
  }

  /** Returns the value that waits to be written, if there is one. */
  waiting(key: string): T | undefined {
    return this.#waiting.get(key)
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const entries = [...this.#waiting]
    this.#waiting.clear()
    this.#flushing = this.#flushing.then(() => this.#writeAll(entries))
    return this.#flushing
  }

  async #writeAll(entries: readonly [key: string, value: T][]): Promise<void> {
    let written = 0
    try {
      for (; written < entries.length; written += BATCH) {
        await this.#write(entries.slice(written, written + BATCH).map(([, value]) => value))
      }
    } catch (error) {
      this.#failed(error as Error)
      if (!isAway(error)) return
      // A newer value of the same key waits already.
      for (const [key, value] of entries.slice(written)) if (!this.#waiting.has(key)) this.note(key, value)
    }
  }
}
