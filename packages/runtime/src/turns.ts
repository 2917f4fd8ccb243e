import { ShareByAccount } from './share-by-account.ts'

/**
 * Lets work begin. The owner of some work (an account or a domain) holds as many places as it leaves free, and the owners whose
 * work waits get free places in turn: what is slow holds up only what has the same owner.
 */
export class Turns {
  readonly #share: ShareByAccount
  /** By owner, in the order of their turns. */
  readonly #waiting = new Map<number, ((leave: () => void) => void)[]>()

  constructor(places: number) {
    this.#share = new ShareByAccount(places)
  }

  /**
   * Resolves with the function that gives the place back, or with null if there was none in time, or if `waitingMost` of this
   * owner wait already.
   */
  async enter(
    owner: number,
    withinMs: number,
    { waitingMost = Number.POSITIVE_INFINITY }: { waitingMost?: number } = {},
  ): Promise<(() => void) | null> {
    if (!this.#waiting.has(owner)) {
      const leave = this.#share.enter(owner)
      if (leave !== null) return this.#leaving(leave)
    }
    const queue = this.#waiting.get(owner) ?? []
    if (queue.length >= waitingMost) return null
    return new Promise((resolve) => {
      const admit = (leave: () => void) => {
        clearTimeout(late)
        resolve(leave)
      }
      const late = setTimeout(() => {
        this.#forget(owner, admit)
        resolve(null)
      }, withinMs)
      queue.push(admit)
      this.#waiting.set(owner, queue)
    })
  }

  #leaving(leave: () => void): () => void {
    return () => {
      leave()
      this.#admitNext()
    }
  }

  #admitNext(): void {
    for (const [owner, queue] of this.#waiting) {
      const leave = this.#share.enter(owner)
      if (leave === null) continue
      const admit = queue.shift()!
      // It goes to the end of the order, and gets what is left in this loop, too.
      this.#waiting.delete(owner)
      if (queue.length > 0) this.#waiting.set(owner, queue)
      admit(this.#leaving(leave))
    }
  }

  #forget(owner: number, admit: (leave: () => void) => void): void {
    const queue = this.#waiting.get(owner)!
    queue.splice(queue.indexOf(admit), 1)
    if (queue.length === 0) this.#waiting.delete(owner)
  }
}
