import type http from 'node:http'
import {
  constants,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Clock } from '../../clock.ts'
import type { Http2Request, Http2Response } from './http2-exchange.ts'

/** Header lines of one request; browsers send each cookie as one. */
export const HEADER_LINES = 200
/** As for HTTP/1.1: more is answered with 431; what is past twice of it is not even read. */
export const HEADER_BYTES = 16 * 1024
export const STREAMS = 100
/** Pings and changes of settings that one client may send within `CONTROL_WINDOW_MS`; each asks for an answer. */
export const CONTROL_FRAMES = 200
const CONTROL_WINDOW_MS = 10_000
/** Streams that a client may open and take back at once, and then each second: it costs him nothing (CVE-2023-44487). */
export const RESETS_AT_ONCE = 200
const RESETS_PER_SECOND = 20

/** What one connection of HTTP/2 may make node hold or do. nghttp2 itself ends one with more than 8 CONTINUATION frames. */
export const HTTP2_LIMITS = {
  settings: {
    maxConcurrentStreams: STREAMS,
    maxHeaderListSize: 2 * HEADER_BYTES,
    // Of a body that is not read on, so much waits: at most 12 MiB a connection, and 1 MB/s for an upload over 120 ms.
    initialWindowSize: 128 * 1024,
    enableConnectProtocol: true,
    enablePush: false,
  },
  // Megabytes; what is past it is refused.
  maxSessionMemory: 16,
  maxHeaderListPairs: HEADER_LINES,
  maxSettings: 32,
  maxOutstandingPings: 2,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  streamResetBurst: RESETS_AT_ONCE,
  streamResetRate: RESETS_PER_SECOND,
  // An origin may say things twice that it should not; that is for the client to judge.
  strictSingleValueFields: false,
} satisfies SecureServerOptions & {
  streamResetBurst: number
  streamResetRate: number
  strictSingleValueFields: boolean
}

/** How long a client may go on with a body once its answer has ended, and a session with its last frames. */
const LAST_FRAMES_MS = 2_000

/** Looks after the sessions of a server, where node itself leaves them alone. */
export function createSessionWatch(options: { clock: Clock; idleMs: number; keepAliveMs: number }) {
  const { clock, idleMs, keepAliveMs } = options
  const sessions = new Set<ServerHttp2Session>()

  /** Pings keep no session: one without a request ends after the same time as a connection of HTTP/1.1. */
  function session(one: ServerHttp2Session): void {
    sessions.add(one)
    one.once('close', () => sessions.delete(one))
    one.on('error', () => {})
    let open = 0
    let idle = setTimeout(end, keepAliveMs, one)
    one.on('stream', (stream) => {
      open += 1
      clearTimeout(idle)
      stream.once('close', () => {
        open -= 1
        if (open === 0 && !one.destroyed) idle = setTimeout(end, keepAliveMs, one)
      })
    })
    one.once('close', () => clearTimeout(idle))

    let since = clock.nowMs()
    let frames = 0
    const control = () => {
      if (clock.nowMs() - since > CONTROL_WINDOW_MS) {
        since = clock.nowMs()
        frames = 0
      }
      frames += 1
      if (frames > CONTROL_FRAMES)
        one.destroy(new Error('too many pings or settings'), constants.NGHTTP2_ENHANCE_YOUR_CALM)
    }
    one.on('ping', control)
    one.on('remoteSettings', control)
  }

  /** Who takes nothing of an answer, by a window of 0 or else, does not get the rest; a body that nobody wants ends. */
  function stream(one: ServerHttp2Stream, req: Http2Request, res: Http2Response): void {
    watchTaking(one, res)
    res.once('finish', () => {
      if (req.complete || one.destroyed) return
      if (!req.reading) return req.endStream()
      const late = setTimeout(() => req.endStream(), LAST_FRAMES_MS)
      one.once('close', () => clearTimeout(late))
    })
  }

  /** Node's own timeout of a stream starts anew with anything that its session sends, be it the answers to pings. */
  function watchTaking(one: ServerHttp2Stream, res: Http2Response): void {
    let before = -1
    const look = setInterval(() => {
      const { waitingBytes, takenBytes } = res.progress
      if (waitingBytes > 0 && takenBytes === before) one.destroy(new Error('nothing of it was taken'))
      before = takenBytes
    }, idleMs)
    one.once('close', () => clearInterval(look))
  }

  function end(one: ServerHttp2Session): void {
    if (one.destroyed) return
    one.close()
    // Whoever does not even take the GOAWAY.
    const cut = setTimeout(() => one.destroy(), LAST_FRAMES_MS)
    one.once('close', () => clearTimeout(cut))
  }

  return {
    session,
    stream,
    /**
     * Tells each client which request was the last (RFC 9113, section 6.8), answers those, and ends. What is
     * on its way is behind that, and the client knows that nobody has seen it. A first GOAWAY that refuses nothing
     * would be kinder; but once node has sent one, it drops new streams without a word, whatever it said.
     */
    endAll(): void {
      for (const one of sessions) if (!one.destroyed && !one.closed) one.close()
    },
  }
}

/** Requests of one connection that wait behind one which is not answered yet; as many as HTTP/2 has streams. */
export const MOST_PIPELINED = 100

const behind = new WeakMap<Socket, number>()

/**
 * Whether a request may wait behind those before it on its connection (RFC 9112, section 9.3.2). Nobody has to
 * pipeline, browsers do not, and each that waits takes memory: of one client who is not limited otherwise it would be as
 * much as he likes. For all other requests this costs a comparison.
 */
export function mayWait(req: http.IncomingMessage, res: http.ServerResponse): boolean {
  // Node gives an answer its connection when it is its turn.
  if (res.socket !== null) return true
  const count = behind.get(req.socket) ?? 0
  if (count >= MOST_PIPELINED) return false
  behind.set(req.socket, count + 1)
  res.once('socket', () => behind.set(req.socket, (behind.get(req.socket) ?? 1) - 1))
  return true
}
