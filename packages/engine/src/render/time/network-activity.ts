import type { Protocol } from 'devtools-protocol'
import type { CdpListeners } from '../browser/cdp.ts'
import type { SitePolls } from './long-polls.ts'
import { RequestHistory } from './request-history.ts'

/** The clock stands this long for a data response. Then it goes on, and the response is *awaited* in real time. */
const ANSWER_MS = 5_000
/** Scripts and style sheets are essential. */
const CODE_ANSWER_MS = 10_000
/** A response that paused this often is a stream, and no longer awaited. */
const PAUSES_OF_STREAM = 3
/** While a crawler waits, a response that has begun and still has no end after this time is a stream. */
const STREAM_MS = 5_000
/** A page hardly ever needs the answer to a `keepalive` request, and then soon. */
const ASIDE_MS = 1_000
/** Responses that end when the page leaves. */
const ENDLESS =
  /^(?:text\/event-stream|multipart\/x-mixed-replace|application\/(?:x-)?(?:ndjson|jsonl|grpc-web.*))$/i
const AWAITED_TYPES = new Set(['Fetch', 'XHR', 'Script', 'Stylesheet'])
const WORK_MS = 2_500
/** A response that is silent this long is a stream ... */
const SILENCE_MS = 400
/** ... but a server may compute the next part of a document longer. */
const DOCUMENT_SILENCE_MS = 2_500
/** A response that still sends after this time is a stream ... */
const BODY_MS = 5_000
/** ... but half a document looks complete, so a document gets nearly the whole render time. */
const DOCUMENT_BODY_MS = 15_000
/** Without an event for this long, only old requests are pending. */
const QUIET_MS = 150
/** With no known pending request: mostly a busy script, so wait longer. */
const IDLE_MS = 1_000
const HANDSHAKE_MS = 2_000
/** Real time for the first message of a new stream ... */
const OPENED_MS = 400
/** ... and of a worker, which nearly always answers. */
const WORKER_OPENED_MS = 1_000
/** Maximum wait for streams that go on sending. */
const STREAMS_LIMIT_MS = 2_000
/** Maximum wait for workers that compute or wait for requests. */
const WORKERS_LIMIT_MS = 8_000

const CODE_TYPES = new Set(['Script', 'Stylesheet', 'Document'])
const STREAM_TYPES = new Set([
  'EventSource',
  'WebSocket',
  'Ping',
  'CSPViolationReport',
  'Preflight',
  'Prefetch',
])

type Request = { method: string; url: string; postData?: string | undefined; type: string }

type Pending = {
  method: string
  url: string
  type: string
  kind: 'request' | 'stream' | 'poll' | 'aside'
  sinceMs: number
  begunMs: number | null
  answeredMs: number | null
  isUnread: boolean
  /** The document of a frame inside of the page. */
  isFrame: boolean
  /** Its end may never be reported: of this browser's own, known as a long poll, or of a type that says so. */
  isEndless: boolean
  pauses: number
}

/** How long requests are awaited, and which never are. */
export type Patience = {
  untilMs: number
  polls: SitePolls
  /** A crawler waits: what is probably a long poll or a stream is not awaited. A later render looks again. */
  isLive: boolean
}

const NO_PATIENCE: Patience = {
  untilMs: Number.NEGATIVE_INFINITY,
  polls: {
    isKnown: () => false,
    isSuspected: () => false,
    learn: () => {},
    suspect: () => {},
    forget: () => {},
  },
  isLive: false,
}

/** A request without an answer that content may depend on. */
export type MissingAnswer = {
  method: string
  url: string
  ageMs: number
  /** It was unanswered in an earlier render, too, for as long as a crawler waits. */
  isSuspected: boolean
  /** A script or style sheet, not data. */
  isCode: boolean
}

/** Decides which requests content may depend on. Chromium's virtual clock would wait for endless ones, too. */
export class NetworkActivity {
  readonly #nowMs: () => number
  readonly #isDelivered: (url: string) => boolean
  readonly #patience: Patience
  readonly #pending = new Map<string, Pending>()
  readonly #history: RequestHistory
  /** Requests that the page is about to send without waiting for them, by method and address. */
  readonly #asides = new Set<string>()
  #lastEventMs: number
  #working = 0
  #workSinceMs = 0
  #reading = 0
  #readSinceMs = 0
  #draining = 0
  /** The page waited for real time, so it lost virtual time. */
  #hasLostTime = false
  #firstStreamMs = Number.POSITIVE_INFINITY
  #streamDueMs = Number.NEGATIVE_INFINITY
  readonly #busyWorkers = new Map<string, number>()
  #firstWorkerMs = Number.POSITIVE_INFINITY
  #lastWorkerMs = Number.NEGATIVE_INFINITY
  #lastMessageMs = Number.NEGATIVE_INFINITY
  #mustLeave = false
  #mainDocument: string | null = null
  /** When responses began to requests that Chromium has not reported yet, by address. */
  readonly #begunEarly = new Map<string, number>()

  /** `isDelivered`: whether the browser has received the whole response from this address. */
  constructor(
    nowMs: () => number,
    isDelivered: (url: string) => boolean = () => false,
    patience: Patience = NO_PATIENCE,
  ) {
    this.#nowMs = nowMs
    this.#isDelivered = isDelivered
    this.#patience = patience
    this.#history = new RequestHistory(nowMs)
    this.#lastEventMs = nowMs()
  }

  isBusy(): boolean {
    return this.#isWorking() || this.#some((request) => this.#isRecent(request))
  }

  /** Returns whether a late response may still bring content. */
  isAwaiting(): boolean {
    return this.#nowMs() < this.#patience.untilMs && this.#some((request) => this.#isAwaited(request))
  }

  /** Unanswered requests that content may depend on. */
  missing(): MissingAnswer[] {
    return [...this.#pending.values()]
      .filter((request) => this.#isAwaited(request) || this.#isSuspected(request))
      .map((request) => ({
        method: request.method,
        url: request.url,
        ageMs: this.#nowMs() - request.sinceMs,
        isSuspected: this.#isSuspected(request),
        isCode: CODE_TYPES.has(request.type),
      }))
  }

  isClockHeld(): boolean {
    return this.#some((request) => !request.isUnread && !this.#isRecent(request))
  }

  /** Returns whether nothing relevant has happened lately. `slowness` multiplies the times on a slow machine. */
  isQuiet(slowness: number): boolean {
    if (this.#isWorking() || this.#some((request) => this.#isRecent(request, slowness))) return false
    return this.#nowMs() - this.#lastEventMs >= slowness * (this.#pending.size > 0 ? QUIET_MS : IDLE_MS)
  }

  isStreaming(): boolean {
    if (this.#nowMs() < this.#streamDueMs && this.#isStreamTime()) return true
    return this.#some(
      ({ type, answeredMs, sinceMs }) =>
        type === 'WebSocket' && answeredMs === null && this.#nowMs() - sinceMs < HANDSHAKE_MS,
    )
  }

  takeLostTime(): boolean {
    const hasLostTime = this.#hasLostTime || this.#isReading()
    this.#hasLostTime = false
    return hasLostTime
  }

  /**
   * Whether the page, without scripts, may stay in its tab: no response can set a cookie; no database, worker or
   * socket is used. `document.open` removes the listeners that stop unload events.
   */
  canPark(): boolean {
    return !this.#mustLeave && this.#working === 0 && this.#pending.size === 0
  }

  started(id: string, { method, url, postData = '', type: given }: Request): void {
    const type = given === 'Script' && isJsonp(url) ? 'XHR' : given
    const kind = this.#kindOf(id, { method, url, postData, type })
    if (type === 'Document') this.#mainDocument ??= id
    this.#pending.set(id, {
      method,
      url,
      type,
      kind,
      sinceMs: this.#nowMs(),
      begunMs: this.#begunEarly.get(url) ?? null,
      answeredMs: null,
      isUnread: false,
      isFrame: type === 'Document' && id !== this.#mainDocument,
      // The blob of a worker that computes from its first line.
      isEndless: /^(?:blob|data):/.test(url) || this.#patience.polls.isKnown(method, url),
      pauses: 0,
    })
    this.#begunEarly.delete(url)
    if (kind === 'request') this.#lastEventMs = this.#nowMs()
    else if (type === 'EventSource' || type === 'WebSocket') this.#streamOpened()
  }

  #kindOf(id: string, request: Request & { postData: string }): Pending['kind'] {
    const isRepeated = this.#history.started(id, request)
    if (STREAM_TYPES.has(request.type)) return 'stream'
    // A redirect has the id of the request that led to it.
    const isAside =
      this.#asides.delete(`${request.method} ${request.url}`) || this.#pending.get(id)?.kind === 'aside'
    if (isAside) return 'aside'
    return isRepeated ? 'poll' : 'request'
  }

  progressed(id: string): void {
    const request = this.#pending.get(id)
    if (request === undefined) return
    const isFirst = request.answeredMs === null
    if (this.#nowMs() - (request.answeredMs ?? Number.POSITIVE_INFINITY) >= SILENCE_MS) request.pauses++
    if (isFirst) this.#cameLate(request)
    request.begunMs ??= this.#nowMs()
    request.answeredMs = this.#nowMs()
    request.isUnread = false
    // A stream that a page reads piece by piece would else keep it busy for ever.
    const isYoung = this.#nowMs() - request.begunMs < this.#bodyMs(request)
    if (request.kind === 'request' && isYoung) this.#lastEventMs = this.#nowMs()
    if (request.kind === 'stream' && isFirst) this.#streamOpened()
    else if (request.kind === 'stream') this.messageReceived()
  }

  /**
   * The gateway has begun to answer this address. Chromium reports the responses to scripts and to XMLHttpRequest only
   * when more of them has come, which for a slow stream is too late.
   */
  responseBegun(url: string): void {
    let isReported = false
    for (const request of this.#pending.values()) {
      if (request.url !== url) continue
      request.begunMs ??= this.#nowMs()
      isReported = true
    }
    if (!isReported) this.#begunEarly.set(url, this.#nowMs())
  }

  /** Returns whether the page's own document still sends, and would be called a stream if it were anything else. */
  isDocumentEndless(): boolean {
    const document = this.#mainDocument === null ? undefined : this.#pending.get(this.#mainDocument)
    if (document === undefined || document.begunMs === null) return false
    return this.#nowMs() - document.begunMs >= STREAM_MS
  }

  messageSent(id: string): void {
    if (this.#pending.has(id)) this.#streamOpened()
  }

  finished(id: string): void {
    const request = this.#pending.get(id)
    if (request?.kind === 'request') {
      this.#lastEventMs = this.#nowMs()
      this.#cameLate(request)
    }
    this.#history.ended(id)
    this.#pending.delete(id)
  }

  /** The page and its workers need their time again, to handle it. */
  #cameLate({ method, url, sinceMs, kind }: Pending): void {
    if (kind !== 'request' || this.#nowMs() - sinceMs < ANSWER_MS) return
    this.#patience.polls.forget(method, url)
    this.#hasLostTime = true
    if (this.#firstWorkerMs < this.#nowMs()) this.#firstWorkerMs = this.#nowMs()
  }

  /** The clock ran out: stop waiting for responses that the page does not read. */
  clockRanOut(): void {
    for (const request of this.#pending.values()) {
      const { type, isUnread, kind, answeredMs, url } = request
      if (isUnread || type !== 'Fetch' || kind !== 'request' || answeredMs === null) continue
      if (!this.#isDelivered(url)) continue
      request.isUnread = true
      // The page needs this time if it reads the response later.
      this.#hasLostTime = true
    }
  }

  clockMoved(): void {
    this.#lastEventMs = this.#nowMs()
  }

  workerStarted(): void {
    this.#mustLeave = true
    this.#lastWorkerMs = this.#nowMs()
    this.#firstWorkerMs = Math.min(this.#firstWorkerMs, this.#lastWorkerMs)
    this.#streamOpened(WORKER_OPENED_MS)
  }

  workerEnded(url: string): void {
    for (const [id, request] of this.#pending) if (request.url === url) this.#pending.delete(id)
  }

  workerAsked(): void {
    this.#streamOpened(WORKER_OPENED_MS)
  }

  messageReceived(): void {
    // The page may need virtual time to handle the answer.
    if (this.#isStreamTime()) this.#hasLostTime = true
    this.#lastMessageMs = this.#nowMs()
    this.#streamDueMs = this.#nowMs() + QUIET_MS
  }

  workerLoaded(): void {
    if (this.#lastMessageMs <= this.#lastWorkerMs) this.workerWillSend(WORKER_OPENED_MS)
    // Its first message may be reported before the end of its script.
    else this.#hasLostTime = true
  }

  workerBusy(id: string): void {
    this.#busyWorkers.set(id, this.#nowMs())
  }

  workerIdle(id: string): void {
    const sinceMs = this.#busyWorkers.get(id)
    this.#busyWorkers.delete(id)
    // Unless it has already sent its result.
    if (sinceMs !== undefined && this.#lastMessageMs < sinceMs) this.workerWillSend()
  }

  /** The worker has computed or received its input: restart the wait for its message. */
  workerWillSend(openedMs = OPENED_MS): void {
    if (this.workersLeftMs() === 0) return
    this.#firstStreamMs = this.#nowMs()
    this.#hasLostTime = true
    this.#streamOpened(openedMs)
  }

  workersLeftMs(): number {
    return Math.max(0, this.#firstWorkerMs + WORKERS_LIMIT_MS - this.#nowMs())
  }

  /** A message from in-page/real-time.js, asides.js or history.js. */
  hear(word: string): void {
    const [verb, object = ''] = word.split(' ', 2)
    if (verb === 'aside') this.#asides.add(word.slice('aside '.length))
    else if (verb === 'worker') this.workerStarted()
    else if (verb === 'ended') this.workerEnded(object)
    else if (verb === 'asked') this.workerAsked()
    else if (verb === 'spoke') this.messageReceived()
    else if (verb === 'draining') this.#draining++
    else if (verb === 'drained') this.#draining--
    else if (verb === 'read') this.#reading--
    else if (verb === 'idle') this.#working--
    else if (verb === 'reading') {
      this.#reading++
      this.#readSinceMs = this.#nowMs()
    } else if (verb === 'busy') {
      this.#working++
      this.#workSinceMs = this.#nowMs()
      this.#hasLostTime = true
    }
  }

  get listeners(): CdpListeners {
    const progressed = ({ requestId }: { requestId: string }) => this.progressed(requestId)
    const answered = ({ requestId, response }: Protocol.Network.ResponseReceivedEvent) => {
      const request = this.#pending.get(requestId)
      if (request !== undefined && ENDLESS.test(response.mimeType)) request.isEndless = true
      this.progressed(requestId)
    }
    const finished = ({ requestId }: { requestId: string }) => this.finished(requestId)
    const mustLeave = () => {
      this.#mustLeave = true
    }
    return {
      'Network.requestWillBeSent': ({ requestId, request: { method, url, postData }, type = 'Other' }) =>
        this.started(requestId, { method, url, postData, type }),
      'Network.dataReceived': progressed,
      'Network.responseReceived': answered,
      'Network.eventSourceMessageReceived': progressed,
      'Network.webSocketCreated': ({ requestId, url }) => {
        mustLeave()
        this.started(requestId, { method: 'GET', url, type: 'WebSocket' })
      },
      'Network.webSocketHandshakeResponseReceived': progressed,
      'Network.webSocketFrameSent': ({ requestId }) => this.messageSent(requestId),
      'Network.webSocketFrameReceived': progressed,
      'Network.webSocketClosed': finished,
      'Network.loadingFinished': finished,
      'Network.loadingFailed': finished,
      'Network.webTransportCreated': mustLeave,
      'Page.documentOpened': mustLeave,
      'Runtime.bindingCalled': ({ payload }) => this.hear(payload),
    }
  }

  #some(is: (request: Pending) => boolean): boolean {
    for (const request of this.#pending.values()) if (is(request)) return true
    return false
  }

  /** How long a request without an answer may hold the clock. */
  #answerMs(request: Pending): number {
    if (!CODE_TYPES.has(request.type)) return ANSWER_MS
    // A crawler waits less than ten seconds: not for a frame, nor for code that never came before.
    const isHopeless = request.type === 'Document' || request.isEndless || this.#isSuspected(request)
    return this.#patience.isLive && isHopeless ? ANSWER_MS : CODE_ANSWER_MS
  }

  #isRecent(request: Pending, slowness = 1): boolean {
    const { type, kind, sinceMs, answeredMs, isUnread } = request
    // `slowness` applies to silence, not to the age of a request.
    const ageMs = this.#nowMs() - sinceMs
    if (kind === 'aside') return answeredMs === null && ageMs < ASIDE_MS
    if (kind !== 'request' || isUnread) return false
    if (this.#isStream(request)) return false
    if (answeredMs === null) return ageMs < this.#answerMs(request)
    const silenceMs = type === 'Document' ? DOCUMENT_SILENCE_MS : SILENCE_MS
    return ageMs < this.#bodyMs(request) && (this.#nowMs() - answeredMs) / slowness < silenceMs
  }

  #isAwaited(request: Pending): boolean {
    const { type, answeredMs } = request
    if (!this.#mayBeAwaited(request) || this.#isSuspected(request) || this.#isStream(request)) return false
    if (answeredMs === null) return AWAITED_TYPES.has(type)
    // Chromium does not tell whether the page reads the rest of a fetch.
    return type === 'Fetch' ? this.#reading + this.#draining > 0 : AWAITED_TYPES.has(type)
  }

  /** A crawler waits, and the response has been under way for longer than it could wait for all of it. */
  #isStream({ begunMs, type, isFrame }: Pending): boolean {
    if (!this.#patience.isLive || begunMs === null || (type === 'Document' && !isFrame)) return false
    return this.#nowMs() - begunMs >= STREAM_MS
  }

  /** How long the body of a response may hold the clock. */
  #bodyMs({ type, isFrame }: Pending): number {
    return type === 'Document' && !isFrame ? DOCUMENT_BODY_MS : BODY_MS
  }

  #mayBeAwaited({ kind, isUnread, isEndless, pauses }: Pending): boolean {
    return kind === 'request' && !isUnread && !isEndless && pauses < PAUSES_OF_STREAM
  }

  #isSuspected(request: Pending): boolean {
    const { type, method, url, answeredMs } = request
    if (!this.#patience.isLive || answeredMs !== null || !AWAITED_TYPES.has(type)) return false
    return this.#mayBeAwaited(request) && this.#patience.polls.isSuspected(method, url)
  }

  #isWorking(): boolean {
    return (
      (this.#working > 0 && this.#nowMs() - this.#workSinceMs < WORK_MS) ||
      this.#isReading() ||
      (this.#busyWorkers.size > 0 && this.workersLeftMs() > 0)
    )
  }

  #isReading(): boolean {
    if (this.#reading > 0 && this.#nowMs() - this.#readSinceMs < ANSWER_MS) return true
    // A read piece by piece may never end.
    return this.#draining > 0 && this.#nowMs() - this.#lastEventMs < SILENCE_MS
  }

  #isStreamTime(): boolean {
    return this.#nowMs() < this.#firstStreamMs + STREAMS_LIMIT_MS
  }

  #streamOpened(openedMs = OPENED_MS): void {
    this.#firstStreamMs = Math.min(this.#firstStreamMs, this.#nowMs())
    this.#streamDueMs = Math.max(this.#streamDueMs, this.#nowMs() + openedMs)
  }
}

/** Scripts that bring data: a page may ask for them again and again, as by `fetch`. */
function isJsonp(url: string): boolean {
  return /[?&](?:_?callback|jsonp|jsoncallback|jsonpcallback|cb)=/i.test(url)
}
