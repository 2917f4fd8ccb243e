import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { within } from '@prepaint/runtime/within.ts'
import type { CdpConnection, CdpListeners, CdpSession } from '../browser/cdp.ts'
import type { NetworkActivity } from '../time/network-activity.ts'
import type { Policy, RenderClock } from '../time/virtual-clock.ts'
import { navigatorScript, overrideUserAgent, type UserAgent } from './user-agent.ts'

/** Workers wait for us before their first line. */
const attachTo = (type: string) => ({
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type }, { exclude: true }],
})
export const ATTACH_WORKERS = attachTo('worker')
const ATTACH_SHARED_WORKERS = attachTo('shared_worker')

type AttachListeners = Pick<CdpListeners, 'Target.attachedToTarget' | 'Target.detachedFromTarget'>

/** The shared workers of all contexts of a browser. */
export class ContextWorkers {
  readonly #listeners = new Map<string, AttachListeners>()
  /** The context of each worker's session. */
  readonly #contexts = new Map<string, string>()

  /** Must be the only listener of the browser's session. */
  static async follow(browser: CdpSession): Promise<ContextWorkers> {
    const workers = new ContextWorkers(browser)
    await browser.send('Target.setAutoAttach', ATTACH_SHARED_WORKERS)
    return workers
  }

  private constructor(browser: CdpSession) {
    browser.listen({
      'Target.attachedToTarget': (event) => {
        const { type, browserContextId } = event.targetInfo
        if (type !== 'shared_worker' || browserContextId === undefined) return
        this.#contexts.set(event.sessionId, browserContextId)
        this.#listeners.get(browserContextId)?.['Target.attachedToTarget']?.(event)
      },
      'Target.detachedFromTarget': (event) => {
        const browserContextId = this.#contexts.get(event.sessionId) ?? ''
        this.#contexts.delete(event.sessionId)
        this.#listeners.get(browserContextId)?.['Target.detachedFromTarget']?.(event)
      },
    })
  }

  /** Replaces the context's listeners. A shared worker without a listener does not start. */
  listen(browserContextId: string, listeners: AttachListeners): void {
    this.#listeners.set(browserContextId, listeners)
  }

  forget(browserContextId: string): void {
    this.#listeners.delete(browserContextId)
  }
}

/** A worker that takes longer to answer is computing. */
const USUAL_ANSWER_MS = 100
const PROBE_EVERY_MS = 25
export const WATCHED_LIMIT = 16

const inPage = (file: string) => readFileSync(path.join(import.meta.dirname, '../in-page', file), 'utf8')
const SPINNING_CLOCK = inPage('spinning-clock.js')
const TIMERS = inPage('worker-timers.js')

/** Resolves with whether timers wait in the worker, after due ones have run. */
type Wake = () => Promise<boolean>

type WorkersOptions = {
  /** Sessions must fail once the render is over. */
  connection: Pick<CdpConnection, 'session' | 'endSession'>
  activity: NetworkActivity
  page: Pick<CdpSession, 'send'>
  dateScript?: () => string
  /** Chromium overrides them for pages, and partly for dedicated workers. */
  userAgent?: UserAgent
  limit?: number
}

export class Workers {
  /** Listeners for the page's session. A worker's script load has the same id in both sessions. */
  readonly listeners: CdpListeners
  readonly #options: WorkersOptions
  readonly #running = new Map<string, Wake>()
  #watched = 0

  constructor(options: WorkersOptions) {
    this.#options = options
    this.listeners = this.#startedBy((requestId) => requestId)
  }

  follow(clock: RenderClock): RenderClock {
    const { activity } = this.#options
    return {
      pause: () => clock.pause(),
      grant: inStepWith(() => [...this.#running.values()], clock, activity),
    }
  }

  /** `nameOf` returns a request name that is unique over the page and its workers. */
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
        const {
          connection,
          activity,
          dateScript = () => '',
          userAgent,
          limit = WATCHED_LIMIT,
        } = this.#options
        const worker = connection.session(sessionId)
        const script = nameOf(targetId)
        this.#watched++
        const isWatched = this.#watched <= limit
        const begun = begin(worker, isWatched, dateScript(), userAgent).catch(() => null)
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

  /** A worker's script load begins in its opener's session and ends in its own. */
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
        // A worker without a script never answers, but exists until the page's clock goes on.
        if (nameOf(event.requestId) === script) hasFailed()
      },
    }
    return { listeners, end: () => open.forEach((name) => void activity.finished(name)) }
  }

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
async function begin(
  worker: CdpSession,
  isWatched: boolean,
  dateScript: string,
  userAgent: UserAgent | undefined,
): Promise<string | null> {
  // One pipe keeps the order: everything is set before the worker runs.
  const set: Promise<unknown>[] = []
  if (isWatched) {
    set.push(
      worker.send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }),
      worker.send('Target.setAutoAttach', ATTACH_WORKERS),
    )
    if (userAgent !== undefined) set.push(...overrideUserAgent(worker, userAgent))
  }
  const expression = `${SPINNING_CLOCK};${dateScript};${userAgent === undefined ? '' : navigatorScript(userAgent)};${TIMERS}`
  const scripted = isWatched ? worker.send('Runtime.evaluate', { expression }) : null
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
/** The page needs a moment of the clock for the workers' last messages. */
const LAST_MESSAGES_MS = 1

/**
 * Wakes workers after each step: they read the page's clock but sleep in real time. Binding them to the clock fails:
 * a worker that ends while loading stops the clock for good (Chromium 153).
 */
function inStepWith(
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
