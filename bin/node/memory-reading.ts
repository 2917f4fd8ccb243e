import { treeMemory } from '@prepaint/service/insight/metrics/tree-memory.ts'

/** Reading the memory of all processes takes some milliseconds for each. */
const BEATS_PER_READING = 6

/** Bytes (PSS) of the node with its browsers, read again at every sixth beat of its heart. */
export class MemoryReading {
  #beats = 0
  /** Of this process alone until the first reading has ended. */
  #bytes = process.memoryUsage.rss()

  /** Returns what was read last. A reading that begins now is told at the next beat. */
  next(): number {
    if (this.#beats % BEATS_PER_READING === 0) void this.#read()
    this.#beats++
    return this.#bytes
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    const parts = await treeMemory()
    this.#bytes = Object.values(parts).reduce((sum, bytes) => sum + bytes, 0)
  }
}
