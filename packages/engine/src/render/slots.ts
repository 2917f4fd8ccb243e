/** Limits concurrent renders; waiting renders start in order of arrival. */
export class Slots {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.#free = count
  }

  /** Resolves with a function that gives the slot back, or with null if `signal` aborts first. */
  take(signal: AbortSignal): Promise<(() => void) | null> {
    if (signal.aborted) return Promise.resolve(null)
    if (this.#free > 0) {
      this.#free--
      return Promise.resolve(this.#createGiveBack())
    }
    return new Promise((resolve) => {
      const begin = () => {
        signal.removeEventListener('abort', leave)
        resolve(this.#createGiveBack())
      }
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1)
        resolve(null)
      }
      this.#waiting.push(begin)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  /** The function has an effect at its first call only. */
  #createGiveBack(): () => void {
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      const beginNext = this.#waiting.shift()
      if (beginNext === undefined) this.#free++
      else beginNext()
    }
  }
}
