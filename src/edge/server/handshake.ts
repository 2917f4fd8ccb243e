import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Duplex, Readable } from 'node:stream'

import { requestIdHeader } from '../../http/request-id.ts'
import { messageHead, type PlainPage, plainPage, statusOf } from '../page/plain-page.ts'
import type { EdgeRequest } from './exchange.ts'

/** The client's side of a WebSocket handshake, in either version of HTTP. */
export type Handshake = {
  req: EdgeRequest
  /** Both ways; what comes before `accept` waits in it. */
  wire: Duplex
  /** What the client sent right behind its handshake. */
  head: Buffer
  /** For the origin, which speaks HTTP/1.1: the headers that make it a handshake. */
  framing: string[]
  /** What the origin says to that key, so that the client can be told it said yes; null: the client looks by itself. */
  expected: string | null
  /** Throws for headers that cannot be said in the client's version of HTTP. */
  accept(headers: readonly string[]): void
  /** Answers with something else, and ends. Throws for a status or headers that cannot be said, such as 999 in HTTP/2. */
  refuse(status: number, reason: string, headers: readonly string[], body: string | Readable): void
  /**
   * The origin's side has ended. Ends the client's side after so long, or when it has taken nothing for so
   * long of what is still to go to it; whatever it says itself meanwhile, be it pings, is no reason to wait.
   */
  limitSilence(ms: number): void
}

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const OWN_TO_HTTP1 = new Set(['sec-websocket-accept', 'connection', 'upgrade'])

/** RFC 6455, section 4: `socket` and `head` as node gives them with `upgrade`. */
export function http1Handshake(req: IncomingMessage, socket: Duplex, head: Buffer): Handshake {
  socket.on('error', () => socket.destroy())
  // All is said. Nobody reads on, so that the client's own end would never be seen.
  socket.on('finish', () => socket.destroy())
  const name = req.headers.upgrade ?? 'websocket'
  return {
    req,
    wire: socket,
    head,
    framing: ['Connection', 'Upgrade', 'Upgrade', name],
    expected: null,
    accept(headers) {
      const list = [...headers, 'Connection', 'Upgrade', 'Upgrade', name]
      socket.write(messageHead(101, 'Switching Protocols', list), 'latin1')
    },
    refuse(status, reason, headers, body) {
      const text = messageHead(status, reason, [...headers, 'Connection', 'close'])
      if (typeof body === 'string') return void socket.end(text + body)
      socket.write(text, 'latin1')
      body.on('error', () => socket.destroy())
      body.pipe(socket)
    },
    limitSilence: (ms) => endWhenTaken(socket, () => socket.writableLength, ms),
  }
}

/** RFC 8441: an extended CONNECT; the origin is asked by a handshake of HTTP/1.1, with a key of ours. */
export function http2Handshake(req: EdgeRequest, stream: ServerHttp2Stream): Handshake {
  const key = randomBytes(16).toString('base64')
  stream.on('error', () => {})
  // Closed comes before destroyed where something of the client's has not been read; node would throw then.
  const gone = () => stream.destroyed || stream.closed
  return {
    req,
    wire: stream,
    head: Buffer.alloc(0),
    framing: ['Connection', 'Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Key', key],
    expected: createHash('sha1').update(`${key}${GUID}`).digest('base64'),
    accept(headers) {
      if (!gone()) stream.respond([':status', '200', ...withoutHttp1(headers)])
    },
    refuse(status, _reason, headers, body) {
      if (gone()) return
      stream.respond([':status', `${status}`, ...withoutHttp1(headers)])
      // All is said. Who does not end his own side would hold the stream, and with it the session.
      stream.once('finish', () => stream.close())
      if (typeof body === 'string') return void stream.end(body)
      body.on('error', (error) => stream.destroy(error))
      body.pipe(stream)
    },
    limitSilence: (ms) => endWhenTaken(stream, () => stream.bufferSize, ms),
  }
}

function endWhenTaken(wire: Duplex, waitingBytes: () => number, lookEveryMs: number): void {
  // Nothing would tell of its end any more.
  if (wire.destroyed) return
  let before = Number.POSITIVE_INFINITY
  const look = setInterval(() => {
    const waiting = waitingBytes()
    if (waiting === 0 || waiting >= before) wire.destroy()
    before = waiting
  }, lookEveryMs)
  wire.once('close', () => clearInterval(look))
}

/** A page of ours in place of a WebSocket. */
export function refuseHandshake(
  handshake: Handshake,
  page: PlainPage,
  verdict: string,
  reference: string | null = null,
): void {
  const { headers, body } = plainPage(page, verdict, reference)
  handshake.refuse(statusOf(page), 'No WebSocket', [...headers, ...requestIdHeader(handshake.req)], body)
}

function withoutHttp1(headers: readonly string[]): string[] {
  return headers.filter((_text, at) => !OWN_TO_HTTP1.has(headers[at - (at % 2)]!.toLowerCase()))
}
