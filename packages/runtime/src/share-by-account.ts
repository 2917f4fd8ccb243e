/** An account may hold as many places as it leaves free: one account gets half of `limit`, two get a third each. */
export class ShareByAccount {
  readonly #limit: number
  readonly #heldBy = new Map<number, number>()
  #held = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Returns the function that releases the place, which may be called again, or null if the account has its share. */
  enter(account: number): (() => void) | null {
    const own = this.#heldBy.get(account) ?? 0
    if (own >= this.#limit - this.#held) return null
    this.#heldBy.set(account, own + 1)
    this.#held++
    let entered = true
    return () => {
      if (!entered) return
      entered = false
      this.#leave(account)
    }
  }

  #leave(account: number): void {
    const own = this.#heldBy.get(account)! - 1
    if (own === 0) this.#heldBy.delete(account)
    else this.#heldBy.set(account, own)
    this.#held--
  }
}
