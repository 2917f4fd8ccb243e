/**
 * Says whether a cache that notifications keep current may be used. PostgreSQL keeps no notifications for a node that is
 * disconnected, so after a loss the cache is emptied before it is used again. Until then, its owner may use what it holds as
 * a fallback for reads that fail.
 *
 *     trusted --lost()--> doubtful --recover(), connected again--> emptied and trusted
 *
 * A value that is read while a notification arrives may be outdated: see `begin`.
 */
export class CacheTrust {
  readonly #connected: () => boolean
  readonly #empty: () => void
  #isDoubtful: boolean
  /** Moves with each notification and loss. */
  #epoch = 0

  /** `empty` removes all that the cache holds. A cache that begins without a connection is doubtful. */
  constructor(connected: () => boolean, empty: () => void) {
    this.#connected = connected
    this.#empty = empty
    this.#isDoubtful = !connected()
  }

  /** Empties the cache after lost notifications, once they arrive again. Returns whether the cache may be used. */
  recover(): boolean {
    if (!this.#isDoubtful) return true
    if (!this.#connected()) return false
    this.#isDoubtful = false
    this.#epoch++
    this.#empty()
    return true
  }

  /** Call before a value is read, and pass the result to `admits` before the value is cached. */
  begin(): number | null {
    return this.recover() ? this.#epoch : null
  }

  /** Returns whether no notification came, and none was lost, since `begin`. */
  admits(began: number | null): boolean {
    return began !== null && began === this.#epoch
  }

  /** Call for each notification that is about this cache. */
  notified(): void {
    this.#epoch++
  }

  lost(): void {
    this.#isDoubtful = true
    this.#epoch++
  }
}
