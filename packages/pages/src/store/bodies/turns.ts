import { ShareByAccount } from '@prepaint/runtime/share-by-account.ts'

/**
 * Lets requests to the store begin. The pages of one domain hold as many places as they leave free, and the domains that wait get
 * free places in turn: objects that come slowly hold up only their own domain.
 */
export class Turns {
  readonly #share: ShareByAccount
  /** By domain, in the order of their turns. */
  readonly #waiting = new Map<number, ((leave: () => void) => void)[]>()

  constructor(places: number) {
    this.#share = new ShareByAccount(places)
  }

  /** Resolves with the function that gives the place back, or with null if there was none in time. */
  async enter(domain: number, withinMs: number): Promise<(() => void) | null> {
    if (!this.#waiting.has(domain)) {
      const leave = this.#share.enter(domain)
      if (leave !== null) return this.#leaving(leave)
    }
    return new Promise((resolve) => {
      const admit = (leave: () => void) => {
        clearTimeout(late)
        resolve(leave)
      }
      const late = setTimeout(() => {
        this.#forget(domain, admit)
        resolve(null)
      }, withinMs)
      const queue = this.#waiting.get(domain) ?? []
      queue.push(admit)
      this.#waiting.set(domain, queue)
    })
  }

  #leaving(leave: () => void): () => void {
    return () => {
      leave()
      this.#admitNext()
    }
  }

  #admitNext(): void {
    for (const [domain, queue] of this.#waiting) {
      const leave = this.#share.enter(domain)
      if (leave === null) continue
      const admit = queue.shift()!
      // It goes to the end of the order, and gets what is left in this loop, too.
      this.#waiting.delete(domain)
      if (queue.length > 0) this.#waiting.set(domain, queue)
      admit(this.#leaving(leave))
    }
  }

  #forget(domain: number, admit: (leave: () => void) => void): void {
    const queue = this.#waiting.get(domain)!
    queue.splice(queue.indexOf(admit), 1)
    if (queue.length === 0) this.#waiting.delete(domain)
  }
}
