import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { joined } from '@prepaint/postgres/joined.ts'
import { Counter } from '@prepaint/runtime/http/client-limits.ts'
import type { Conversion, Converted } from './convert.ts'

const CONVERSION_LIMIT_MS = 2_000
const THREADS = 2
/** The most waiting conversions of one account. */
export const WAITING_LIMIT = 50

type Asked = { account: number; conversion: Conversion; isWanted: () => boolean }

/** One page after another in worker threads; accounts take turns, each with one thread at most. */
export class Converter {
  readonly limitMs: number
  #isReady = false
  readonly #idle: Worker[] = []
  readonly #asked = new Counter(1 + WAITING_LIMIT)
  readonly #inThread = joined<Conversion, Converted | null>(
    async ([conversion]) => [await this.#run(conversion!)],
    { most: 1, underWay: THREADS },
  )
  readonly #inTurn = joined<Asked, Converted | null>(
    async ([asked]) => [await this.#inThread(asked!.conversion)],
    {
      most: 1,
      underWay: 1,
      groupOf: ({ account }) => String(account),
      isWanted: ({ isWanted }) => isWanted(),
    },
  )

  constructor(limitMs = CONVERSION_LIMIT_MS) {
    this.limitMs = limitMs
  }

  /** False while the first thread loads its code, which takes half a second. */
  get isReady(): boolean {
    return this.#isReady
  }

  /**
   * Returns null if it failed or took too long, and `busy` if too many of this account are waiting. Rejects with Abandoned
   * if it is not wanted any more when its turn comes, and never otherwise.
   */
  async convert(
    account: number,
    conversion: Conversion,
    isWanted: () => boolean = () => true,
  ): Promise<Converted | 'busy' | null> {
    if (!this.#asked.enter(String(account))) return 'busy'
    try {
      return await this.#inTurn({ account, conversion, isWanted })
    } finally {
      this.#asked.leave(String(account))
    }
  }

  async #run(conversion: Conversion): Promise<Converted | null> {
    let worker = this.#idle.pop()
    try {
      worker ??= await startWorker()
      this.#isReady = true
      const answered = once(worker, 'message', { signal: AbortSignal.timeout(this.limitMs) })
      worker.postMessage(conversion)
      const [converted] = (await answered) as [Converted | null]
      this.#idle.push(worker)
      return converted
    } catch {
      // It took too long, or too much memory.
      void worker?.terminate()
      return null
    }
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
