import type { Clock } from '../../clock.ts'
import type { CdpListeners } from '../browser/cdp.ts'
import type { RenderOutcome, RenderRequest } from '../outcome.ts'
import type { PageLimits } from '../page-limits.ts'
import { OUT_OF_MEMORY, TOLD_TOO_MUCH } from '../tab/page.ts'
import type { PooledTab } from '../tab/tab-pool.ts'
import { watchWorkers } from '../tab/workers.ts'
import { createNetworkActivity, type NetworkActivity } from '../time/network-activity.ts'
import { createReadySignal, createStillness } from '../time/stillness.ts'
import {
  clockUntilOver,
  connectionUntilOver,
  runUntilSettled,
  sessionUntilOver,
} from '../time/virtual-time.ts'
import { badnessOf, TEXT_LIMIT_CHARS } from './bad-page.ts'
import { createMainDocument } from './main-document.ts'
import {
  BODILESS,
  isErrorOfTheMoment,
  isRedirectStatus,
  keptHeaders,
  publicUrl,
  type SiteAddress,
} from './main-response.ts'
import { pageHeaders } from './page-headers.ts'
import { pageText } from './page-text.ts'
import { allHear, type Recorder } from './recorder.ts'
import { type Snapshot, takeSnapshot } from './snapshot.ts'

/** A page that reloads itself more often than this never becomes one. */
const RELOAD_LIMIT = 3

/**
 * One render in one tab, top to bottom. Every way in which it can end early is
 * an `end(...)` below; the straight way is `load`: navigate, let the page have
 * its time, take the snapshot, judge it.
 */
export async function visit(
  tab: PooledTab,
  request: RenderRequest,
  options: { timeoutMs: number; clock: Clock; limits: PageLimits; recorder: Recorder },
): Promise<RenderOutcome> {
  const { page } = tab
  const { customDomain, signal } = request
  const { timeoutMs, clock, limits, recorder } = options
  const url = `https://${customDomain}${request.path}`

  const { promise: ended, resolve: end } = Promise.withResolvers<RenderOutcome>()
  const activity = createNetworkActivity(clock.nowMs, tab.isDelivered)
  const session = sessionUntilOver(page.session, () => isOver)
  const ready = createReadySignal()
  const main = createMainDocument(page.frameId, request, recorder, end)
  const stillness = createStillness(page.frameId)
  let reloads = 0
  let unpackedBytes = 0
  let isOver = false

  const heard: CdpListeners = {
    'Network.dataReceived': ({ dataLength }) => {
      unpackedBytes += dataLength
      if (unpackedBytes > limits.unpackedBytes) end({ kind: 'too-large', what: 'unpacked-bytes' })
    },
    'Page.frameRequestedNavigation': ({ frameId, url: target, disposition }) => {
      if (frameId !== page.frameId || disposition !== 'currentTab') return
      const location = publicUrl(target, url, request)
      if (location === null) return
      if (withoutHash(location) !== url) end({ kind: 'redirect', status: 302, location })
      else if (++reloads > RELOAD_LIMIT) end({ kind: 'timed-out', afterMs: 0 })
    },
  }
  const connection = connectionUntilOver(page.connection, () => isOver)
  const workers = watchWorkers(connection, activity, session, page.date.workerScript)
  const time = workers.follow(clockUntilOver(page.clock, () => isOver))
  const told = [
    ...[recorder.listeners(page.frameId), main.listeners, heard],
    ...[stillness.listeners, workers.listeners, activityListeners(activity, ready)],
  ]
  page.listen(allHear(told))

  const timer = setTimeout(() => end({ kind: 'timed-out', afterMs: timeoutMs }), timeoutMs)
  const abort = () => end({ kind: 'aborted' })
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  void tab.lost.then((reason) => end(outcomeOfLoss(reason)))

  const load = async (): Promise<RenderOutcome> => {
    await page.date.begin(clock.nowMs())
    await tab.wake(url)
    tab.judgeNext(main.judgeFirst)
    const { errorText } = await session.send('Page.navigate', { url })
    // The response that could not be shown may have been judged already; that is the better answer.
    if (errorText !== undefined) return outcomeOfNavigation(errorText)
    // What is in the tab until then may be the page of the render before, asleep.
    await stillness.arrived
    recorder.captured(await runUntilSettled(session, time, activity, ready, clock.nowMs))
    const snapshot = await takeSnapshot(session, page.frameId, limits, page.ownWorld)
    page.isStill = stillness.isStill()
    return outcomeOfSnapshot(snapshot, {
      status: main.status,
      headers: keptHeaders(main.headers),
      url,
      site: request,
    })
  }
  try {
    return await Promise.race([ended, load().catch((error) => outcomeOfFault(error, tab.lost))])
  } finally {
    isOver = true
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

function withoutHash(url: string): string {
  const at = url.indexOf('#')
  return at === -1 ? url : url.slice(0, at)
}

/** `errorText` as `Page.navigate` gives it. */
function outcomeOfNavigation(errorText: string): RenderOutcome {
  // An error status without a body: Chromium has a page of its own for it, we have nothing to keep.
  if (errorText === 'net::ERR_HTTP_RESPONSE_CODE_FAILURE') return { kind: 'blank' }
  return { kind: 'origin-unreachable', reason: errorText }
}

/** The tab is gone, or Chromium refused what it never refuses to a sound page. */
async function outcomeOfFault(error: unknown, lost: Promise<string>): Promise<RenderOutcome> {
  const reason = error instanceof Error ? error.message : String(error)
  const lostWhy = await Promise.race([lost, Promise.resolve(null)])
  return outcomeOfLoss(lostWhy ?? reason)
}

function outcomeOfLoss(reason: string): RenderOutcome {
  if (reason === OUT_OF_MEMORY) return { kind: 'too-large', what: 'memory' }
  if (reason === TOLD_TOO_MUCH) return { kind: 'too-large', what: 'event-bytes' }
  return { kind: 'crashed', reason }
}

/** Whether a snapshot is a page worth keeping, and with which status and headers. */
function outcomeOfSnapshot(
  snapshot: Snapshot,
  main: { status: number; headers: [name: string, value: string][]; url: string; site: SiteAddress },
): RenderOutcome {
  if (snapshot.kind === 'too-large') return snapshot
  if (snapshot.kind === 'not-html') return { kind: 'not-html', contentType: '' }

  const asked = pageHeaders(snapshot.headers)
  const status = statusOf(snapshot.statusCode) ?? main.status
  const location = asked.find(([name]) => name === 'location')?.[1]
  if (isRedirectStatus(status) && location !== undefined) {
    const absolute = publicUrl(location, main.url, main.site)
    if (absolute !== null) return { kind: 'redirect', status, location: absolute }
  }
  const headers = [...main.headers, ...asked.filter(([name]) => name !== 'location')]
  // What the origin itself answered has been judged before: this is the page's own word.
  if (isErrorOfTheMoment(status)) return { kind: 'site-error', status, headers, html: snapshot.html }
  if (snapshot.blank) return { kind: 'blank' }
  // A page that says itself what it is, is believed.
  if (statusOf(snapshot.statusCode) === null) {
    const bad = badnessOf(snapshot.html, pageText(snapshot.html, TEXT_LIMIT_CHARS + 1), status)
    if (bad !== null) return bad
  }
  return {
    kind: 'rendered',
    // A redirect to nowhere is no answer: the page as the origin sent it is.
    status: status >= 300 && status < 400 ? main.status : status,
    headers,
    html: snapshot.html,
  }
}

function statusOf(text: string | null): number | null {
  const status = Number(text?.trim() || Number.NaN)
  const isStatus = Number.isInteger(status) && status >= 200 && status <= 599
  return isStatus && !BODILESS.has(status) ? status : null
}

/** What the page does and says, as Chromium reports it, told to those who judge when it is ready. */
function activityListeners(
  activity: NetworkActivity,
  ready: ReturnType<typeof createReadySignal>,
): CdpListeners {
  return {
    'Network.requestWillBeSent': ({ requestId, request: { method, url, postData }, type = 'Other' }) =>
      activity.started(requestId, { method, url, postData, type }),
    'Network.dataReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.responseReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.eventSourceMessageReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.webSocketCreated': ({ requestId, url }) =>
      activity.started(requestId, { method: 'GET', url, type: 'WebSocket' }),
    'Network.webSocketHandshakeResponseReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.webSocketFrameSent': ({ requestId }) => activity.asked(requestId),
    'Network.webSocketFrameReceived': ({ requestId }) => activity.progressed(requestId),
    'Network.webSocketClosed': ({ requestId }) => activity.finished(requestId),
    'Network.loadingFinished': ({ requestId }) => activity.finished(requestId),
    'Network.loadingFailed': ({ requestId }) => activity.finished(requestId),
    // Said by in-page/real-time.js, and by in-page/new-document.js of the page's own signals.
    'Runtime.bindingCalled': ({ payload }) => {
      const [verb, object = ''] = payload.split(' ', 2)
      if (verb === 'worker') activity.workerStarted()
      else if (verb === 'ended') activity.workerEnded(object)
      else if (verb === 'asked') activity.workerAsked()
      else if (verb === 'spoke') activity.workerSpoke()
      else if (verb === 'reading') activity.readBegan()
      else if (verb === 'read') activity.readEnded()
      else if (verb === 'draining') activity.drainBegan()
      else if (verb === 'drained') activity.drainEnded()
      else if (verb === 'busy') activity.workBegan()
      else if (verb === 'idle') activity.workEnded()
      else ready.hear(verb, object)
    },
  }
}
