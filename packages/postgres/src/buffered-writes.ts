import type { Log } from '@prepaint/runtime/log.ts'

/** The most keys in memory. Further ones are dropped until there is room. */
export const BUFFER_LIMIT = 20_000
const BATCH = 1_000
const FLUSH_EVERY_MS = 5_000

/** Writes the last value of each key every few seconds. A failed batch is logged (`failed`) and not retried. */
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
    const values = [...this.#waiting.values()]
    this.#waiting.clear()
    this.#flushing = this.#flushing
      .then(async () => {
        for (let at = 0; at < values.length; at += BATCH) await this.#write(values.slice(at, at + BATCH))
      })
      .catch(this.#failed)
    return this.#flushing
  }
}
