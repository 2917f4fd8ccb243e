import { processesOfGroup, stateOf } from './process-group.ts'

/** Processes of a browser that it does not end without, but cannot do its work without either. */
export type BrowserParts = {
  /**
   * The network process that the browser began with lives. Chromium starts
   * another in its place, but what was loading has failed without the page's
   * fault, and the new one forgets which proxy each context has.
   */
  hasNetwork(): boolean
  /** Its zygotes live: pages can be opened. Those that are open go on without. */
  canOpenPages(): boolean
  stop(): void
}

const LOOK_EVERY_MS = 100

/** Of a browser that has started. Looks at /proc, so on Linux only; elsewhere all is well. `onNetworkLost` is told once. */
export function watchParts(groupId: number, onNetworkLost: () => void): BrowserParts {
  const ofType = (sign: string) =>
    processesOfGroup(groupId).filter(({ commandLine }) => commandLine.includes(sign))
  const zygotes = ofType('--type=zygote').map(({ pid }) => pid)
  // It may come a moment later than the rest.
  let network: number | null = null
  const findNetwork = () => {
    network = ofType('network.mojom.NetworkService')[0]?.pid ?? null
  }
  findNetwork()
  const hasNetwork = () => network === null || isAlive(network)

  const timer = setInterval(() => {
    if (network === null) findNetwork()
    else if (!hasNetwork()) {
      clearInterval(timer)
      onNetworkLost()
    }
  }, LOOK_EVERY_MS).unref()

  return {
    hasNetwork,
    canOpenPages: () => zygotes.every(isAlive),
    stop: () => clearInterval(timer),
  }
}

/** Not ended, not waiting for its parent to hear of it. */
function isAlive(pid: number): boolean {
  const state = stateOf(pid)
  return state !== null && state !== 'Z' && state !== 'X'
}
