import type http from 'node:http'
import type { Duplex } from 'node:stream'
import { GATEWAY_HEADER } from '../outbound/headers.ts'
import { type ExchangeDeps, faultOf, openUpstream, tallyFault, type Upstream } from './exchange.ts'
import { tunnel } from './tunnel.ts'

/**
 * A WebSocket of the page to its own domain: the request is repeated to the
 * origin, and once that agrees, bytes go both ways unread.
 */
export function upgrade(
  request: http.IncomingMessage,
  near: Duplex,
  head: Buffer,
  upstream: Upstream,
  deps: ExchangeDeps,
): void {
  const { limits, tally } = deps
  const target = `${upstream.origin.hostname}:${upstream.origin.port}`
  if (request.method !== 'GET' || request.headers.upgrade?.toLowerCase() !== 'websocket') {
    tally.refuse(target, 'malformed')
    answerRaw(near, 400, 'malformed')
    return
  }
  const headers = { ...upstream.headers, connection: 'Upgrade', upgrade: 'websocket' }
  let sent: http.ClientRequest
  try {
    sent = openUpstream('GET', { ...upstream, headers }, deps)
  } catch {
    answerRaw(near, 400, 'malformed')
    return
  }
  near.on('error', () => sent.destroy())
  near.once('close', () => sent.destroy())
  sent.setTimeout(limits.firstByteTimeoutMs, () => sent.destroy())
  sent.on('error', (error) => {
    const { status, why } = faultOf(error)
    tallyFault(error, target, tally)
    answerRaw(near, status, why)
  })
  // An origin that does not upgrade: the page needs to know that it failed, not why.
  sent.on('response', (received) => {
    received.destroy()
    answerRaw(near, received.statusCode === 101 ? 502 : (received.statusCode ?? 502), 'not-upgraded')
  })
  sent.on('upgrade', (received, far, farHead) => {
    far.setTimeout(0)
    near.write(headOf(101, 'Switching Protocols', upgradedHeaders(received, upstream)))
    if (farHead.length > 0) far.unshift(farHead)
    if (head.length > 0) near.unshift(head)
    tunnel(near, far, { idleTimeoutMs: limits.idleTimeoutMs, receive: tally.receiver(target) })
  })
  sent.end()
}

/** A short answer on a bare connection, which is closed after it. */
export function answerRaw(socket: Duplex, status: number, why: string): void {
  socket.on('error', ignore)
  if (socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const head = headOf(status, 'Prepaint gateway', {
    [GATEWAY_HEADER]: why,
    'content-length': '0',
    connection: 'close',
  })
  socket.end(head, () => socket.destroy())
}

function upgradedHeaders(received: http.IncomingMessage, upstream: Upstream): http.OutgoingHttpHeaders {
  return { ...upstream.responseHeaders(received), connection: 'Upgrade', upgrade: 'websocket' }
}

/** Values come from a parser that lets no line break through, or from this program. */
function headOf(status: number, text: string, headers: http.OutgoingHttpHeaders): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => `${name}: ${one}\r\n`),
  )
  return `HTTP/1.1 ${status} ${text}\r\n${lines.join('')}\r\n`
}

function ignore(): void {}
