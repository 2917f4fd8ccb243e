import { readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { CdpConnection, CdpListeners, CdpSession } from '../browser/cdp.ts'
import type { NetworkActivity } from '../time/network-activity.ts'
import type { Policy, VirtualClock } from '../time/virtual-clock.ts'

/** For `Target.setAutoAttach`: workers wait for us before their first line. */
const attachTo = (type: string) => ({
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type }, { exclude: true }],
})
/** Of a page and of each worker. */
export const ATTACH_WORKERS = attachTo('worker')
/** Of the browser: it belongs to no page. */
export const ATTACH_SHARED_WORKERS = attachTo('shared_worker')

/** A worker that lets us wait for longer than this computes. */
const USUAL_ANSWER_MS = 100
const LOOK_EVERY_MS = 25
/** Of so many workers of one page is known what they do; the others run as well. */
export const WATCHED_LIMIT = 16

const inPage = (file: string) => readFileSync(path.join(import.meta.dirname, '../in-page', file), 'utf8')
const SPINNING_CLOCK = inPage('spinning-clock.js')
/** Gives the function that tells whether timers wait. */
const TIMERS = inPage('worker-timers.js')

export type Workers = {
  listeners: CdpListeners
  /** The page's clock, which its workers keep step with. */
  follow(clock: VirtualClock): VirtualClock
}

/**
 * Tells what the workers of a page are about: their requests, and whether they
 * compute. A page hears nothing of either, only the answer at the end, and
 * silence alone does not tell a worker at work from one that has nothing to say.
 * The sessions that `connection` opens have to fail once the render is over.
 */
export function watchWorkers(
  connection: Pick<CdpConnection, 'session' | 'endSession'>,
  activity: NetworkActivity,
  page: Pick<CdpSession, 'send'>,
  /** What corrects the date in a worker that begins now. */
  dateScript: () => string = () => '',
  limit = WATCHED_LIMIT,
): Workers {
  let watched = 0
  const running = new Map<string, Wake>()

  /** `nameOf`: of a request, as whoever starts the workers tells of it; that of a worker's script is the worker's own. */
  const startedBy = (nameOf: (requestId: string) => string): CdpListeners => {
    /** What ends with each worker. */
    const ends = new Map<string, () => void>()
    const hasEnded = (sessionId: string) => {
      connection.endSession(sessionId)
      running.delete(sessionId)
      ends.get(sessionId)?.()
      ends.delete(sessionId)
    }
    return {
      'Target.attachedToTarget': ({ sessionId, targetInfo: { targetId } }) => {
        const worker = connection.session(sessionId)
        const script = nameOf(targetId)
        const isWatched = ++watched <= limit
        // It may end at any moment, and the render with it.
        const begun = begin(worker, isWatched, dateScript()).catch(() => null)
        if (!isWatched) return activity.finished(script)
        running.set(sessionId, async () => hasTimers(worker, await begun))

        const ownNameOf = (requestId: string) =>
          requestId === targetId ? script : `${sessionId} ${requestId}`
        const requests = requestsOf(ownNameOf, script, () => hasEnded(sessionId))
        ends.set(sessionId, requests.end)
        worker.listen({ ...startedBy(ownNameOf), ...requests.listeners })
        void probe(worker, sessionId).catch(() => activity.workerRested(sessionId))
      },
      'Target.detachedFromTarget': ({ sessionId }) => hasEnded(sessionId),
    }
  }

  const probe = async (worker: CdpSession, sessionId: string): Promise<never> => {
    const ask = (session: Pick<CdpSession, 'send'>) => session.send('Runtime.evaluate', { expression: '0' })
    for (;;) {
      let isAnswered = false
      const doubt = async () => {
        await ask(page)
        if (!isAnswered) activity.workerBusy(sessionId)
      }
      const late = setTimeout(() => void doubt().catch(() => {}), USUAL_ANSWER_MS)
      await ask(worker).finally(() => {
        isAnswered = true
        clearTimeout(late)
      })
      activity.workerRested(sessionId)
      await delay(LOOK_EVERY_MS)
    }
  }

  /** The loading of a worker's script begins among the requests of whoever starts it, and ends among its own. */
  const requestsOf = (nameOf: (requestId: string) => string, script: string, hasFailed: () => void) => {
    const open = new Set([script])
    const ended = ({ requestId }: { requestId: string }) => {
      const name = nameOf(requestId)
      open.delete(name)
      activity.finished(name)
      if (name === script) activity.workerLoaded()
      else activity.workerFed()
    }
    const progressed = ({ requestId }: { requestId: string }) => activity.progressed(nameOf(requestId))
    const listeners: CdpListeners = {
      'Network.requestWillBeSent': ({ requestId, request: { method, url, postData }, type = 'Other' }) => {
        open.add(nameOf(requestId))
        activity.started(nameOf(requestId), { method, url, postData, type })
      },
      'Network.responseReceived': progressed,
      'Network.dataReceived': progressed,
      'Network.loadingFinished': ended,
      'Network.loadingFailed': (told) => {
        ended(told)
        // One without a script answers nothing any more, but is there until its page's clock goes on.
        if (nameOf(told.requestId) === script) hasFailed()
      },
    }
    return { listeners, end: () => open.forEach(activity.finished) }
  }

  return {
    listeners: startedBy((requestId) => requestId),
    follow: (clock) =>
      inStepWith(() => [...running.values()], clock, activity.workersLeftMs, activity.clockMoved),
  }
}

/** Resolves with the name of the function that tells whether timers wait in it. */
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
  // All together: one that is not waited for when another fails would end the node by its own failure.
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

/** Time goes by in steps of so much where timers of workers wait. */
const STEP_MS = 100
/** What workers said last is heard by the page in a moment of its own. */
const HEAR_MS = 1

/** Wakes one worker. Resolves with whether timers wait in it, once those that are due have run. */
export type Wake = () => Promise<boolean>

/**
 * A clock that the workers of its page keep step with. They read the same one,
 * but sleep by ours: after a jump, timers of theirs that are due would sleep on.
 * So where timers wait each step ends with a question to all workers, which
 * wakes them. (Chromium can bind workers to the clock, but one that ends while
 * it loads something then stops it for good: Chromium 153.)
 */
export function inStepWith(
  workers: () => readonly Wake[],
  clock: VirtualClock,
  /** How long one that computes is waited for at most, in real ms. */
  patienceMs: () => number,
  /** The clock has gone on by a step. */
  moved: () => void,
): VirtualClock {
  let grants = 0

  /** Whether timers wait in any of them. */
  const wake = async (): Promise<boolean> => {
    if (workers().length === 0 || patienceMs() === 0) return false
    const answered = new AbortController()
    const answers = Promise.all(workers().map((ask) => ask().catch(() => false)))
    const tooLate = delay(patienceMs(), null, { signal: answered.signal }).catch(() => null)
    const found = await Promise.race([answers, tooLate]).finally(() => answered.abort())
    return found?.includes(true) ?? false
  }

  return {
    ...clock,
    async grant(policy: Policy, budgetMs: number) {
      const grant = ++grants
      if (workers().length === 0) return clock.grant(policy, budgetMs)

      const goOn = async () => {
        for (let leftMs = budgetMs; leftMs > 0; ) {
          const stepMs = (await wake()) ? Math.min(STEP_MS, leftMs) : leftMs
          if (grant !== grants) return never
          const { expired } = await clock.grant(policy, stepMs)
          await expired
          moved()
          leftMs -= stepMs
        }
        await wake()
        if (grant !== grants) return never
        const { expired } = await clock.grant(policy, HEAR_MS)
        return expired
      }
      const expired = goOn()
      // The render may end meanwhile.
      expired.catch(() => {})
      return { expired }
    },
  }
}

/** Another grant has taken the place of this one, and nobody waits for it. */
const never = new Promise<never>(() => {})
