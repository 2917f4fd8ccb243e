import type { CdpListeners } from '../browser/cdp.ts'

/** What a visit learns beside its render: whether its page may stay in the tab, asleep, until the next one. */
export type Stillness = {
  listeners: CdpListeners
  /** Resolves when the new document is there and the one of the render before is gone. */
  readonly arrived: Promise<void>
  /**
   * Once its scripts are off, this page can do nothing any more: it waits for
   * no answer that could set a cookie, works on no data base, has no worker or
   * socket, and was not opened anew by `document.open`, which also removes the
   * listeners that keep its farewells from it.
   */
  isStill(): boolean
}

export function createStillness(mainFrameId: string): Stillness {
  const requests = new Set<string>()
  let working = 0
  let isAstir = false
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const stir = () => {
    isAstir = true
  }
  return {
    arrived,
    isStill: () => !isAstir && working === 0 && requests.size === 0,
    listeners: {
      'Page.frameNavigated': ({ frame }) => {
        if (frame.id === mainFrameId) arrive()
      },
      'Page.documentOpened': stir,
      'Network.requestWillBeSent': ({ requestId }) => void requests.add(requestId),
      'Network.loadingFinished': ({ requestId }) => void requests.delete(requestId),
      'Network.loadingFailed': ({ requestId }) => void requests.delete(requestId),
      'Network.webSocketCreated': stir,
      'Network.webTransportCreated': stir,
      // Said by in-page/real-time.js.
      'Runtime.bindingCalled': ({ payload }) => {
        if (payload === 'worker') stir()
        else if (payload === 'busy') working++
        else if (payload === 'idle') working--
      },
    },
  }
}

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
