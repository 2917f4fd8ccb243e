import { setTimeout as delay } from 'node:timers/promises'

import type { CdpConnection, CdpListeners, CdpSession } from './cdp.ts'
import type { NetworkActivity } from './network-activity.ts'

/** For `Target.setAutoAttach`, of a page and of each worker: workers wait for us before their first line. */
export const ATTACH_WORKERS = {
  autoAttach: true,
  waitForDebuggerOnStart: true,
  flatten: true,
  filter: [{ type: 'worker' }, { exclude: true }],
}

/** A worker that lets us wait for longer than this computes. */
const USUAL_ANSWER_MS = 30
const LOOK_EVERY_MS = 25
/** Of so many workers of one page is known what they do; the others run as well. */
export const WATCHED_LIMIT = 16

/**
 * Tells what the workers of a page are about: their requests, and whether they
 * compute. A page hears nothing of either, only the answer at the end, and
 * silence alone does not tell a worker at work from one that has nothing to say.
 * The sessions that `connection` opens have to fail once the render is over.
 */
export function watchWorkers(
  connection: Pick<CdpConnection, 'session' | 'endSession'>,
  activity: NetworkActivity,
  limit = WATCHED_LIMIT,
): CdpListeners {
  let watched = 0

  const attached: CdpListeners = {
    'Target.attachedToTarget': ({ sessionId }) => {
      const worker = connection.session(sessionId)
      const isWatched = ++watched <= limit
      // It may end at any moment, and the render with it.
      void begin(worker, isWatched).catch(() => {})
      if (!isWatched) return
      worker.listen({ ...attached, ...requestsOf(sessionId) })
      void probe(worker).catch(() => activity.workerRested(sessionId))

      async function probe(session: CdpSession): Promise<never> {
        for (;;) {
          const busy = setTimeout(() => activity.workerBusy(sessionId), USUAL_ANSWER_MS)
          await session.send('Runtime.evaluate', { expression: '0' }).finally(() => clearTimeout(busy))
          activity.workerRested(sessionId)
          await delay(LOOK_EVERY_MS)
        }
      }
    },
    'Target.detachedFromTarget': ({ sessionId }) => connection.endSession(sessionId),
  }

  const requestsOf = (sessionId: string): CdpListeners => {
    const idOf = (requestId: string) => `${sessionId} ${requestId}`
    const ended = ({ requestId }: { requestId: string }) => {
      activity.finished(idOf(requestId))
      activity.workerFed()
    }
    const progressed = ({ requestId }: { requestId: string }) => activity.progressed(idOf(requestId))
    return {
      'Network.requestWillBeSent': ({ requestId, request: { method, url, postData }, type = 'Other' }) =>
        activity.started(idOf(requestId), { method, url, postData, type }),
      'Network.responseReceived': progressed,
      'Network.dataReceived': progressed,
      'Network.loadingFinished': ended,
      'Network.loadingFailed': ended,
    }
  }
  return attached
}

async function begin(worker: CdpSession, isWatched: boolean): Promise<void> {
  // In this order on one pipe: it has begun to be watched when it begins to run.
  await Promise.all([
    ...(isWatched
      ? [
          worker.send('Network.enable', { maxTotalBufferSize: 0, maxResourceBufferSize: 0 }),
          worker.send('Target.setAutoAttach', ATTACH_WORKERS),
        ]
      : []),
    worker.send('Runtime.runIfWaitingForDebugger'),
  ])
}
