import type { BodyMeter, BodySource } from '@prepaint/pages/store/bodies/body-store.ts'
import { Counter, Histogram, type Registry } from 'prom-client'

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]

type Operation = Parameters<BodyMeter['request']>[0]

/** Bodies of pages: where they were read, and what the object store was asked. */
export class BodyMetrics implements BodyMeter {
  readonly #seconds: Histogram<'op'>
  readonly #failures: Counter<'op'>
  readonly #reads: Counter<'from'>
  readonly #missing: Counter
  #readMemoryReads: () => number = () => 0
  #memoryReads = 0

  constructor(registry: Registry) {
    const registers = [registry]
    this.#seconds = new Histogram({
      name: 'prepaint_body_store_seconds',
      help: 'Time of requests to the object store of bodies: put, get or delete',
      labelNames: ['op'],
      buckets: SECONDS,
      registers,
    })
    this.#failures = new Counter({
      name: 'prepaint_body_store_failures_total',
      help: 'Requests that the object store of bodies refused, or did not answer in time',
      labelNames: ['op'],
      registers,
    })
    for (const op of ['put', 'get', 'delete'] as const) this.#failures.inc({ op }, 0)
    const addMemoryReads = (counter: Counter<'from'>) => {
      const reads = this.#readMemoryReads()
      counter.inc({ from: 'memory' }, reads - this.#memoryReads)
      this.#memoryReads = reads
    }
    this.#reads = new Counter({
      name: 'prepaint_body_reads_total',
      help: 'Bodies of pages that were read, by where they were',
      labelNames: ['from'],
      registers,
      collect() {
        addMemoryReads(this)
      },
    })
    this.#missing = new Counter({
      name: 'prepaint_body_missing_total',
      help: 'Bodies that the object store had lost or damaged; their pages are rendered again. 0 is expected',
      registers,
    })
  }

  request(op: Operation, seconds: number, isFailed: boolean): void {
    this.#seconds.observe({ op }, seconds)
    if (isFailed) this.#failures.inc({ op })
  }

  read(from: BodySource): void {
    this.#reads.inc({ from })
  }

  missing(): void {
    this.#missing.inc()
  }

  /** Registers the reads from memory, which are not counted one by one. Call it once: each scrape calls `read`. */
  countsMemory(read: () => number): void {
    this.#readMemoryReads = read
  }
}
