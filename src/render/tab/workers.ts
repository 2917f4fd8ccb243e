import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { within } from '../../within.ts'
import type { CdpConnection, CdpListeners, CdpSession } from '../browser/cdp.ts'
import type { NetworkActivity } from '../time/network-activity.ts'
import type { Policy, RenderClock } from '../time/virtual-clock.ts'

/** For `Target.setAutoAttach`: workers wait for us before their first line. */
const attachTo = (type: string) => ({
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type }, { exclude: true }],
})
export const ATTACH_WORKERS = attachTo('worker')
/** For the browser: a shared worker belongs to no page. */
const ATTACH_SHARED_WORKERS = attachTo('shared_worker')

type AttachListeners = Pick<CdpListeners, 'Target.attachedToTarget' | 'Target.detachedFromTarget'>

/** Passes the browser's events of shared workers to the page in whose context each was made. */
export type ContextWorkers = {
  /** Replaces the context's listeners. A shared worker without a listener does not start. */
  listen(browserContextId: string, listeners: AttachListeners): void
  forget(browserContextId: string): void
}

/** Listens to the browser's own session, and is the only one that does. */
export async function followContextWorkers(browser: CdpSession): Promise<ContextWorkers> {
  const listenersOf = new Map<string, AttachListeners>()
  const contexts = new Map<string, string>()
  browser.listen({
    'Target.attachedToTarget': (event) => {
      const { type, browserContextId } = event.targetInfo
      if (type !== 'shared_worker' || browserContextId === undefined) return
      contexts.set(event.sessionId, browserContextId)
      listenersOf.get(browserContextId)?.['Target.attachedToTarget']?.(event)
    },
    'Target.detachedFromTarget': (event) => {
      listenersOf.get(contexts.get(event.sessionId) ?? '')?.['Target.detachedFromTarget']?.(event)
      contexts.delete(event.sessionId)
    },
  })
  await browser.send('Target.setAutoAttach', ATTACH_SHARED_WORKERS)
  return {
    listen: (browserContextId, listeners) => void listenersOf.set(browserContextId, listeners),
    forget: (browserContextId) => void listenersOf.delete(browserContextId),
  }
}

/** A worker that takes longer to answer is computing. */
const USUAL_ANSWER_MS = 100
const PROBE_EVERY_MS = 25
/** Only so many workers of one page are watched; the others run as well. */
export const WATCHED_LIMIT = 16

const inPage = (file: string) => readFileSync(path.join(import.meta.dirname, '../in-page', file), 'utf8')
const SPINNING_CLOCK = inPage('spinning-clock.js')
const TIMERS = inPage('worker-timers.js')

/** Wakes one worker. Resolves with whether timers wait in it, once those that are due have run. */
export type Wake = () => Promise<boolean>

type WorkersOptions = {
  /** Its sessions have to fail once the render is over. */
  connection: Pick<CdpConnection, 'session' | 'endSession'>
  activity: NetworkActivity
  page: Pick<CdpSession, 'send'>
  dateScript?: () => string
  limit?: number
}

/**
 * Reports what the workers of a page do: their requests, and whether they compute. The page's own session shows
 * neither, and silence alone does not tell a busy worker from an idle one.
 */
export class Workers {
  /** For the page's session. The loading of a worker has the same id there and in the worker's own session. */
  readonly listeners: CdpListeners
  readonly #options: WorkersOptions
  readonly #running = new Map<string, Wake>()
  #watched = 0

  constructor(options: WorkersOptions) {
    this.#options = options
    this.listeners = this.#startedBy((requestId) => requestId)
  }

  /** The page's clock, with the workers kept in step. */
  follow(clock: RenderClock): RenderClock {
    const { activity } = this.#options
    return {
      pause: () => clock.pause(),
      grant: inStepWith(() => [...this.#running.values()], clock, activity),
    }
  }

  /** `nameOf`: the name of a request, unique over the page and its workers. */
  #startedBy(nameOf: (requestId: string) => string): CdpListeners {
    const atEnd = new Map<string, () => void>()
    const hasEnded = (sessionId: string) => {
      this.#options.connection.endSession(sessionId)
      this.#running.delete(sessionId)
      atEnd.get(sessionId)?.()
      atEnd.delete(sessionId)
    }
    return {
      'Target.attachedToTarget': ({ sessionId, targetInfo: { targetId } }) => {
        const { connection, activity, dateScript = () => '', limit = WATCHED_LIMIT } = this.#options
        const worker = connection.session(sessionId)
        const script = nameOf(targetId)
        const isWatched = ++this.#watched <= limit
        const begun = begin(worker, isWatched, dateScript()).catch(() => null)
        if (!isWatched) return activity.finished(script)
        this.#running.set(sessionId, async () => hasTimers(worker, await begun))

        const ownNameOf = (requestId: string) =>
          requestId === targetId ? script : `${sessionId} ${requestId}`
        const requests = this.#requestsOf(ownNameOf, script, () => hasEnded(sessionId))
        atEnd.set(sessionId, requests.end)
        worker.listen({ ...this.#startedBy(ownNameOf), ...requests.listeners })
        void this.#probe(worker, sessionId).catch(() => activity.workerIdle(sessionId))
      },
      'Target.detachedFromTarget': ({ sessionId }) => hasEnded(sessionId),
    }
  }

  /** The loading of a worker's script begins among the requests of its opener, and ends among its own. */
  #requestsOf(nameOf: (requestId: string) => string, script: string, hasFailed: () => void) {
    const { activity } = this.#options
    const open = new Set([script])
    const finished = ({ requestId }: { requestId: string }) => {
      const name = nameOf(requestId)
      open.delete(name)
      activity.finished(name)
      if (name === script) activity.workerLoaded()
      else activity.workerWillSend()
    }
    const progressed = ({ requestId }: { requestId: string }) => activity.progressed(nameOf(requestId))
    const listeners: CdpListeners = {
      'Network.requestWillBeSent': ({ requestId, request: { method, url, postData }, type = 'Other' }) => {
        open.add(nameOf(requestId))
        activity.started(nameOf(requestId), { method, url, postData, type })
      },
      'Network.responseReceived': progressed,
      'Network.dataReceived': progressed,
      'Network.loadingFinished': finished,
      'Network.loadingFailed': (event) => {
        finished(event)
        // A worker without a script answers nothing, but exists until its page's clock goes on.
        if (nameOf(event.requestId) === script) hasFailed()
      },
    }
    return { listeners, end: () => open.forEach((name) => void activity.finished(name)) }
  }

  /** Asks the worker again and again. It computes if it does not answer while its page does. */
  async #probe(worker: CdpSession, sessionId: string): Promise<never> {
    const { activity, page } = this.#options
    const ask = (session: Pick<CdpSession, 'send'>) => session.send('Runtime.evaluate', { expression: '0' })
    for (;;) {
      let isAnswered = false
      const compare = async () => {
        await ask(page)
        if (!isAnswered) activity.workerBusy(sessionId)
      }
      const late = setTimeout(() => void compare().catch(() => {}), USUAL_ANSWER_MS)
      await ask(worker).finally(() => {
        isAnswered = true
        clearTimeout(late)
      })
      activity.workerIdle(sessionId)
      await delay(PROBE_EVERY_MS)
    }
  }
}

/** Resolves with the id of the function that returns whether timers wait in the worker. */
async function begin(worker: CdpSession, isWatched: boolean, dateScript: string): Promise<string | null> {
  // In this order on one pipe: all is set when it begins to run.
  const set = isWatched
    ? [
        worker.send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }),
        worker.send('Target.setAutoAttach', ATTACH_WORKERS),
      ]
    : []
  const expression = `${SPINNING_CLOCK};${dateScript};${TIMERS}`
  const scripted = isWatched ? worker.send('Runtime.evaluate', { expression }) : null
  // All together, so that no rejection stays unhandled.
  const [given] = await Promise.all([scripted, ...set, worker.send('Runtime.runIfWaitingForDebugger')])
  return given?.result.objectId ?? null
}

async function hasTimers(worker: CdpSession, objectId: string | null): Promise<boolean> {
  if (objectId === null) return false
  const { result } = await worker.send('Runtime.callFunctionOn', {
    objectId,
    functionDeclaration: 'function () { return this() }',
    returnByValue: true,
  })
  return result.value === true
}

const STEP_MS = 100
/** The page needs a moment of the clock for the last messages of workers. */
const LAST_MESSAGES_MS = 1

/**
 * `grant` with the workers kept in step. They read the page's clock, but sleep by ours: after a jump, their due timers
 * would sleep on. So where timers wait, each step ends with a question to all workers, which wakes them. (Chromium can
 * bind workers to the clock, but one that ends while it loads something then stops it for good: Chromium 153.)
 */
export function inStepWith(
  workers: () => readonly Wake[],
  clock: RenderClock,
  activity: Pick<NetworkActivity, 'workersLeftMs' | 'clockMoved'>,
): RenderClock['grant'] {
  let grants = 0

  const wake = async (): Promise<boolean> => {
    const leftMs = activity.workersLeftMs()
    if (workers().length === 0 || leftMs === 0) return false
    const answers = Promise.all(workers().map((ask) => ask().catch(() => false)))
    const found = await within(leftMs, answers, null)
    return found?.includes(true) ?? false
  }

  return async (policy: Policy, budgetMs: number) => {
    const grant = ++grants
    if (workers().length === 0) return clock.grant(policy, budgetMs)

    const goOn = async () => {
      for (let leftMs = budgetMs; leftMs > 0; ) {
        const stepMs = (await wake()) ? Math.min(STEP_MS, leftMs) : leftMs
        if (grant !== grants) return never
        const { expired } = await clock.grant(policy, stepMs)
        await expired
        activity.clockMoved()
        leftMs -= stepMs
      }
      await wake()
      if (grant !== grants) return never
      const { expired } = await clock.grant(policy, LAST_MESSAGES_MS)
      return expired
    }
    const expired = goOn()
    expired.catch(() => {})
    return { expired }
  }
}

const never = new Promise<never>(() => {})
