/** Counts what is under way, by key, up to the same limit for each. Holds the keys of which something is, and no others. */
export type Counter = {
  /** False: this would be one too many; it is not counted. */
  enter(key: string): boolean
  /** Whether `enter` would say true. */
  hasRoom(key: string): boolean
  /** Once for each `enter` that said true. */
  leave(key: string): void
  readonly keys: number
}

export function createCounter(limit: number): Counter {
  const underWay = new Map<string, number>()
  return {
    enter(key) {
      const count = underWay.get(key) ?? 0
      if (count >= limit) return false
      underWay.set(key, count + 1)
      return true
    },
    hasRoom: (key) => (underWay.get(key) ?? 0) < limit,
    leave(key) {
      const count = underWay.get(key) ?? 0
      if (count > 1) underWay.set(key, count - 1)
      else underWay.delete(key)
    },
    get keys() {
      return underWay.size
    },
  }
}
