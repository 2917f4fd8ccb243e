import type { Clock } from '../clock.ts'
import { CdpClosed, type CdpListeners, type CdpSession } from './cdp.ts'
import { judgeMainResponse, keptHeaders, publicUrl, type ResponseHeader } from './main-response.ts'
import { createNetworkActivity } from './network-activity.ts'
import type { RenderOutcome, RenderRequest } from './outcome.ts'
import { OUT_OF_MEMORY } from './page.ts'
import type { PageLimits } from './page-limits.ts'
import { answerPaused, stopPaused } from './paused-request.ts'
import { outcomeOfSnapshot } from './quality.ts'
import { createReadySignal } from './ready-signal.ts'
import { bothHear, type Recorder } from './recorder.ts'
import { takeSnapshot } from './snapshot.ts'
import type { Tab } from './tab.ts'
import type { VirtualClock } from './virtual-clock.ts'
import { runUntilSettled } from './virtual-time.ts'

/** A page that reloads itself more often than this never becomes one. */
const RELOAD_LIMIT = 3

/**
 * One render in one tab, top to bottom. Every way in which it can end early is
 * an `end(...)` below; the straight way is `load`: navigate, let the page have
 * its time, take the snapshot, judge it.
 */
export async function visit(
  tab: Tab,
  request: RenderRequest,
  options: { timeoutMs: number; clock: Clock; limits: PageLimits; recorder: Recorder },
): Promise<RenderOutcome> {
  const { page } = tab
  const { customDomain, signal } = request
  const { timeoutMs, clock, limits, recorder } = options
  const url = `https://${customDomain}${request.path}`

  const { promise: ended, resolve: end } = Promise.withResolvers<RenderOutcome>()
  const activity = createNetworkActivity(clock.nowMs)
  const session = untilOver(page.session, () => isOver)
  const time = timeUntilOver(page.clock, () => isOver)
  const ready = createReadySignal()
  let status = 200
  let headers: readonly ResponseHeader[] = []
  /** Of the main document's request. */
  let documentId = ''
  let reloads = 0
  let unpackedBytes = 0
  let isOver = false

  const heard: CdpListeners = {
    'Network.requestWillBeSent': ({
      requestId,
      frameId,
      request: { method, url, postData },
      type = 'Other',
    }) => {
      if (type === 'Document' && frameId === page.frameId) documentId = requestId
      activity.started(requestId, { method, url, postData, type })
    },
    'Network.dataReceived': ({ requestId, dataLength }) => {
      unpackedBytes += dataLength
      if (unpackedBytes > limits.unpackedBytes) end({ kind: 'too-large', what: 'unpacked-bytes' })
      activity.progressed(requestId)
    },
    'Network.responseReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.eventSourceMessageReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.webSocketCreated': ({ requestId, url }) =>
      activity.started(requestId, { method: 'GET', url, type: 'WebSocket' }),
    'Network.webSocketFrameReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.webSocketClosed': ({ requestId }) => activity.finished(requestId),
    'Network.loadingFinished': ({ requestId }) => activity.finished(requestId),
    'Network.loadingFailed': ({ requestId, errorText, canceled = false }) => {
      // Half a document reads like a whole one.
      if (requestId === documentId && !canceled && headers.length > 0) {
        end({ kind: 'origin-unreachable', reason: errorText })
      }
      activity.finished(requestId)
    },
    'Runtime.bindingCalled': ({ payload }) => {
      const [verb, object = ''] = payload.split(' ', 2)
      if (verb === 'worker') activity.workerStarted(object)
      else if (verb === 'asked') activity.workerAsked()
      else if (verb === 'spoke') activity.workerSpoke()
      else if (verb === 'reading') activity.readBegan()
      else if (verb === 'read') activity.readEnded()
      else if (verb === 'busy') activity.workBegan()
      else if (verb === 'idle') activity.workEnded()
      else ready.hear(verb, object)
    },

    'Fetch.requestPaused': (paused) => {
      const isMain = paused.frameId === page.frameId && paused.resourceType === 'Document'
      const { responseStatusCode } = paused
      if (isMain && responseStatusCode !== undefined) {
        status = responseStatusCode
        headers = paused.responseHeaders ?? []
        const outcome = judgeMainResponse(paused.request.url, status, headers, request)
        if (outcome !== null) {
          end(outcome)
          return stopPaused(page.session, paused)
        }
      }
      answerPaused(page.session, paused)
    },

    'Page.frameRequestedNavigation': ({ frameId, url: target, disposition }) => {
      if (frameId !== page.frameId || disposition !== 'currentTab') return
      const location = publicUrl(target, url, request)
      if (location === null) return
      if (withoutHash(location) !== url) end({ kind: 'redirect', status: 302, location })
      else if (++reloads > RELOAD_LIMIT) end({ kind: 'timed-out', afterMs: 0 })
    },
  }
  page.listen(bothHear(recorder.listeners(page.frameId), heard))

  const timer = setTimeout(() => end({ kind: 'timed-out', afterMs: timeoutMs }), timeoutMs)
  const abort = () => end({ kind: 'aborted' })
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  void tab.lost.then((reason) => end(outcomeOfLoss(reason)))

  const load = async (): Promise<RenderOutcome> => {
    await time.pause()
    const { errorText } = await session.send('Page.navigate', { url })
    // The response that could not be shown may have been judged already; that is the better answer.
    if (errorText !== undefined) return failedNavigation(errorText)
    recorder.captured(await runUntilSettled(session, time, activity, ready, clock.nowMs))
    const snapshot = await takeSnapshot(session, page.frameId, limits)
    return outcomeOfSnapshot(snapshot, { status, headers: keptHeaders(headers), url, site: request })
  }
  try {
    return await Promise.race([ended, load().catch((error) => fault(error, tab))])
  } finally {
    isOver = true
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

/** What is left of a render that ended early must not reach the next one in the same tab. */
function untilOver(session: CdpSession, isOver: () => boolean): CdpSession {
  return {
    ...session,
    send: (method, ...params) =>
      isOver() ? Promise.reject(new CdpClosed('the render is over')) : session.send(method, ...params),
  }
}

/** The same for the page's clock: time that a render takes after its end would be missing in the next one. */
function timeUntilOver(clock: VirtualClock, isOver: () => boolean): VirtualClock {
  const over = () => Promise.reject(new CdpClosed('the render is over'))
  return {
    ...clock,
    pause: () => (isOver() ? over() : clock.pause()),
    grant: (...given) => (isOver() ? over() : clock.grant(...given)),
  }
}

function failedNavigation(errorText: string): RenderOutcome {
  // An error status without a body: Chromium has a page of its own for it, we have nothing to keep.
  if (errorText === 'net::ERR_HTTP_RESPONSE_CODE_FAILURE') return { kind: 'blank' }
  return { kind: 'origin-unreachable', reason: errorText }
}

/** The tab is gone, or Chromium refused what it never refuses to a sound page. */
async function fault(error: unknown, tab: Tab): Promise<RenderOutcome> {
  const reason = error instanceof Error ? error.message : String(error)
  const lostWhy = await Promise.race([tab.lost, Promise.resolve(null)])
  return outcomeOfLoss(lostWhy ?? reason)
}

function outcomeOfLoss(reason: string): RenderOutcome {
  return reason === OUT_OF_MEMORY ? { kind: 'too-large', what: 'memory' } : { kind: 'crashed', reason }
}

function withoutHash(url: string): string {
  const at = url.indexOf('#')
  return at === -1 ? url : url.slice(0, at)
}
