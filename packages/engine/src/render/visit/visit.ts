import type { PageLimits, RenderOutcome, RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import type { GivenDocument } from '../../gateway/documents.ts'
import { CdpClosed, type CdpConnection, type CdpListeners, type CdpSession } from '../browser/cdp.ts'
import { OUT_OF_MEMORY, type Page, TOO_MANY_EVENTS } from '../tab/page.ts'
import type { Tab } from '../tab/tab.ts'
import { Workers } from '../tab/workers.ts'
import type { LongPolls } from '../time/long-polls.ts'
import { NetworkActivity } from '../time/network-activity.ts'
import type { RenderClock } from '../time/virtual-clock.ts'
import { ReadySignal, runUntilSettled } from '../time/virtual-time.ts'
import { badnessOf } from './bad-page.ts'
import {
  BODILESS,
  isRedirectStatus,
  isTemporaryError,
  keptHeaders,
  MainDocument,
  outcomeOfFailure,
  publicUrl,
  type SiteAddress,
} from './main-document.ts'
import { pageHeaders } from './page-headers.ts'
import { mergeListeners, type Recorder } from './recorder.ts'
import { changeOf, doesWait, lackOfRule, withChanges } from './rule.ts'
import { type Snapshot, takeSnapshot } from './snapshot.ts'

/** For the snapshot, at the end of a render's time. */
const LAST_MS = 1_500

/** A page that reloads more often than this never becomes ready. */
const RELOAD_LIMIT = 3

/** Renders one page in one tab. `load` is the normal path; each `end(...)` ends early. */
export async function visit(
  tab: Tab,
  request: RenderRequest,
  options: {
    timeoutMs: number
    clock: Clock
    limits: PageLimits
    recorder: Recorder
    longPolls: LongPolls
    /** Answers the page's own request. */
    given?: GivenDocument | undefined
  },
): Promise<RenderOutcome> {
  const { page } = tab
  const { customDomain, signal, captureByMs = null } = request
  const { timeoutMs, clock, limits, recorder } = options
  const polls = options.longPolls.of(request)
  const awaitUntilMs = clock.nowMs() + timeoutMs - Math.min(LAST_MS, timeoutMs / 4)
  const url = `https://${customDomain}${request.path}`

  const { promise: ended, resolve: end } = Promise.withResolvers<RenderOutcome>()
  let isOver = false
  const { session, connection, clock: pageClock } = untilOver(page, () => isOver)
  const isDelivered = (address: string) => tab.site.isDelivered(address)
  const activity = new NetworkActivity(clock.nowMs, isDelivered, { untilMs: awaitUntilMs, polls })
  const ready = new ReadySignal(!doesWait(request))
  const main = new MainDocument(page.frameId, request, recorder, end)
  const workers = new Workers({
    connection,
    activity,
    page: session,
    dateScript: () => page.date.workerScript(),
    userAgent: page.userAgent,
  })
  const listeners = [
    recorder.listeners(page.frameId, (address) => tab.site.blockedBy(address)),
    main.listeners,
  ]
  listeners.push(limitListeners(tab, url, request, limits, end))
  page.listen(mergeListeners([...listeners, workers.listeners, activity.listeners, ready.listeners]))

  const timer = setTimeout(() => {
    const reason = reasonOfLack([], ready.state)
    end({ kind: 'timed-out', afterMs: timeoutMs, ...(reason !== null && { reason }) })
  }, timeoutMs)
  const abort = () => end({ kind: 'aborted' })
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  const lose = () => end(outcomeOfLoss(tab.lost.reason))
  tab.lost.addEventListener('abort', lose)
  if (tab.lost.aborted) lose()

  const load = async (): Promise<RenderOutcome> => {
    await page.date.begin(clock.nowMs())
    await tab.unpark(url)
    tab.site.judgeNext((status, headers) => {
      const path = main.passGate(status, headers)
      if (path === null) return main.judgeFirst(status, headers)
      // On this connection, whatever scheme the site says.
      headers['location'] = path
      return 'again'
    }, options.given)
    const { errorText } = await session.send('Page.navigate', { url })
    if (errorText !== undefined) return outcomeOfFailure(errorText)
    // Until then the tab may hold the previous parked page.
    await main.arrived
    const watched = workers.follow(pageClock)
    const capture = await runUntilSettled(session, watched, activity, ready, clock.nowMs, captureByMs)
    recorder.captured(capture)
    const lack = await lackOfRule(request, {
      session,
      page,
      clock: watched,
      activity,
      nowMs: clock.nowMs,
      pageMs: timeoutMs,
      untilMs: Math.min(awaitUntilMs, captureByMs ?? Number.POSITIVE_INFINITY),
    })
    const missing = capture === 'ready-signal' ? [] : activity.missing()
    recorder.missed(missing)
    const snapshot = await takeSnapshot(session, page.frameId, limits, page.ownWorld, changeOf(request, url))
    page.canPark = activity.canPark()
    const headers = keptHeaders(main.headers)
    const found = outcomeOfSnapshot(snapshot, { status: main.status, headers, url, site: request })
    const outcome = withChanges(found, { snapshot, rule: request.rule, url })
    const reason = reasonOfLack(missing, ready.state)
    if (lack !== null) return withLack(outcome, lack)
    if (capture === 'deadline') return withLack(outcome, reason ?? 'the page was still busy')
    for (const { method, url } of missing) polls.learn(method, url)
    return reason !== null && outcome.kind === 'rendered' ? { ...outcome, missing: reason } : outcome
  }
  try {
    return await Promise.race([ended, load().catch((error) => outcomeOfFault(error, tab.lost))])
  } finally {
    isOver = true
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    tab.lost.removeEventListener('abort', lose)
  }
}

const NAMED_MISSING = 3

/** What the page lacks; null: nothing is known. */
function reasonOfLack(missing: ReturnType<NetworkActivity['missing']>, flag: ReadySignal['state']) {
  const names = missing.slice(0, NAMED_MISSING).map(({ method, url }) => `${method} ${url.slice(0, 120)}`)
  const more = missing.length > names.length ? ` and ${missing.length - names.length} more` : ''
  if (names.length > 0) return `no answer to ${names.join(', ')}${more}`
  return flag === 'hold' ? 'the page did not say that it was ready' : null
}

/** Redirects and limits are the same with or without what is missing. */
function withLack(outcome: RenderOutcome, reason: string): RenderOutcome {
  if (outcome.kind === 'blank' || outcome.kind === 'error-page')
    return { kind: 'incomplete', reason, page: null }
  if (outcome.kind !== 'rendered') return outcome
  const { status } = outcome
  const { headers, html, reading } = outcome.changed ?? outcome
  return { kind: 'incomplete', reason, page: { status, headers, html, reading } }
}

/** Drops commands after the render's end, so they do not reach the tab's next render. */
function untilOver(page: Page, isOver: () => boolean) {
  const refuse = () => Promise.reject(new CdpClosed('the render is over'))
  const scoped = (session: CdpSession): CdpSession => ({
    listen: session.listen,
    send: (method, ...params) => (isOver() ? refuse() : session.send(method, ...params)),
  })
  const connection: Pick<CdpConnection, 'session' | 'endSession'> = {
    session: (sessionId) => scoped(page.connection.session(sessionId)),
    endSession: (sessionId) => page.connection.endSession(sessionId),
  }
  const clock: RenderClock = {
    pause: () => (isOver() ? refuse() : page.clock.pause()),
    grant: (policy, budgetMs) => (isOver() ? refuse() : page.clock.grant(policy, budgetMs)),
  }
  return { session: scoped(page.session), connection, clock }
}

/** Ends a render that loads or unpacks too much, leaves for another address, or reloads endlessly. */
function limitListeners(
  { page: { frameId: mainFrameId }, site: gateway }: Tab,
  pageUrl: string,
  site: SiteAddress,
  limits: PageLimits,
  end: (outcome: RenderOutcome) => void,
): CdpListeners {
  let reloads = 0
  let unpackedBytes = 0
  let frames = 0
  const endIfCut = () => {
    const what = gateway.excess()
    if (what !== null) end({ kind: 'too-large', what })
  }
  return {
    'Network.responseReceived': endIfCut,
    'Network.loadingFailed': endIfCut,
    'Network.dataReceived': ({ dataLength }) => {
      unpackedBytes += dataLength
      if (unpackedBytes > limits.unpackedBytes) end({ kind: 'too-large', what: 'unpacked-bytes' })
    },
    'Page.frameAttached': () => {
      if (++frames > limits.frames) end({ kind: 'too-large', what: 'frames' })
    },
    'Page.frameRequestedNavigation': ({ frameId, url, disposition }) => {
      if (frameId !== mainFrameId || disposition !== 'currentTab') return
      const location = publicUrl(url, pageUrl, site)
      if (location === null) return
      if (location.split('#', 1)[0] !== pageUrl) end({ kind: 'redirect', status: 302, location })
      else if (++reloads > RELOAD_LIMIT) end({ kind: 'timed-out', afterMs: 0 })
    },
  }
}

function outcomeOfFault(error: unknown, lost: AbortSignal): RenderOutcome {
  if (lost.aborted) return outcomeOfLoss(lost.reason)
  return outcomeOfLoss(error instanceof Error ? error.message : String(error))
}

function outcomeOfLoss(reason: string): RenderOutcome {
  if (reason === OUT_OF_MEMORY) return { kind: 'too-large', what: 'memory' }
  if (reason === TOO_MANY_EVENTS) return { kind: 'too-large', what: 'event-bytes' }
  return { kind: 'crashed', reason }
}

export function outcomeOfSnapshot(
  snapshot: Snapshot,
  main: { status: number; headers: [name: string, value: string][]; url: string; site: SiteAddress },
): RenderOutcome {
  if (snapshot.kind === 'too-large') return snapshot
  if (snapshot.kind === 'not-html') return { kind: 'not-html', contentType: '' }

  const wanted = pageHeaders(snapshot.headers)
  const wantedStatus = statusOf(snapshot.statusCode)
  const status = wantedStatus ?? main.status
  const location = wanted.find(([name]) => name === 'location')?.[1]
  if (isRedirectStatus(status) && location !== undefined) {
    const absolute = publicUrl(location, main.url, main.site)
    if (absolute !== null) return { kind: 'redirect', status, location: absolute }
  }
  const headers = [...main.headers, ...wanted.filter(([name]) => name !== 'location')]
  const { html } = snapshot
  const reading = readPage(html, main.url)
  // The page set this status; the origin's was judged before.
  if (isTemporaryError(status)) return { kind: 'site-error', status, headers, html, reading }
  // A page that names its own status is believed.
  if (wantedStatus === null) {
    if (snapshot.blank) return { kind: 'blank' }
    const bad = badnessOf(html, reading, status)
    if (bad !== null) return bad
  }
  return {
    kind: 'rendered',
    status: status >= 300 && status < 400 ? main.status : status,
    headers,
    html,
    reading,
    unscripted: snapshot.unscripted,
  }
}

function statusOf(text: string | null): number | null {
  const status = Number(text?.trim() || Number.NaN)
  const isStatus = Number.isInteger(status) && status >= 200 && status <= 599
  return isStatus && !BODILESS.has(status) ? status : null
}
