import type { Clock } from '../clock.ts'
import { activityListeners } from './activity-listeners.ts'
import type { CdpListeners } from './cdp.ts'
import { outcomeOfFault, outcomeOfLoss, outcomeOfNavigation } from './failed-visit.ts'
import { createMainDocument } from './main-document.ts'
import { keptHeaders, publicUrl } from './main-response.ts'
import { createNetworkActivity } from './network-activity.ts'
import type { RenderOutcome, RenderRequest } from './outcome.ts'
import type { PageLimits } from './page-limits.ts'
import { outcomeOfSnapshot } from './quality.ts'
import { createReadySignal } from './ready-signal.ts'
import { allHear, type Recorder } from './recorder.ts'
import { takeSnapshot } from './snapshot.ts'
import { createStillness } from './stillness.ts'
import type { PooledTab } from './tab-pool.ts'
import { clockUntilOver, connectionUntilOver, sessionUntilOver } from './until-over.ts'
import { runUntilSettled } from './virtual-time.ts'
import { watchWorkers } from './worker-watch.ts'

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
