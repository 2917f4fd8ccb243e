import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { ATTACH_SHARED_WORKERS } from '../tab/workers.ts'
import type { CdpListeners, CdpSession } from './cdp.ts'
import { processesOfGroup, renderersOfGroup, stateOf } from './process-group.ts'

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

/** Ends single pages of one browser that take too much memory. */
export type MemoryWatch = {
  /** Whether a page that has just died was ended here. Each end is told once. */
  hasEnded(): boolean
  stop(): void
}

/** A killed process is missed by Chromium at once; on a very busy machine a little later. */
const TOLD_WITHIN_LOOKS = 50
const PAGE_BYTES = 4_096

/**
 * Looks at every page's process of a browser, by its group, and kills the one
 * that is over the limit. Nothing else would stop it in time: the pages of other
 * domains have processes of their own, and go on. V8's own limit does not know
 * buffers and documents, and the kernel's (RLIMIT_DATA) was seen not to hold
 * Chromium's allocator: 4.5 GB under a limit of 1.5. Looks at /proc, so on Linux only.
 */
export function watchMemory(groupId: number, limitBytes: number): MemoryWatch {
  const renderers = renderersOfGroup(groupId)
  /** How many looks each end may still be told for. */
  let untold: number[] = []
  /** Those that are killed need a moment to be gone: for how many looks they are left alone. */
  const dying = new Map<number, number>()

  const look = () => {
    untold = untold.map((looks) => looks - 1).filter((looks) => looks > 0)
    for (const [pid, looks] of dying) {
      if (looks > 1) dying.set(pid, looks - 1)
      else dying.delete(pid)
    }
    for (const pid of renderers()) {
      if (dying.has(pid) || residentBytes(pid) <= limitBytes) continue
      try {
        process.kill(pid, 'SIGKILL')
        untold.push(TOLD_WITHIN_LOOKS)
        dying.set(pid, TOLD_WITHIN_LOOKS)
      } catch {
        // It has ended by itself meanwhile.
      }
    }
  }
  const timer = setInterval(look, LOOK_EVERY_MS).unref()
  return {
    hasEnded: () => untold.shift() !== undefined,
    stop: () => clearInterval(timer),
  }
}

/** proc_pid_statm(5); 0 for a process that has ended. */
function residentBytes(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ', 2)[1]) * PAGE_BYTES
  } catch {
    return 0
  }
}

/** What is looked at of somebody who has been asked whether he lives. */
export type Asked = {
  /** Resolves when he has answered; rejects when there is nobody any more. */
  answer: Promise<unknown>
  /** Processor time that he has had so far. */
  processorMs(): number
}

/** Without any sign of life. */
const ANSWER_LIMIT_MS = 2_000
/** Large things of one page (an address of `data:`) keep the browser's main thread busy for seconds on a busy machine. */
const BUSY_LOOKS = 5
/**
 * The time is waited in parts, and what has come is read between them: a single
 * timer that is late, because we ourselves were held up, would end before an
 * answer is read that has long been there.
 */
const PARTS = 20

/** Whether he answers in time: within two seconds, or within ten while he is at work. Never rejects. */
export async function stillAnswers(
  { answer, processorMs }: Asked,
  limitMs: number = ANSWER_LIMIT_MS,
): Promise<boolean> {
  const answered = new AbortController()
  const untilGivenUp = async () => {
    for (let look = 0; look < BUSY_LOOKS; look++) {
      const beforeMs = processorMs()
      for (let part = 0; part < PARTS; part++)
        await delay(limitMs / PARTS, undefined, { signal: answered.signal })
      if (processorMs() === beforeMs) break
    }
    return false
  }
  const told = answer.then(
    () => true,
    () => false,
  )
  return Promise.race([told, untilGivenUp().catch(() => false)]).finally(() => answered.abort())
}

type Hearer = Pick<CdpListeners, 'Target.attachedToTarget' | 'Target.detachedFromTarget'>

/** Shared workers belong to no page: the browser tells of them, each to the page in whose context it was made. */
export type ContextWorkers = {
  /** Replaces what listened for this context before. A worker of which nobody hears stands still. */
  listen(browserContextId: string, hearer: Hearer): void
  /** The context is gone. */
  forget(browserContextId: string): void
}

/** The events of the browser's own session are heard here and nowhere else. */
export async function followContextWorkers(browser: CdpSession): Promise<ContextWorkers> {
  const hearers = new Map<string, Hearer>()
  /** By session: the end of a worker is told without its context. */
  const contexts = new Map<string, string>()
  browser.listen({
    'Target.attachedToTarget': (told) => {
      const { type, browserContextId } = told.targetInfo
      if (type !== 'shared_worker' || browserContextId === undefined) return
      contexts.set(told.sessionId, browserContextId)
      hearers.get(browserContextId)?.['Target.attachedToTarget']?.(told)
    },
    'Target.detachedFromTarget': (told) => {
      hearers.get(contexts.get(told.sessionId) ?? '')?.['Target.detachedFromTarget']?.(told)
      contexts.delete(told.sessionId)
    },
  })
  await browser.send('Target.setAutoAttach', ATTACH_SHARED_WORKERS)
  return {
    listen: (browserContextId, hearer) => void hearers.set(browserContextId, hearer),
    forget: (browserContextId) => void hearers.delete(browserContextId),
  }
}
