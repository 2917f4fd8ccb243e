import type http from 'node:http'
import type { Duplex } from 'node:stream'

import { type AnswerHead, OriginCall } from '@prepaint/outbound/client'
import { flatHeaders, GATEWAY_HEADER } from '@prepaint/outbound/headers'
import { explainFault, type Upstream } from './exchange.ts'
import type { SiteTraffic } from './traffic.ts'

/** Repeats a WebSocket upgrade to the page's own site at the origin, then tunnels the bytes unread. */
export function upgrade(
  request: http.IncomingMessage,
  near: Duplex,
  head: Buffer,
  upstream: Upstream,
  traffic: SiteTraffic,
): void {
  if (request.method !== 'GET' || request.headers.upgrade?.toLowerCase() !== 'websocket') {
    answerRaw(near, 400, 'malformed')
    return
  }
  const { firstByteTimeoutMs, idleTimeoutMs } = traffic.limits
  let call: OriginCall
  try {
    call = new OriginCall(
      {
        method: 'GET',
        path: upstream.path,
        body: 'none',
        mayUpgrade: true,
        headers: [...flatHeaders(upstream.headers), 'Connection', 'Upgrade', 'Upgrade', 'websocket'],
        answerWaitMs: firstByteTimeoutMs,
        idleMs: idleTimeoutMs,
      },
      {
        ready() {},
        drain() {},
        continued() {},
        head({ statusCode }) {
          answerRaw(near, statusCode, 'not-upgraded')
          queueMicrotask(() => call.destroy())
        },
        data: () => true,
        end() {},
        fail(error) {
          const { status, why } = explainFault(error)
          answerRaw(near, status, why)
        },
        upgraded(received, far, farHead) {
          near.write(headOf(101, 'Switching Protocols', upgradedHeaders(received, upstream)))
          if (farHead.length > 0) far.unshift(farHead)
          if (head.length > 0) near.unshift(head)
          traffic.tunnel(near, far)
        },
      },
    )
  } catch {
    answerRaw(near, 400, 'malformed')
    return
  }
  near.on('error', () => call.destroy())
  near.once('close', () => call.destroy())
  traffic.origins.send(call, upstream.origin, 'none')
}

/** Sends a short response on a bare socket and closes it. */
export function answerRaw(
  socket: Duplex,
  status: number,
  why: string,
  headers: http.OutgoingHttpHeaders = {},
): void {
  socket.on('error', ignore)
  if (socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const head = headOf(status, 'Prepaint gateway', {
    ...headers,
    [GATEWAY_HEADER]: why,
    'content-length': '0',
    connection: 'close',
  })
  socket.end(head, () => socket.destroy())
}

function upgradedHeaders(received: AnswerHead, upstream: Upstream): http.OutgoingHttpHeaders {
  const headers = upstream.responseHeaders(received.rawHeaders)
  return { ...headers, connection: 'Upgrade', upgrade: 'websocket' }
}

/** Values contain no line breaks: they come from a parser or this program. */
function headOf(status: number, text: string, headers: http.OutgoingHttpHeaders): string {
  const flat = flatHeaders(headers)
  let lines = ''
  for (let at = 0; at < flat.length; at += 2) lines += `${flat[at]}: ${flat[at + 1]}\r\n`
  return `HTTP/1.1 ${status} ${text}\r\n${lines}\r\n`
}

function ignore(): void {}
