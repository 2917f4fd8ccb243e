import { performance } from 'node:perf_hooks'
import v8 from 'node:v8'
import vm from 'node:vm'

const CHECK_EVERY_MS = 2_000
/** A process is idle if its main thread was busy for a smaller part of the time since the last check. */
const IDLE_BELOW = 0.03
/** The young generation begins with 1 MiB and doubles under load. */
const GROWN_BYTES = 4 * 1024 * 1024
/** A collection of everything takes 0.3 s of processor time, in which the main thread mostly stops, so it is rare: every five minutes. */
const CHECKS_BETWEEN = 150
/** Half a minute is enough if the process has grown by an eighth since, as it does in a flood. */
const CHECKS_BETWEEN_GROWN = 15
const GROWN_FACTOR = 1.125

export type HeapOfProcess = {
  /** Returns the part of the time since the last call in which the main thread was busy. */
  takeBusyPart(): number
  /** Returns the size of V8's young generation, used or not. */
  countYoungBytes(): number
  /** Returns the memory that the process holds of the system. */
  countResidentBytes(): number
  /** Collects all garbage, and returns free memory to the system. */
  collect(): void
}

/**
 * Gives the memory of a busy time back when the process is idle. V8's young generation is large under load, which makes its collections
 * rare, but V8 neither shrinks it nor returns its memory while nothing is allocated (docs/decisions/0065-memory-flags.md).
 */
export class IdleMemory {
  readonly #heap: HeapOfProcess
  readonly #timer: NodeJS.Timeout
  #checksSince = Number.POSITIVE_INFINITY
  /** What the process held behind the last collection. */
  #keptBytes = Number.POSITIVE_INFINITY

  constructor(heap: HeapOfProcess = new ProcessHeap()) {
    this.#heap = heap
    this.#timer = setInterval(() => this.check(), CHECK_EVERY_MS).unref()
  }

  check(): void {
    const isIdle = this.#heap.takeBusyPart() < IDLE_BELOW
    this.#checksSince++
    if (!isIdle || !(this.#isGrownYoung() || this.#isGrown())) return
    this.#heap.collect()
    this.#checksSince = 0
    this.#keptBytes = this.#heap.countResidentBytes()
  }

  #isGrownYoung(): boolean {
    return this.#checksSince > CHECKS_BETWEEN && this.#heap.countYoungBytes() >= GROWN_BYTES
  }

  #isGrown(): boolean {
    return (
      this.#checksSince >= CHECKS_BETWEEN_GROWN &&
      this.#heap.countResidentBytes() >= this.#keptBytes * GROWN_FACTOR
    )
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
  }
}

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void

/** The heap of this process. */
export class ProcessHeap implements HeapOfProcess {
  #before = performance.eventLoopUtilization()
  #collectGarbage: Collect | null = null

  takeBusyPart(): number {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, this.#before)
    this.#before = now
    return utilization
  }

  countYoungBytes(): number {
    const young = v8.getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
    return young?.space_size ?? 0
  }

  countResidentBytes(): number {
    return process.memoryUsage.rss()
  }

  collect(): void {
    if (this.#collectGarbage === null) {
      v8.setFlagsFromString('--expose-gc')
      this.#collectGarbage = vm.runInNewContext('gc') as Collect
    }
    // The other flavor keeps the pages that it frees.
    this.#collectGarbage({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  }
}
