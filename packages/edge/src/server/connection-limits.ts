import type http from 'node:http'
import {
  constants,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { ConnectionBudgets } from './client-budgets.ts'
import type { Http2Request, Http2Response } from './http2-exchange.ts'

/** A request may have this many header lines. Browsers send each cookie as one. */
export const HEADER_LINES = 200
/** A request with more fields gets 431. The parts of a cookie are one. */
export const HEADER_FIELDS = 100
/** A longer header gets 431. Beyond twice this length it is not read. */
export const HEADER_BYTES = 16 * 1024
/** Headers that stand for more than this end the connection: only attacks have them. */
export const HEADER_BOMB_BYTES = 4 * HEADER_BYTES
/** A bomb counts as so many refusals of its client. */
export const BOMB_REFUSALS = 50
export const STREAMS = 100
/** A connection with more pings and settings than this within `CONTROL_WINDOW_MS` is ended: each needs a response. */
export const CONTROL_FRAMES = 200
const CONTROL_WINDOW_MS = 10_000
/** A client may open and reset this many streams at once, and then some per second (CVE-2023-44487). */
export const RESETS_AT_ONCE = 200
const RESETS_PER_SECOND = 20

/** The limits of each connection. nghttp2 itself limits CONTINUATION frames to 8. */
export const HTTP2_LIMITS = {
  settings: {
    maxConcurrentStreams: STREAMS,
    maxHeaderListSize: 2 * HEADER_BYTES,
    // Buffers at most 12 MiB of unread bodies per connection; allows uploads of 1 MB/s at 120 ms latency.
    initialWindowSize: 128 * 1024,
    enablePush: false,
  },
  // Megabytes; more is refused.
  maxSessionMemory: 16,
  maxHeaderListPairs: HEADER_LINES,
  maxSettings: 32,
  maxOutstandingPings: 2,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  streamResetBurst: RESETS_AT_ONCE,
  streamResetRate: RESETS_PER_SECOND,
  // Pass on headers that origins repeat wrongly; the client decides.
  strictSingleValueFields: false,
} satisfies SecureServerOptions & {
  streamResetBurst: number
  streamResetRate: number
  strictSingleValueFields: boolean
}

/** A client has this time to read the last frames of a stream or session. */
const LAST_FRAMES_MS = 2_000

/** Counts what was written to a stream, whether the client has read it or not. */
type Written = { readonly handedBytes: number }

type SessionOptions = { idleMs: number; keepAliveMs: number; stuckMs: number }

/** Time limits of HTTP/2 sessions and streams that Node lacks. */
export class SessionWatch {
  readonly #clock: Clock
  readonly #options: SessionOptions
  readonly #sessions = new Set<ServerHttp2Session>()

  constructor(clock: Clock, options: SessionOptions) {
    this.#clock = clock
    this.#options = options
  }

  /** Call for each session, and `opened` of the result for each of its streams. */
  watch(session: ServerHttp2Session, socket: Socket, budgets: ConnectionBudgets | null): WatchedSession {
    this.#sessions.add(session)
    session.once('close', () => this.#sessions.delete(session))
    return new WatchedSession(session, socket, budgets, this.#clock, this.#options)
  }

  /**
   * Sends GOAWAY with the last request (RFC 9113, section 6.8) and finishes open ones. No early GOAWAY: Node
   * silently drops new streams after any.
   */
  endAll(): void {
    for (const session of this.#sessions) if (!session.destroyed && !session.closed) session.close()
  }
}

/** So many looks in which a client takes nothing make `stuckMs`. */
const STUCK_LOOKS = 3

/**
 * Closes an idle session like an idle HTTP/1.1 connection; pings do not count. Ends one whose client takes nothing and
 * does not answer a ping: it has left without a word, or another stream would be stopped by its own window only.
 */
class WatchedSession {
  readonly #session: ServerHttp2Session
  readonly #socket: Socket
  readonly #budgets: ConnectionBudgets | null
  readonly #clock: Clock
  readonly #open = new Map<ServerHttp2Stream, { written: Written; takenBytes: number }>()
  readonly #idle: NodeJS.Timeout
  #controlSinceMs: number
  #controlFrames = 0
  #takenBytes = 0
  #looksWithoutSign = 0

  constructor(
    session: ServerHttp2Session,
    socket: Socket,
    budgets: ConnectionBudgets | null,
    clock: Clock,
    { idleMs, keepAliveMs, stuckMs }: SessionOptions,
  ) {
    this.#session = session
    this.#socket = socket
    this.#budgets = budgets
    this.#clock = clock
    this.#controlSinceMs = clock.nowMs()
    this.#idle = setTimeout(() => this.#endIfIdle(), keepAliveMs)
    // Node's own stream timeout restarts with any frame of the session, for example pings.
    const look = setInterval(() => this.#endStuckStreams(), idleMs)
    const lookForSign = setInterval(() => this.#endIfGone(), stuckMs / STUCK_LOOKS)
    session.on('error', () => {})
    const leave = budgets?.watch(this)
    session.once('close', () => {
      leave?.()
      clearTimeout(this.#idle)
      clearInterval(look)
      clearInterval(lookForSign)
    })
    session.on('ping', () => this.#countControl())
    session.on('remoteSettings', () => this.#countControl())
  }

  /** What was written to open streams and waits here. */
  get unsentBytes(): number {
    let bytes = 0
    for (const stream of this.#open.keys()) bytes += stream.bufferSize
    return bytes
  }

  opened(stream: ServerHttp2Stream, written: Written): void {
    this.#open.set(stream, { written, takenBytes: Number.NaN })
    stream.once('close', () => {
      this.#open.delete(stream)
      if (this.#open.size === 0 && !this.#session.destroyed) this.#idle.refresh()
    })
  }

  #endIfIdle(): void {
    const session = this.#session
    if (this.#open.size > 0 || session.destroyed) return
    session.close()
    // The client does not read the GOAWAY. A closed session would wait for the client's end.
    const cut = setTimeout(() => this.#socket.destroy(), LAST_FRAMES_MS)
    session.once('close', () => clearTimeout(cut))
  }

  /** Ends the streams of which the client has taken nothing since the last look. */
  #endStuckStreams(): void {
    for (const [stream, watched] of this.#open) {
      const waitingBytes = stream.bufferSize
      const takenBytes = watched.written.handedBytes - waitingBytes
      if (waitingBytes > 0 && takenBytes === watched.takenBytes) {
        stream.destroy(new Error('nothing of it was taken'))
      }
      watched.takenBytes = takenBytes
    }
  }

  #endIfGone(): void {
    let waitingBytes = 0
    let takenBytes = 0
    for (const [stream, { written }] of this.#open) {
      waitingBytes += stream.bufferSize
      takenBytes += written.handedBytes - stream.bufferSize
    }
    const hasSign = waitingBytes === 0 || takenBytes !== this.#takenBytes
    this.#takenBytes = takenBytes
    if (hasSign) {
      this.#looksWithoutSign = 0
      return
    }
    this.#looksWithoutSign++
    if (this.#looksWithoutSign === 1) this.#ping()
    else if (this.#looksWithoutSign > STUCK_LOOKS) this.#socket.destroy()
  }

  #ping(): void {
    this.#session.ping((error) => {
      if (error === null) this.#looksWithoutSign = 0
    })
  }

  #countControl(): void {
    const nowMs = this.#clock.nowMs()
    if (nowMs - this.#controlSinceMs > CONTROL_WINDOW_MS) {
      this.#controlSinceMs = nowMs
      this.#controlFrames = 0
    }
    this.#controlFrames++
    const isWithinBudget = this.#budgets?.enterControlFrame() ?? true
    if (isWithinBudget && this.#controlFrames <= CONTROL_FRAMES) return
    this.#session.destroy(new Error('too many pings or settings'), constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }
}

/** Ends a stream whose body is not wanted, or does not end, behind its response. */
export function endBodyBehindResponse(
  stream: ServerHttp2Stream,
  req: Http2Request,
  res: Http2Response,
): void {
  res.once('finish', () => {
    if (req.complete || stream.destroyed) return
    if (!req.reading) {
      req.endStream()
      return
    }
    const late = setTimeout(() => req.endStream(), LAST_FRAMES_MS)
    stream.once('close', () => clearTimeout(late))
  })
}

/** A connection may have this many pipelined requests, as many as HTTP/2 streams. */
export const MOST_PIPELINED = 100

const behind = new WeakMap<Socket, number>()

/**
 * Counts a request that waits behind others of its connection (RFC 9112, section 9.3.2). Returns false past the limit,
 * because each waiting request takes memory.
 */
export function enterPipeline(req: http.IncomingMessage, res: http.ServerResponse): boolean {
  if (res.socket !== null) return true
  const count = behind.get(req.socket) ?? 0
  if (count >= MOST_PIPELINED) return false
  behind.set(req.socket, count + 1)
  res.once('socket', () => behind.set(req.socket, (behind.get(req.socket) ?? 1) - 1))
  return true
}
