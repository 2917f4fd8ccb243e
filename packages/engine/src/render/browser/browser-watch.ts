import { setPriority } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { isAlive, processesOfGroup, renderersOfGroup, residentBytes, runnableMs } from './process-group.ts'

const CHECK_EVERY_MS = 100
const CHECK_FIRST_MS = 10

/** Watches processes that a browser survives losing but cannot work without. Always healthy except on Linux. */
export class BrowserParts {
  readonly #groupId: number
  readonly #onNetworkLost: () => void
  readonly #zygotes: number[]
  #network: number | null = null
  #isLost = false
  #timer: NodeJS.Timeout | undefined

  constructor(groupId: number, onNetworkLost: () => void) {
    this.#groupId = groupId
    this.#onNetworkLost = onNetworkLost
    this.#zygotes = this.#pidsWith('--type=zygote')
    this.#findNetwork()
    this.#checkLater()
  }

  /** Chromium restarts a lost network process, but the new one does not know the proxies of contexts. */
  hasNetwork(): boolean {
    if (this.#network === null || isAlive(this.#network)) return true
    if (!this.#isLost) this.#onNetworkLost()
    this.#isLost = true
    return false
  }

  /** Returns whether its zygotes live, which new pages need. */
  canOpenPages(): boolean {
    return this.#zygotes.every(isAlive)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #checkLater(): void {
    // Check more often until it is found; otherwise its successor could be taken for it.
    const inMs = this.#network === null ? CHECK_FIRST_MS : CHECK_EVERY_MS
    this.#timer = setTimeout(() => {
      if (this.#network === null) this.#findNetwork()
      if (this.hasNetwork()) this.#checkLater()
    }, inMs).unref()
  }

  #findNetwork(): void {
    this.#network = this.#pidsWith('network.mojom.NetworkService')[0] ?? null
  }

  #pidsWith(sign: string): number[] {
    return processesOfGroup(this.#groupId)
      .filter(({ commandLine }) => commandLine.includes(sign))
      .map(({ pid }) => pid)
  }
}

/** Chromium reports a killed process at once, but a little later on a very busy machine. */
const REPORTED_WITHIN_CHECKS = 50

/**
 * Kills each page process over the limit. Linux only. V8's own limit does not count buffers and documents.
 * RLIMIT_DATA did not hold Chromium's allocator: 4.5 GB under a limit of 1.5 GB.
 */
export class MemoryWatch {
  readonly #renderers: () => number[]
  readonly #limitBytes: number
  readonly #timer: NodeJS.Timeout
  /** The checks that are left until a kill that was not taken is forgotten. */
  #unreported: number[] = []
  /** The checks in which a killed process is ignored. */
  readonly #dying = new Map<number, number>()

  constructor(groupId: number, limitBytes: number) {
    this.#renderers = renderersOfGroup(groupId)
    this.#limitBytes = limitBytes
    this.#timer = setInterval(() => this.#check(), CHECK_EVERY_MS).unref()
  }

  /** Returns true once for each kill. */
  takeKill(): boolean {
    return this.#unreported.shift() !== undefined
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #check(): void {
    this.#unreported = this.#unreported.map((checks) => checks - 1).filter((checks) => checks > 0)
    for (const [pid, checks] of this.#dying) {
      if (checks > 1) this.#dying.set(pid, checks - 1)
      else this.#dying.delete(pid)
    }
    for (const pid of this.#renderers()) {
      if (this.#dying.has(pid) || residentBytes(pid) <= this.#limitBytes) continue
      try {
        process.kill(pid, 'SIGKILL')
        this.#unreported.push(REPORTED_WITHIN_CHECKS)
        this.#dying.set(pid, REPORTED_WITHIN_CHECKS)
      } catch {
        // It has ended by itself.
      }
    }
  }
}

const BUSY_CHECK_MS = 1_000
/** Main thread time, running or waiting for a core, between two checks. */
const BUSY_MS = 950
const BUSY_PRIORITY = 19

/**
 * Lowers the priority of pages whose script runs for a second without a pause
 * (docs/decisions/0039-shares-of-slots.md). It stays low: an ordinary user may not raise it again. Linux only.
 */
export class BusyPages {
  readonly #renderers: () => number[]
  readonly #timer: NodeJS.Timeout
  #before = new Map<number, number>()

  constructor(groupId: number) {
    this.#renderers = renderersOfGroup(groupId)
    this.#timer = setInterval(() => this.#check(), BUSY_CHECK_MS).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #check(): void {
    const now = new Map(this.#renderers().map((pid) => [pid, runnableMs(pid)]))
    for (const [pid, ms] of now) {
      if (ms - (this.#before.get(pid) ?? ms) < BUSY_MS) continue
      try {
        setPriority(pid, BUSY_PRIORITY)
      } catch {
        // It has ended by itself.
      }
    }
    this.#before = now
  }
}

const ANSWER_LIMIT_MS = 2_000
/** Large values, such as a `data:` address, keep the browser's main thread busy for seconds. */
const BUSY_CHECKS = 5
/** With a single timer, a delay in this process would time out before a waiting answer is read. */
const PARTS = 20

/** Resolves with whether `answer` comes within two seconds, or within ten while the process is busy. Never rejects. */
export async function stillAnswers(
  { answer, processorMs }: { answer: Promise<unknown>; processorMs(): number },
  limitMs: number = ANSWER_LIMIT_MS,
): Promise<boolean> {
  const answered = new AbortController()
  const untilGivenUp = async () => {
    for (let check = 0; check < BUSY_CHECKS; check++) {
      const beforeMs = processorMs()
      for (let part = 0; part < PARTS; part++)
        await delay(limitMs / PARTS, undefined, { signal: answered.signal })
      if (processorMs() === beforeMs) break
    }
    return false
  }
  const hasAnswered = answer.then(
    () => true,
    () => false,
  )
  return Promise.race([hasAnswered, untilGivenUp().catch(() => false)]).finally(() => answered.abort())
}
