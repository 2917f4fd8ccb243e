import type http from 'node:http'
import type { Duplex } from 'node:stream'

import { timesThroughUs } from './decide.ts'
import type { EdgeDomain } from './domain.ts'
import { requestHeaders, responseHeaders } from './forwarded-headers.ts'
import { frontOf, MAX_TIMES_THROUGH_US, originRequest, type PassOptions, pageFor } from './pass.ts'
import { messageHead, refuseUpgrade } from './plain-page.ts'

export type PassUpgrade = (
  req: http.IncomingMessage,
  socket: Duplex,
  head: Buffer,
  domain: EdgeDomain,
  verdict: string,
) => void

/** How long one side may be silent once the other has ended. */
const LAST_WORDS_MS = 2_000

/**
 * Hands a WebSocket handshake to the origin. `head`s are what either side sent
 * right behind its handshake. After a 101 there is no time limit: who keeps a
 * WebSocket open decides how long. When one side ends, the other has a moment
 * for its last words, and then both are closed.
 */
export function createPassUpgrade({ agents, answerWaitMs, onFault }: PassOptions): PassUpgrade {
  return (req, socket, head, domain, verdict) => {
    socket.on('error', () => socket.destroy())
    if (timesThroughUs(req.headers.via) >= MAX_TIMES_THROUGH_US) return refuseUpgrade(socket, 'loop', verdict)
    const front = frontOf(req, domain)
    const framing = ['Connection', 'Upgrade', 'Upgrade', req.headers.upgrade ?? 'websocket']
    const upstream = originRequest(agents, domain, {
      method: req.method ?? 'GET',
      path: req.url ?? '/',
      headers: requestHeaders(req.rawHeaders, front, domain.origin, framing),
      answerWaitMs,
    })
    socket.on('close', () => upstream.destroy())
    const unwatch = destroyWhenEnded(socket)

    upstream.on('error', (error) => {
      if (socket.destroyed) return
      const page = pageFor(error)
      onFault({ domain: domain.name, page, error })
      refuseUpgrade(socket, page, verdict)
    })
    upstream.on('upgrade', (answer, origin, originHead) => {
      unwatch()
      origin.setTimeout(0)
      origin.on('error', () => origin.destroy())
      origin.on('timeout', () => origin.destroy())
      socket.on('close', () => origin.destroy())
      // `pipe` passes an end on; what comes of that is up to the other side, which may be long gone.
      socket.on('end', () => origin.setTimeout(LAST_WORDS_MS))
      origin.on('close', () => {
        if (origin.readableEnded) req.socket.setTimeout(LAST_WORDS_MS, () => socket.destroy())
        else socket.destroy()
      })
      const headers = responseHeaders(answer.rawHeaders, front, domain, verdict)
      headers.push('Connection', 'Upgrade', 'Upgrade', answer.headers.upgrade ?? 'websocket')
      socket.write(messageHead(101, 'Switching Protocols', headers), 'latin1')
      if (originHead.length > 0) socket.write(originHead)
      if (head.length > 0) origin.write(head)
      origin.pipe(socket)
      socket.pipe(origin)
    })
    upstream.on('response', (answer) => {
      // The origin wants no WebSocket: its answer, and then the end of the connection as the end of the body.
      const headers = responseHeaders(answer.rawHeaders, front, domain, verdict)
      headers.push('Connection', 'close')
      socket.write(messageHead(answer.statusCode ?? 502, answer.statusMessage ?? '', headers), 'latin1')
      answer.on('error', () => socket.destroy())
      answer.pipe(socket)
    })
    upstream.end()
  }
}

/**
 * For as long as nobody reads from the client: else it would not be seen that
 * he has gone, and the origin would be waited for. What he sends is kept.
 */
function destroyWhenEnded(socket: Duplex): () => void {
  const look = () => void socket.read(0)
  const destroy = () => void socket.destroy()
  socket.on('readable', look).on('end', destroy)
  return () => void socket.off('readable', look).off('end', destroy)
}
