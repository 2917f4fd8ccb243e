import type { PageLimits, RenderOutcome, RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { readPage } from '@prepaint/runtime/read-page.ts'
import type { GivenDocument } from '../../gateway/documents.ts'
import { CdpClosed, type CdpConnection, type CdpListeners, type CdpSession } from '../browser/cdp.ts'
import { OUT_OF_MEMORY, type Page, TOO_MANY_EVENTS } from '../tab/page.ts'
import type { Tab } from '../tab/tab.ts'
import { Workers } from '../tab/workers.ts'
import type { LongPolls, SitePolls } from '../time/long-polls.ts'
import { type MissingAnswer, NetworkActivity } from '../time/network-activity.ts'
import type { RenderClock } from '../time/virtual-clock.ts'
import { ReadySignal, runUntilSettled } from '../time/virtual-time.ts'
import { badnessOf } from './bad-page.ts'
import {
  isRedirectStatus,
  isTemporaryError,
  keptHeaders,
  MainDocument,
  outcomeOfFailure,
  publicUrl,
  type SiteAddress,
} from './main-document.ts'
import { OpaqueFrames } from './opaque-frames.ts'
import { pageHeaders, pageStatus } from './page-headers.ts'
import { LeavingPage, redirectOfPage } from './page-redirect.ts'
import { mergeListeners, type Recorder } from './recorder.ts'
import { changeOf, doesWait, lackOfRule, withChanges } from './rule.ts'
import { makeWorld, type Snapshot, takeSnapshot } from './snapshot.ts'
import { standsAlone } from './stands-alone.ts'

/** The end of a render's time is kept for the snapshot. */
const LAST_MS = 1_500
/** A crawler's last moment is for the capture. A page that only waited for answers is not busy then. */
const LAST_LIVE_MS = 750
/** A request that is unanswered for less time may be answered in any moment. */
const SUSPECTED_AFTER_MS = 5_000

/** The page's clock may run on so long until an element is there: as long as `wait_ms` may be. It costs little real time. */
const WAIT_FOR_MS = 30_000

/** A page that reloads more often than this never becomes ready. */
const RELOAD_LIMIT = 3

type VisitOptions = {
  timeoutMs: number
  clock: Clock
  limits: PageLimits
  recorder: Recorder
  longPolls: LongPolls
  /** Answers the page's own request. */
  given?: GivenDocument | undefined
}

/** Renders one page in one tab. Never rejects. */
export function visit(tab: Tab, request: RenderRequest, options: VisitOptions): Promise<RenderOutcome> {
  return new Visit(tab, request, options).run()
}

/** One render. `#load` is the normal path; each call of `#end` ends it early. */
class Visit {
  readonly #tab: Tab
  readonly #request: RenderRequest
  readonly #options: VisitOptions
  readonly #url: string
  /** Late responses are awaited until then. */
  readonly #awaitUntilMs: number
  readonly #polls: SitePolls
  readonly #scope: RenderScope
  readonly #activity: NetworkActivity
  readonly #ready: ReadySignal
  readonly #main: MainDocument
  readonly #workers: Workers
  readonly #frames = new OpaqueFrames()
  readonly #ended = Promise.withResolvers<RenderOutcome>()
  #isEnding = false
  #hasScriptText = false

  constructor(tab: Tab, request: RenderRequest, options: VisitOptions) {
    const { page, site } = tab
    const { clock, timeoutMs, recorder, longPolls } = options
    this.#tab = tab
    this.#request = request
    this.#options = options
    this.#url = `https://${request.customDomain}${request.path}`
    this.#awaitUntilMs = Math.min(
      clock.nowMs() + timeoutMs - Math.min(LAST_MS, timeoutMs / 4),
      (request.captureByMs ?? Number.POSITIVE_INFINITY) - LAST_LIVE_MS,
    )
    this.#polls = longPolls.forSite(request)
    this.#scope = new RenderScope(page)
    const isDelivered = (address: string) => site.isDelivered(address)
    this.#activity = new NetworkActivity(clock.nowMs, isDelivered, {
      untilMs: this.#awaitUntilMs,
      polls: this.#polls,
      isLive: request.captureByMs !== null,
    })
    this.#ready = new ReadySignal(!doesWait(request))
    this.#main = new MainDocument(page.frameId, request, recorder, this.#ended.resolve)
    this.#workers = new Workers({
      connection: this.#scope.connection,
      activity: this.#activity,
      page: this.#scope.session,
      dateScript: () => page.date.workerScript(),
      userAgent: page.userAgent,
    })
  }

  async run(): Promise<RenderOutcome> {
    const { signal } = this.#request
    const { lost } = this.#tab
    this.#listen()
    const timer = setTimeout(() => this.#end(this.#outcomeOfTimeout()), this.#options.timeoutMs)
    const abort = () => this.#end({ kind: 'aborted' })
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    const lose = () => this.#end(outcomeOfLoss(lost.reason))
    lost.addEventListener('abort', lose)
    if (lost.aborted) lose()
    try {
      const loaded = this.#load().catch((error) => outcomeOfFault(error, lost))
      const outcome = await Promise.race([this.#ended.promise, loaded])
      // A page that leaves is read before it ends; meanwhile it may have settled.
      return this.#isEnding ? await this.#ended.promise : outcome
    } finally {
      this.#scope.close()
      this.#tab.site.tellBegun(null)
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      lost.removeEventListener('abort', lose)
    }
  }

  /** Only the first call counts. */
  #end(outcome: RenderOutcome | Promise<RenderOutcome>): void {
    this.#isEnding = true
    this.#ended.resolve(outcome)
  }

  #listen(): void {
    const { page, site } = this.#tab
    site.tellBegun((address) => this.#activity.responseBegun(address))
    const { recorder, limits } = this.#options
    page.listen(
      mergeListeners([
        recorder.listeners(page.frameId, (address) => site.blockedBy(address)),
        this.#main.listeners,
        limitListeners(this.#tab, this.#scope.session, this.#url, this.#request, limits, (outcome) =>
          this.#end(outcome),
        ),
        this.#workers.listeners,
        this.#activity.listeners,
        this.#ready.listeners,
        this.#frames.listeners,
        {
          // A message from in-page/script-text.js.
          'Runtime.bindingCalled': ({ payload }) => {
            if (payload === 'wrote') this.#hasScriptText = true
          },
        },
      ]),
    )
  }

  #outcomeOfTimeout(): RenderOutcome {
    const reason = reasonOfLack([], this.#ready.state)
    const outcome: RenderOutcome = { kind: 'timed-out', afterMs: this.#options.timeoutMs }
    if (reason !== null) outcome.reason = reason
    return outcome
  }

  async #load(): Promise<RenderOutcome> {
    const { page } = this.#tab
    const { session } = this.#scope
    const { clock, limits, recorder, timeoutMs } = this.#options
    const request = this.#request
    const { captureByMs = null } = request
    await page.date.begin(clock.nowMs())
    await this.#tab.unpark(this.#url)
    this.#judgeDocument()
    const { errorText } = await session.send('Page.navigate', { url: this.#url })
    if (errorText !== undefined) return outcomeOfFailure(errorText)
    // Until then the tab may hold the previous parked page.
    await this.#main.arrived
    const watched = this.#workers.follow(this.#scope.clock)
    const capture = await runUntilSettled(
      session,
      watched,
      this.#activity,
      this.#ready,
      clock.nowMs,
      captureByMs,
    )
    const isLate = captureByMs !== null && capture !== 'ready-signal' && this.#isAnswerMissing()
    recorder.captured(isLate ? 'deadline' : capture)
    const lack = await lackOfRule(request, {
      session,
      page,
      clock: watched,
      activity: this.#activity,
      nowMs: clock.nowMs,
      pageMs: Math.max(timeoutMs, WAIT_FOR_MS),
      untilMs: Math.min(this.#awaitUntilMs, captureByMs ?? Number.POSITIVE_INFINITY),
    })
    const missing = capture === 'ready-signal' ? [] : this.#activity.missing()
    recorder.missed(missing)
    const change = changeOf(request, this.#url)
    const world = page.ownWorld ?? (await makeWorld(session, page.frameId))
    if (!this.#frames.isEmpty) await this.#frames.writeInto(session, world)
    const snapshot = await takeSnapshot(session, page.frameId, limits, world, change)
    page.canPark = this.#activity.canPark()
    const outcome = this.#judge(snapshot)
    const reason = reasonOfLack(missing, this.#ready.state)
    if (lack !== null) return withLack(outcome, lack)
    this.#learn(missing)
    if (capture === 'deadline' && (missing.length === 0 || this.#isBusy())) {
      const isStream = captureByMs !== null && reason === null && this.#activity.isDocumentEndless()
      if (!isStream || !this.#stands(outcome, missing))
        return withLack(outcome, reason ?? 'the page was still busy')
      return outcome.kind === 'rendered' ? { ...outcome, missing: 'the document did not end' } : outcome
    }
    if (reason === null) return outcome
    if (captureByMs !== null && !this.#stands(outcome, missing)) return withLack(outcome, reason)
    return outcome.kind === 'rendered' ? { ...outcome, missing: reason } : outcome
  }

  /** Returns whether more than late answers may still change the page. */
  #isBusy(): boolean {
    return this.#activity.isBusy() || this.#activity.isStreaming() || this.#ready.state === 'hold'
  }

  /** Returns whether a request is unanswered that no earlier render suspects to be a long poll. */
  #isAnswerMissing(): boolean {
    return this.#activity.missing().some(({ isSuspected }) => !isSuspected)
  }

  #stands(outcome: RenderOutcome, missing: readonly MissingAnswer[]): boolean {
    if (outcome.kind !== 'rendered') return false
    return standsAlone(outcome.html, missing, { hasScriptText: this.#hasScriptText })
  }

  /** Only a render that nobody waits for can tell a long poll from an answer that takes long. */
  #learn(missing: readonly MissingAnswer[]): void {
    for (const { method, url, ageMs } of missing) {
      if (this.#request.captureByMs === null) this.#polls.learn(method, url)
      else if (ageMs >= SUSPECTED_AFTER_MS) this.#polls.suspect(method, url)
    }
  }

  /** Judges the response to the page's own request before the browser gets it. */
  #judgeDocument(): void {
    this.#tab.site.judgeNext((status, headers) => {
      const path = this.#main.passGate(status, headers)
      if (path === null) return this.#main.judgeFirst(status, headers)
      // On this connection, whatever scheme the site says.
      headers['location'] = path
      return 'again'
    }, this.#options.given)
  }

  #judge(snapshot: Snapshot): RenderOutcome {
    const found = outcomeOfSnapshot(snapshot, {
      status: this.#main.status,
      headers: keptHeaders(this.#main.headers),
      url: this.#url,
      site: this.#request,
    })
    return withChanges(found, { snapshot, rule: this.#request.rule, url: this.#url })
  }
}

const NAMED_MISSING = 3

/** Says what the page lacks, or null if nothing is known. */
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
class RenderScope {
  readonly session: CdpSession
  readonly connection: Pick<CdpConnection, 'session' | 'endSession'>
  readonly clock: RenderClock
  #isOver = false

  constructor(page: Page) {
    this.session = this.#scoped(page.session)
    this.connection = {
      session: (sessionId) => this.#scoped(page.connection.session(sessionId)),
      endSession: (sessionId) => page.connection.endSession(sessionId),
    }
    this.clock = {
      pause: () => (this.#isOver ? refuseCommand() : page.clock.pause()),
      grant: (policy, budgetMs) => (this.#isOver ? refuseCommand() : page.clock.grant(policy, budgetMs)),
    }
  }

  close(): void {
    this.#isOver = true
  }

  #scoped(session: CdpSession): CdpSession {
    return {
      listen: session.listen,
      send: (method, ...params) => (this.#isOver ? refuseCommand() : session.send(method, ...params)),
    }
  }
}

function refuseCommand(): Promise<never> {
  return Promise.reject(new CdpClosed('the render is over'))
}

/** Ends a render that loads or unpacks too much, leaves for another address, or reloads endlessly. */
function limitListeners(
  { page, site: gateway }: Tab,
  session: CdpSession,
  pageUrl: string,
  site: SiteAddress,
  limits: PageLimits,
  /** With a promise, nothing else ends the render any more. */
  end: (outcome: RenderOutcome | Promise<RenderOutcome>) => void,
): CdpListeners {
  /** From then on: the document before this page said that it is left, too. */
  let leaving: LeavingPage | null = null
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
    'Runtime.bindingCalled': ({ payload }) => leaving?.hear(payload),
    'Page.frameAttached': () => {
      if (++frames > limits.frames) end({ kind: 'too-large', what: 'frames' })
    },
    'Page.frameRequestedNavigation': ({ frameId, url, disposition }) => {
      if (frameId !== page.frameId || disposition !== 'currentTab') return
      const location = publicUrl(url, pageUrl, site)
      if (location === null) return
      if (location.split('#', 1)[0] !== pageUrl) {
        leaving = new LeavingPage()
        end(redirectOfPage(session, page, location, { url: pageUrl, site, leaving }))
      } else if (++reloads > RELOAD_LIMIT) end({ kind: 'timed-out', afterMs: 0 })
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
  const wantedStatus = pageStatus(snapshot.statusCode)
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
