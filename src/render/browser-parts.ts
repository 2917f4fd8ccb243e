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
const LOOK_FIRST_MS = 10

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
  let isLost = false
  // Whoever asks and hears no is not the last: the next render must not meet this browser any more.
  const hasNetwork = () => {
    if (network === null || isAlive(network)) return true
    if (!isLost) onNetworkLost()
    isLost = true
    return false
  }

  let timer: NodeJS.Timeout
  // Sooner as long as it has not been seen: one that died unseen would be taken for its successor.
  const lookAgain = () => {
    timer = setTimeout(look, network === null ? LOOK_FIRST_MS : LOOK_EVERY_MS).unref()
  }
  const look = () => {
    if (network === null) findNetwork()
    if (hasNetwork()) lookAgain()
  }
  lookAgain()

  return {
    hasNetwork,
    canOpenPages: () => zygotes.every(isAlive),
    stop: () => clearTimeout(timer),
  }
}

/** Not ended, not waiting for its parent to hear of it. */
function isAlive(pid: number): boolean {
  const state = stateOf(pid)
  return state !== null && state !== 'Z' && state !== 'X'
}
