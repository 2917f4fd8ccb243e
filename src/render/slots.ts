/** So many renders at once; the others wait their turn, first come first served. */
export type Slots = {
  /** Resolves with the function that gives the slot back; null when `signal` ended the wait. */
  take(signal: AbortSignal): Promise<(() => void) | null>
}

export function createSlots(count: number): Slots {
  let free = count
  const waiting: (() => void)[] = []

  const giveBack = () => {
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
  }
  /** Each slot is given back once, however often that is said. */
  const once = (): (() => void) => {
    let isTaken = true
    return () => {
      if (isTaken) giveBack()
      isTaken = false
    }
  }

  return {
    take(signal) {
      if (signal.aborted) return Promise.resolve(null)
      if (free > 0) {
        free--
        return Promise.resolve(once())
      }
      return new Promise((resolve) => {
        const turn = () => {
          signal.removeEventListener('abort', leave)
          resolve(once())
        }
        const leave = () => {
          waiting.splice(waiting.indexOf(turn), 1)
          resolve(null)
        }
        waiting.push(turn)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
  }
}
