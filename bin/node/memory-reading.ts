import { treeMemory } from '@prepaint/service/insight/metrics/tree-memory.ts'

/** Reading the memory of all processes takes some milliseconds. */
const BEATS_PER_READING = 6

/** Resident bytes of the node with its browsers, read again at every sixth beat of its heart. */
export class MemoryReading {
  #beats = 0
  #bytes = 0

  next(): number {
    if (this.#beats % BEATS_PER_READING === 0) {
      this.#bytes = Object.values(treeMemory()).reduce((sum, bytes) => sum + bytes, 0)
    }
    this.#beats++
    return this.#bytes
  }
}
