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
  readonly #idle: Promise<Worker>[] = []
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
    const starting = this.#idle.pop() ?? startWorker()
    const worker = await starting.catch(() => null)
    this.isReady = true
    const converted = worker === null ? null : await this.#converted(worker, conversion)
    if (converted === 'lost') void worker?.terminate()
    else if (worker !== null) this.#idle.push(starting)
    this.#served.delete(account)
    done(converted === 'lost' ? null : converted)
    this.#next()
  }

  #converted(worker: Worker, conversion: Conversion): Promise<Converted | 'lost' | null> {
    return new Promise((resolve) => {
      const end = (converted: Converted | 'lost' | null) => {
        clearTimeout(timer)
        worker.off('message', end).off('exit', lose)
        resolve(converted)
      }
      const lose = () => end('lost')
      const timer = setTimeout(lose, this.limitMs)
      worker.once('message', end).once('exit', lose)
      worker.postMessage(conversion)
    })
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
