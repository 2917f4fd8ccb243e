import type http from 'node:http'
import {
  constants,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Http2Request, Http2Response } from './http2-exchange.ts'

/** Header lines per request; browsers send each cookie as one. */
export const HEADER_LINES = 200
/** Beyond this: 431. Beyond twice this, the header is not read. */
export const HEADER_BYTES = 16 * 1024
export const STREAMS = 100
/** Pings and settings per connection within `CONTROL_WINDOW_MS`; each needs a response. */
export const CONTROL_FRAMES = 200
const CONTROL_WINDOW_MS = 10_000
/** Streams that a client may open and reset at once, and then per second (CVE-2023-44487). */
export const RESETS_AT_ONCE = 200
const RESETS_PER_SECOND = 20

/** Per connection. nghttp2 itself limits CONTINUATION frames to 8. */
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

const LAST_FRAMES_MS = 2_000

/** Counts what was written to a stream, whether the client has read it or not. */
type Written = { readonly handedBytes: number }

/** Time limits of HTTP/2 sessions and streams that Node lacks. */
export function createSessionWatch(options: { clock: Clock; idleMs: number; keepAliveMs: number }) {
  const { clock, idleMs, keepAliveMs } = options
  const sessions = new Set<ServerHttp2Session>()

  /** Closes idle sessions like idle HTTP/1.1 connections; pings do not count. Call `opened` for each stream. */
  function session(one: ServerHttp2Session): { opened(stream: ServerHttp2Stream, written: Written): void } {
    sessions.add(one)
    one.on('error', () => {})
    const open = new Map<ServerHttp2Stream, { written: Written; takenBytes: number }>()
    const idle = setTimeout(() => open.size === 0 && end(one), keepAliveMs)
    // Node's own stream timeout restarts with any frame of the session, for example pings.
    const look = setInterval(() => {
      for (const [stream, watched] of open) {
        const waitingBytes = stream.bufferSize
        const takenBytes = watched.written.handedBytes - waitingBytes
        if (waitingBytes > 0 && takenBytes === watched.takenBytes)
          stream.destroy(new Error('nothing of it was taken'))
        watched.takenBytes = takenBytes
      }
    }, idleMs)
    one.once('close', () => {
      sessions.delete(one)
      clearTimeout(idle)
      clearInterval(look)
    })

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

    return {
      opened(stream, written) {
        open.set(stream, { written, takenBytes: Number.NaN })
        stream.once('close', () => {
          open.delete(stream)
          if (open.size === 0 && !one.destroyed) idle.refresh()
        })
      },
    }
  }

  /** Ends a stream whose body is not wanted, or does not end, behind its response. */
  function body(one: ServerHttp2Stream, req: Http2Request, res: Http2Response): void {
    res.once('finish', () => {
      if (req.complete || one.destroyed) return
      if (!req.reading) return req.endStream()
      const late = setTimeout(() => req.endStream(), LAST_FRAMES_MS)
      one.once('close', () => clearTimeout(late))
    })
  }

  function end(one: ServerHttp2Session): void {
    if (one.destroyed) return
    one.close()
    // The client does not read the GOAWAY.
    const cut = setTimeout(() => one.destroy(), LAST_FRAMES_MS)
    one.once('close', () => clearTimeout(cut))
  }

  return {
    session,
    body,
    /**
     * Sends GOAWAY with the last request (RFC 9113, section 6.8) and finishes open ones. No early GOAWAY: Node
     * silently drops new streams after any.
     */
    endAll(): void {
      for (const one of sessions) if (!one.destroyed && !one.closed) one.close()
    },
  }
}

/** Pipelined requests per connection; equals the limit of HTTP/2 streams. */
export const MOST_PIPELINED = 100

const behind = new WeakMap<Socket, number>()

/** Limits pipelining (RFC 9112, section 9.3.2), because each waiting request takes memory. */
export function mayWait(req: http.IncomingMessage, res: http.ServerResponse): boolean {
  if (res.socket !== null) return true
  const count = behind.get(req.socket) ?? 0
  if (count >= MOST_PIPELINED) return false
  behind.set(req.socket, count + 1)
  res.once('socket', () => behind.set(req.socket, (behind.get(req.socket) ?? 1) - 1))
  return true
}
