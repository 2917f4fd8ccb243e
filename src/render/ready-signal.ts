/** What the page itself says about being ready; `hold` until it takes that back. */
export type ReadySignal = { readonly state: 'none' | 'hold' | 'ready'; readonly ready: Promise<void> }

/**
 * What a page says in `prerenderReady`, `renderComplete` and `renderReady`:
 * false holds the capture until true, true ends the wait at once. With several
 * of them, each that was set to false must become true.
 */
export function createReadySignal(): ReadySignal & { hear(verb: string | undefined, flag: string): void } {
  const held = new Set<string>()
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  let isReady = false
  return {
    ready,
    get state() {
      if (held.size > 0) return 'hold'
      return isReady ? 'ready' : 'none'
    },
    /** `hold` or `ready` and the name of the flag, as the script in each document sends it. */
    hear(verb, flag) {
      if (verb === 'hold') held.add(flag)
      if (verb !== 'ready') return
      held.delete(flag)
      if (held.size > 0) return
      isReady = true
      resolve()
    },
  }
}
