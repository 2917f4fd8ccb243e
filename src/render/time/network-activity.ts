import type { CdpListeners } from '../browser/cdp.ts'

/**
 * Chromium reports a data request without an answer as pending. Wait so long: some back ends need seconds, and a page
 * without their answer is half a page. Past that it is a long poll, or hangs.
 */
const ANSWER_MS = 5_000
/** Scripts and style sheets are never polls, and without them there is no page. */
const CODE_ANSWER_MS = 10_000
const WORK_MS = 2_500
/** An answer that has begun and then sends nothing for so long is a stream ... */
const SILENCE_MS = 400
/** ... but a document that comes in parts gets more: its server computes the next part. */
const DOCUMENT_SILENCE_MS = 2_500
/** An answer that still sends after so long is a stream too ... */
const BODY_MS = 5_000
/** ... but half a document looks like a whole one, so it gets nearly all the time of a render. */
const DOCUMENT_BODY_MS = 15_000
/** Without any event for so long, only old requests are pending. */
const QUIET_MS = 150
/** The same with no known pending request: mostly a busy script, so take more time to be sure. */
const IDLE_MS = 1_000
const HANDSHAKE_MS = 2_000
/** Real time for the first message of a new stream ... */
const OPENED_MS = 400
/** ... and of a worker, which has work to do and nearly always answers. */
const WORKER_OPENED_MS = 1_000
/** Streams are waited for no longer than this, while they go on sending. */
const STREAMS_LIMIT_MS = 2_000
/** Workers that compute or wait for requests are waited for no longer than this. */
const WORKERS_LIMIT_MS = 8_000
/** The same request made more often than this is a poll, and is not waited for ... */
const POLL_AFTER = 8
/** ... and so is one that differs only in its query or body, which long polls often vary. */
const VARIED_POLL_AFTER = 30

const CODE_TYPES = new Set(['Script', 'Stylesheet', 'Document'])
const STREAM_TYPES = new Set(['EventSource', 'WebSocket', 'Ping', 'CSPViolationReport', 'Preflight'])

type Request = { method: string; url: string; postData?: string | undefined; type: string }

type Pending = {
  url: string
  type: string
  kind: 'request' | 'stream' | 'poll'
  sinceMs: number
  answeredMs: number | null
  /** The answer to a `fetch` has arrived, and the page does not read it: Chromium reports it as loading. */
  isUnread: boolean
}

/**
 * What the page's content may still wait for. Chromium's virtual clock stands while any request is pending; streams
 * and requests that never end would hold it for ever, so this tells them apart.
 */
export class NetworkActivity {
  readonly #nowMs: () => number
  readonly #isDelivered: (url: string) => boolean
  readonly #pending = new Map<string, Pending>()
  readonly #timesRequested = new Map<string, number>()
  #lastEventMs: number
  /** Frames in which work takes real time without a request (a database, cryptography). */
  #working = 0
  #workSinceMs = 0
  /** Frames that read an answer, whole or piece by piece. */
  #reading = 0
  #readSinceMs = 0
  #draining = 0
  /** Virtual time that has passed was lost to the page, because it waited for real time. */
  #hasLostTime = false
  #firstStreamMs = Number.POSITIVE_INFINITY
  #streamDueMs = Number.NEGATIVE_INFINITY
  readonly #busyWorkers = new Map<string, number>()
  #firstWorkerMs = Number.POSITIVE_INFINITY
  #lastWorkerMs = Number.NEGATIVE_INFINITY
  #lastMessageMs = Number.NEGATIVE_INFINITY
  #mustLeave = false

  /** `isDelivered`: the browser has received all of the answer from this address. */
  constructor(nowMs: () => number, isDelivered: (url: string) => boolean = () => false) {
    this.#nowMs = nowMs
    this.#isDelivered = isDelivered
    this.#lastEventMs = nowMs()
  }

  isBusy(): boolean {
    return this.#isWorking() || this.#some((request) => this.#isRecent(request))
  }

  /** Some request is pending but not waited for: until it ends, the clock would stand. */
  isClockHeld(): boolean {
    return this.#some((request) => !request.isUnread && !this.#isRecent(request))
  }

  /** Nothing worth waiting for has happened lately. `slowness` multiplies the times on a slow machine. */
  isQuiet(slowness: number): boolean {
    if (this.#isWorking() || this.#some((request) => this.#isRecent(request, slowness))) return false
    return this.#nowMs() - this.#lastEventMs >= slowness * (this.#pending.size > 0 ? QUIET_MS : IDLE_MS)
  }

  /** A socket, stream or worker was opened just now, or still sends. */
  isStreaming(): boolean {
    if (this.#nowMs() < this.#streamDueMs && this.#isStreamTime()) return true
    return this.#some(
      ({ type, answeredMs, sinceMs }) =>
        type === 'WebSocket' && answeredMs === null && this.#nowMs() - sinceMs < HANDSHAKE_MS,
    )
  }

  /** Virtual time was lost to the page since the last call: it waited for real time. */
  takeLostTime(): boolean {
    const hasLostTime = this.#hasLostTime || this.#isReading()
    this.#hasLostTime = false
    return hasLostTime
  }

  /**
   * Once its scripts are off, this page can do nothing more, and may stay in its tab until the next render: no answer
   * is pending that could set a cookie, and no database, worker or socket is in use. `document.open` removes the
   * listeners that keep unload events from the page.
   */
  canPark(): boolean {
    return !this.#mustLeave && this.#working === 0 && this.#pending.size === 0
  }

  started(id: string, { method, url, postData = '', type }: Request): void {
    const isPoll =
      this.#countOf(`${method} ${url} ${postData}`) > POLL_AFTER ||
      this.#countOf(`${method} ${url.split(/[?#]/, 1)[0]}`) > VARIED_POLL_AFTER
    const kind = STREAM_TYPES.has(type) ? 'stream' : isPoll ? 'poll' : 'request'
    this.#pending.set(id, { url, type, kind, sinceMs: this.#nowMs(), answeredMs: null, isUnread: false })
    if (kind === 'request') this.#lastEventMs = this.#nowMs()
    else if (type === 'EventSource' || type === 'WebSocket') this.#streamOpened()
  }

  /** The head of the answer came, or bytes of it, or a message of a stream. */
  progressed(id: string): void {
    const request = this.#pending.get(id)
    if (request === undefined) return
    const isFirst = request.answeredMs === null
    request.answeredMs = this.#nowMs()
    request.isUnread = false
    if (request.kind === 'request') this.#lastEventMs = this.#nowMs()
    if (request.kind === 'stream' && isFirst) this.#streamOpened()
    else if (request.kind === 'stream') this.messageReceived()
  }

  /** The page sent a message on a socket: wait for an answer. */
  messageSent(id: string): void {
    if (this.#pending.has(id)) this.#streamOpened()
  }

  finished(id: string): void {
    if (this.#pending.get(id)?.kind === 'request') this.#lastEventMs = this.#nowMs()
    this.#pending.delete(id)
  }

  /** The clock ran out by itself: stop waiting for answers that have arrived and that the page does not read. */
  clockRanOut(): void {
    for (const request of this.#pending.values()) {
      const { type, isUnread, kind, answeredMs, url } = request
      if (isUnread || type !== 'Fetch' || kind !== 'request' || answeredMs === null) continue
      if (!this.#isDelivered(url)) continue
      request.isUnread = true
      // Should the page read it later, it needs its time for that.
      this.#hasLostTime = true
    }
  }

  /** Workers were given a step of the clock, which is no quiet. */
  clockMoved(): void {
    this.#lastEventMs = this.#nowMs()
  }

  /** A worker lives in real time, like a stream. Its script is waited for like the page's. */
  workerStarted(): void {
    this.#mustLeave = true
    this.#lastWorkerMs = this.#nowMs()
    this.#firstWorkerMs = Math.min(this.#firstWorkerMs, this.#lastWorkerMs)
    this.#streamOpened(WORKER_OPENED_MS)
  }

  /** The worker of this script was ended, or failed, perhaps before it began. */
  workerEnded(url: string): void {
    for (const [id, request] of this.#pending) if (request.url === url) this.#pending.delete(id)
  }

  /** The page sent a worker something: wait for an answer. */
  workerAsked(): void {
    this.#streamOpened(WORKER_OPENED_MS)
  }

  messageReceived(): void {
    // The page may need virtual time for what it does with it.
    if (this.#isStreamTime()) this.#hasLostTime = true
    this.#lastMessageMs = this.#nowMs()
    this.#streamDueMs = this.#nowMs() + QUIET_MS
  }

  /** The worker's script has arrived: the worker begins. */
  workerLoaded(): void {
    // Unless it has sent something while it was loaded.
    if (this.#lastMessageMs <= this.#lastWorkerMs) this.workerWillSend(WORKER_OPENED_MS)
  }

  workerBusy(id: string): void {
    this.#busyWorkers.set(id, this.#nowMs())
  }

  workerIdle(id: string): void {
    const sinceMs = this.#busyWorkers.get(id)
    this.#busyWorkers.delete(id)
    // Unless it has sent its result already.
    if (sinceMs !== undefined && this.#lastMessageMs < sinceMs) this.workerWillSend()
  }

  /** It has computed or received what it needs: its silence until now meant nothing. */
  workerWillSend(openedMs = OPENED_MS): void {
    if (this.workersLeftMs() === 0) return
    this.#firstStreamMs = this.#nowMs()
    this.#hasLostTime = true
    this.#streamOpened(openedMs)
  }

  workersLeftMs(): number {
    return Math.max(0, this.#firstWorkerMs + WORKERS_LIMIT_MS - this.#nowMs())
  }

  /** A word of the scripts in the page: of in-page/real-time.js, browser-questions.js and history.js. */
  hear(word: string): void {
    const [verb, object = ''] = word.split(' ', 2)
    if (verb === 'worker') this.workerStarted()
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
    const finished = ({ requestId }: { requestId: string }) => this.finished(requestId)
    const mustLeave = () => {
      this.#mustLeave = true
    }
    return {
      'Network.requestWillBeSent': ({ requestId, request: { method, url, postData }, type = 'Other' }) =>
        this.started(requestId, { method, url, postData, type }),
      'Network.dataReceived': progressed,
      'Network.responseReceived': progressed,
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

  #isRecent({ type, kind, sinceMs, answeredMs, isUnread }: Pending, slowness = 1): boolean {
    if (kind !== 'request' || isUnread) return false
    // On a busy machine silence means little, but the age of a request is what it is.
    const ageMs = this.#nowMs() - sinceMs
    if (answeredMs === null) return ageMs < (CODE_TYPES.has(type) ? CODE_ANSWER_MS : ANSWER_MS)
    const [bodyMs, silenceMs] =
      type === 'Document' ? [DOCUMENT_BODY_MS, DOCUMENT_SILENCE_MS] : [BODY_MS, SILENCE_MS]
    return ageMs < bodyMs && (this.#nowMs() - answeredMs) / slowness < silenceMs
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
    // A read piece by piece may wait for what never comes.
    return this.#draining > 0 && this.#nowMs() - this.#lastEventMs < SILENCE_MS
  }

  #isStreamTime(): boolean {
    return this.#nowMs() < this.#firstStreamMs + STREAMS_LIMIT_MS
  }

  #streamOpened(openedMs = OPENED_MS): void {
    this.#firstStreamMs = Math.min(this.#firstStreamMs, this.#nowMs())
    this.#streamDueMs = Math.max(this.#streamDueMs, this.#nowMs() + openedMs)
  }

  #countOf(key: string): number {
    const times = (this.#timesRequested.get(key) ?? 0) + 1
    this.#timesRequested.set(key, times)
    return times
  }
}
