type Kept<V> = { value: V; weight: number; wasAsked: boolean }

type RecentMapOptions<V> = {
  /** Of all entries together. */
  limit: number
  /** What an entry counts against the limit; by default 1. Read when it is set. */
  weigh?(value: V, key: string): number
  /** Told of each entry that goes, but not of one that is set anew. */
  gone?(key: string): void
}

/** So many entries are given another turn for one that goes, so that nobody waits for a look at all of them. */
const MOST_TURNS = 100

/**
 * The entries that were asked for lately (CLOCK, second chance): when there is no room, the one
 * set longest ago goes, but one that was asked for since has another turn. Unlike in a list in the order of
 * use nothing moves when an entry is asked for: among many, each move would be five
 * places of memory that no cache of the processor holds.
 */
export class RecentMap<V> {
  readonly #entries = new Map<string, Kept<V>>()
  readonly #options: RecentMapOptions<V>
  #weight = 0

  constructor(options: RecentMapOptions<V>) {
    this.#options = options
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (!entry.wasAsked) entry.wasAsked = true
    return entry.value
  }

  /** Without counting as asking. */
  peek(key: string): V | undefined {
    return this.#entries.get(key)?.value
  }

  /** One that is heavier than the limit is not kept. */
  set(key: string, value: V): void {
    const weight = this.#options.weigh?.(value, key) ?? 1
    const before = this.#entries.get(key)
    if (before !== undefined) {
      this.#entries.delete(key)
      this.#weight -= before.weight
    }
    if (weight > this.#options.limit) {
      if (before !== undefined) this.#options.gone?.(key)
      return
    }
    while (this.#weight + weight > this.#options.limit) this.#makeRoom()
    this.#entries.set(key, { value, weight, wasAsked: before?.wasAsked ?? false })
    this.#weight += weight
  }

  delete(key: string): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#weight -= entry.weight
    this.#options.gone?.(key)
    return true
  }

  clear(): void {
    this.#entries.clear()
    this.#weight = 0
  }

  entries(): [key: string, value: V][] {
    return [...this.#entries].map(([key, { value }]) => [key, value])
  }

  get size(): number {
    return this.#entries.size
  }

  /** Of all entries. */
  get weight(): number {
    return this.#weight
  }

  #makeRoom(): void {
    let turns = 0
    for (const [key, entry] of this.#entries) {
      if (!entry.wasAsked || turns === MOST_TURNS) {
        this.delete(key)
        return
      }
      // Behind all others.
      turns++
      entry.wasAsked = false
      this.#entries.delete(key)
      this.#entries.set(key, entry)
    }
  }
}
