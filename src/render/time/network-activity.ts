/**
 * What of a page's network its content may still wait for. Chromium's virtual
 * clock stands while anything at all is pending; streams and requests that
 * never end would hold it for ever, so this tells them apart.
 */
export type NetworkActivity = {
  started(
    id: string,
    request: { method: string; url: string; postData?: string | undefined; type: string },
  ): void
  /** The head of the answer came, or bytes of it, or a message of a stream. */
  progressed(id: string): void
  /** The page has said something on a socket: it waits for an answer. */
  asked(id: string): void
  finished(id: string): void
  /** The clock ran out by itself: what has come whole, and that the page still does not read, is waited for no longer. */
  clockRanOut(): void
  /** Something is young enough to be waited for. */
  isBusy(): boolean
  /** Something is pending that is not waited for: as long as it is, the clock would stand. */
  isHeld(): boolean
  /** The clock stands for nothing that is worth waiting for. All times are multiplied by `patience`. */
  isStalled(patience: number): boolean
  /** A socket, stream or worker has only just been opened, or still speaks. */
  isStreaming(): boolean
  /** A worker lives in real time, like a stream. Its script is waited for as one of the page's. */
  workerStarted(): void
  /** Of this script: it was ended, or failed, perhaps before it began. */
  workerEnded(url: string): void
  workerSpoke(): void
  /** The page sent a worker something: it waits for an answer. */
  workerAsked(): void
  /** Workers have had a step of the clock, which is no quiet. */
  clockMoved(): void
  /** For so long workers are still waited for. */
  workersLeftMs(): number
  /** A worker computes, or has nothing to compute any more. */
  workerBusy(id: string): void
  workerRested(id: string): void
  /** A worker's script is there: it begins. */
  workerLoaded(): void
  /** A request of a worker's has ended: it has what it waited for. */
  workerFed(): void
  /** Work that takes real time without a request (a data base, cryptography) has begun, or has all ended. */
  workBegan(): void
  workEnded(): void
  /** The page reads what has come of an answer, in one frame more or in one less. */
  readBegan(): void
  readEnded(): void
  /** The same of one that it reads piece by piece. */
  drainBegan(): void
  drainEnded(): void
  /** Such work was under way since the last call: virtual time that went by meanwhile was lost to the page. */
  takeWorked(): boolean
}

/**
 * A request for data without an answer is waited for so long: some back ends
 * need seconds, and a page without their answer is half a page. Past that it
 * is a long poll, or hangs.
 */
const ANSWER_MS = 5_000
/** Nobody polls with scripts and style sheets: without them there is no page at all. */
const CODE_ANSWER_MS = 10_000
/** Work without a request takes no longer. */
const WORK_MS = 2_500
/** An answer that has begun and then says nothing for so long is a stream ... */
const SILENCE_MS = 400
/** ... but a document that comes in parts is given more: its server computes the next. */
const DOCUMENT_SILENCE_MS = 2_500
/** ... and so is one that goes on and on. */
const BODY_MS = 5_000
/** ... but half a document reads like a whole one, so one that still comes is given nearly all the time of a render. */
const DOCUMENT_BODY_MS = 15_000
/** Nothing has moved for so long, and what is pending is old. */
const QUIET_MS = 150
/** The same with nothing pending that we know of: mostly a busy script, so take more time to be sure. */
const IDLE_MS = 1_000
/** A socket opens in this time, or not at all. */
const HANDSHAKE_MS = 2_000
/** A stream that was just opened is given so much real time to say something ... */
const OPENED_MS = 400
/** ... a worker more: it has work to do, and nearly always answers ... */
const WORKER_OPENED_MS = 1_000
/** ... and as long as it goes on speaking, so much for its next word, but not for ever. */
const STREAMS_LIMIT_MS = 2_000
/** Workers that compute or wait for requests are waited for, but not for ever. */
const WORKERS_LIMIT_MS = 8_000
/** The very same request made more often than this is a poll, and holds nothing ... */
const POLL_AFTER = 8
/** ... and so is one that differs only in its query or body, which long polls often vary. */
const VARIED_POLL_AFTER = 30

const CODE_TYPES = new Set(['Script', 'Stylesheet', 'Document'])
const STREAM_TYPES = new Set(['EventSource', 'WebSocket', 'Ping', 'CSPViolationReport', 'Preflight'])

type Pending = {
  url: string
  sinceMs: number
  answeredMs: number | null
  /** An answer to `fetch` that is there, and that the page does not read: Chromium says as long as that that it is loading. */
  isUnread: boolean
  isFetch: boolean
  heldBy: 'request' | 'stream' | 'poll'
  answerMs: number
  silenceMs: number
  bodyMs: number
  connectMs: number
}

/** `isDelivered`: the browser has got all of the answer from this address. */
export function createNetworkActivity(
  nowMs: () => number,
  isDelivered: (url: string) => boolean = () => false,
): NetworkActivity {
  const pending = new Map<string, Pending>()
  const timesAsked = new Map<string, number>()
  let lastEventMs = nowMs()
  /** In how many frames work is under way. */
  let working = 0
  let workSinceMs = 0
  let hasWorked = false
  let reading = 0
  let readSinceMs = 0
  let draining = 0
  let firstStreamMs = Number.POSITIVE_INFINITY
  let streamDueMs = Number.NEGATIVE_INFINITY
  /** Since when. */
  const busyWorkers = new Map<string, number>()
  let spokeMs = Number.NEGATIVE_INFINITY
  /** Of the last worker. */
  let startedMs = Number.NEGATIVE_INFINITY
  let firstWorkerMs = Number.POSITIVE_INFINITY

  /** Still worth waiting for. */
  const isYoung = (request: Pending, patience = 1) => {
    const { sinceMs, answeredMs, isUnread, heldBy, answerMs, silenceMs, bodyMs } = request
    if (heldBy !== 'request' || isUnread) return false
    // On a busy machine silence means little; seconds are seconds.
    const ageMs = nowMs() - sinceMs
    if (answeredMs === null) return ageMs < answerMs
    return ageMs < bodyMs && (nowMs() - answeredMs) / patience < silenceMs
  }
  const isConnecting = ({ sinceMs, answeredMs, connectMs }: Pending) =>
    answeredMs === null && nowMs() - sinceMs < connectMs
  // Whoever reads piece by piece may well wait for what never comes.
  const isDraining = () => draining > 0 && nowMs() - lastEventMs < SILENCE_MS
  const isReading = () => (reading > 0 && nowMs() - readSinceMs < ANSWER_MS) || isDraining()
  const workersLeftMs = () => Math.max(0, firstWorkerMs + WORKERS_LIMIT_MS - nowMs())
  const isWorking = () =>
    (working > 0 && nowMs() - workSinceMs < WORK_MS) ||
    isReading() ||
    (busyWorkers.size > 0 && workersLeftMs() > 0)
  const streamOpened = (openedMs = OPENED_MS) => {
    firstStreamMs = Math.min(firstStreamMs, nowMs())
    streamDueMs = Math.max(streamDueMs, nowMs() + openedMs)
  }
  /** Its silence until now meant nothing; and the page will need time for what it says. */
  const workerWillSpeak = (openedMs = OPENED_MS) => {
    if (workersLeftMs() === 0) return
    firstStreamMs = nowMs()
    hasWorked = true
    streamOpened(openedMs)
  }
  const isStreamTime = () => nowMs() < firstStreamMs + STREAMS_LIMIT_MS
  const streamSpoke = () => {
    // What the page does with it may need its time.
    if (isStreamTime()) hasWorked = true
    spokeMs = nowMs()
    streamDueMs = nowMs() + QUIET_MS
  }

  const countOf = (key: string) => {
    const times = (timesAsked.get(key) ?? 0) + 1
    timesAsked.set(key, times)
    return times
  }

  return {
    started(id, { method, url, postData = '', type }) {
      const isPoll =
        countOf(`${method} ${url} ${postData}`) > POLL_AFTER ||
        countOf(`${method} ${url.split(/[?#]/, 1)[0]}`) > VARIED_POLL_AFTER
      const heldBy = STREAM_TYPES.has(type) ? 'stream' : isPoll ? 'poll' : 'request'
      const silenceMs = type === 'Document' ? DOCUMENT_SILENCE_MS : SILENCE_MS
      const bodyMs = type === 'Document' ? DOCUMENT_BODY_MS : BODY_MS
      const answerMs = CODE_TYPES.has(type) ? CODE_ANSWER_MS : ANSWER_MS
      const connectMs = type === 'WebSocket' ? HANDSHAKE_MS : 0
      const times = { answerMs, silenceMs, bodyMs, connectMs }
      const isFetch = type === 'Fetch'
      pending.set(id, { url, sinceMs: nowMs(), answeredMs: null, isUnread: false, isFetch, heldBy, ...times })
      if (heldBy === 'request') lastEventMs = nowMs()
      else if (type === 'EventSource' || type === 'WebSocket') streamOpened()
    },
    progressed(id) {
      const known = pending.get(id)
      if (known === undefined) return
      const isFirst = known.answeredMs === null
      known.answeredMs = nowMs()
      known.isUnread = false
      if (known.heldBy === 'request') lastEventMs = nowMs()
      if (known.heldBy === 'stream' && isFirst) streamOpened()
      else if (known.heldBy === 'stream') streamSpoke()
    },
    asked(id) {
      if (pending.has(id)) streamOpened()
    },
    finished(id) {
      const known = pending.get(id)
      if (known?.heldBy === 'request') lastEventMs = nowMs()
      pending.delete(id)
    },
    clockRanOut() {
      for (const request of pending.values()) {
        const { isFetch, isUnread, heldBy, answeredMs, url } = request
        if (isUnread || !isFetch || heldBy !== 'request' || answeredMs === null || !isDelivered(url)) continue
        request.isUnread = true
        // Should the page read it after all, by and by, it has its time for that.
        hasWorked = true
      }
    },
    workerStarted() {
      startedMs = nowMs()
      firstWorkerMs = Math.min(firstWorkerMs, startedMs)
      streamOpened(WORKER_OPENED_MS)
    },
    workerEnded(url) {
      for (const [id, request] of pending) if (request.url === url) pending.delete(id)
    },
    workerAsked: () => streamOpened(WORKER_OPENED_MS),
    workerBusy(id) {
      busyWorkers.set(id, nowMs())
    },
    workerRested(id) {
      const sinceMs = busyWorkers.get(id)
      busyWorkers.delete(id)
      // Unless it was to say what it has just said.
      if (sinceMs !== undefined && spokeMs < sinceMs) workerWillSpeak()
    },
    clockMoved() {
      lastEventMs = nowMs()
    },
    workersLeftMs,
    workerLoaded() {
      // Unless it has spoken while it was loaded.
      if (spokeMs <= startedMs) workerWillSpeak(WORKER_OPENED_MS)
    },
    workerFed: () => workerWillSpeak(),
    workerSpoke: streamSpoke,
    workBegan() {
      working++
      workSinceMs = nowMs()
      hasWorked = true
    },
    workEnded() {
      working--
    },
    readBegan() {
      reading++
      readSinceMs = nowMs()
    },
    readEnded() {
      reading--
    },
    drainBegan() {
      draining++
    },
    drainEnded() {
      draining--
    },
    takeWorked() {
      // A clock that ran out just then has jumped ahead of what the page will do with its data.
      const worked = hasWorked || isReading()
      hasWorked = false
      return worked
    },
    isBusy: () => isWorking() || [...pending.values()].some((request) => isYoung(request)),
    isHeld: () => [...pending.values()].some((request) => !request.isUnread && !isYoung(request)),
    isStalled(patience) {
      if (isWorking()) return false
      if ([...pending.values()].some((request) => isYoung(request, patience))) return false
      return nowMs() - lastEventMs >= patience * (pending.size > 0 ? QUIET_MS : IDLE_MS)
    },
    isStreaming: () => (nowMs() < streamDueMs && isStreamTime()) || [...pending.values()].some(isConnecting),
  }
}
