import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { Conversion, Converted } from './convert.ts'

export const CONVERSION_LIMIT_MS = 2_000
const THREADS = 2
/** Waiting conversions of one account. */
export const WAITING_LIMIT = 50

type Waiting = { conversion: Conversion; done(converted: Converted | 'busy' | null): void }

/** One page after another in worker threads; accounts take turns, each with one thread at most. */
export class Converter {
  readonly limitMs: number
  readonly #idle: Worker[] = []
  /** In turn. */
  readonly #waiting = new Map<number, Waiting[]>()
  /** False while the first thread loads its code, half a second. */
  isReady = false
  readonly #served = new Set<number>()

  constructor(limitMs = CONVERSION_LIMIT_MS) {
    this.limitMs = limitMs
  }

  /** null: it failed or took too long. `busy`: too many of this account are waiting. Never rejects. */
  convert(account: number, conversion: Conversion): Promise<Converted | 'busy' | null> {
    const line = this.#waiting.get(account) ?? []
    if (line.length >= WAITING_LIMIT) return Promise.resolve('busy')
    this.#waiting.set(account, line)
    const { promise, resolve } = Promise.withResolvers<Converted | 'busy' | null>()
    line.push({ conversion, done: resolve })
    this.#next()
    return promise
  }

  #next(): void {
    for (const [account, line] of this.#waiting) {
      if (this.#served.size >= THREADS) return
      if (this.#served.has(account)) continue
      const first = line.shift()!
      // To the end of the turn.
      this.#waiting.delete(account)
      if (line.length > 0) this.#waiting.set(account, line)
      void this.#run(account, first)
    }
  }

  async #run(account: number, { conversion, done }: Waiting): Promise<void> {
    this.#served.add(account)
    let [converted, worker]: [Converted | null, Worker | undefined] = [null, this.#idle.pop()]
    try {
      worker ??= await startWorker()
      this.isReady = true
      const answered = once(worker, 'message', { signal: AbortSignal.timeout(this.limitMs) })
      worker.postMessage(conversion)
      converted = (await answered)[0] as Converted | null
      this.#idle.push(worker)
    } catch {
      // It took too long, or too much memory.
      void worker?.terminate()
    }
    this.#served.delete(account)
    done(converted)
    this.#next()
  }
}

/** Rejects if its code cannot be loaded. */
async function startWorker(): Promise<Worker> {
  const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js'
  const worker = new Worker(new URL(`./convert.${extension}`, import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: 512, stackSizeMb: 4 },
  })
  worker.unref()
  // A thread without memory ends by itself.
  worker.on('error', () => {})
  await once(worker, 'message')
  return worker
}
