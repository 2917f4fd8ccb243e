import type { IncomingMessage } from 'node:http'
import type net from 'node:net'
import type { Duplex } from 'node:stream'
import type { NoVerdict, Verdict } from '@prepaint/contract/outcome/verdict.ts'
import { OriginCall } from '@prepaint/outbound/client'
import { requestHeaders, responseHeaders } from '@prepaint/outbound/headers'
import { requestIdHeader } from '@prepaint/runtime/http/request-id.ts'
import { messageHead, type PlainPage, plainPage, statusOf } from '../page/plain-page.ts'
import { timesThroughUs } from '../request/decide.ts'
import type { EdgeDomain } from '../request/domain.ts'
import { MAX_TIMES_THROUGH_US, type PassOptions, pageFor } from './pass.ts'

/** A handshake (RFC 6455, section 4) from Node's `upgrade` event. */
export type Handshake = {
  req: IncomingMessage
  socket: Duplex
  head: Buffer
}

/** When one side has ended, the other is cut off after this time of silence. */
const LAST_WORDS_MS = 2_000

/** Passes WebSockets to origins, and knows those that are open. */
export class WebSockets {
  readonly #options: PassOptions
  readonly #open = new Set<Duplex>()

  constructor(options: PassOptions) {
    this.#options = options
  }

  disconnectAll(): void {
    for (const socket of this.#open) socket.destroy()
  }

  /**
   * Passes a handshake on. There is no time limit after the 101. When one side ends, the other has two seconds. Calls
   * `settled`, maybe twice, when the handshake no longer uses the origin's pool.
   */
  pass(handshake: Handshake, domain: EdgeDomain, verdict: Verdict, settled: () => void): void {
    const { origins, answerWaitMs, idleMs, frontOf, onFault } = this.#options
    const { req, socket } = handshake
    if (timesThroughUs(req.headers.via) >= MAX_TIMES_THROUGH_US) {
      settled()
      refuseHandshake(handshake, 'loop', verdict)
      return
    }
    const front = frontOf(req, domain)
    const id = requestIdHeader(req)
    const framing = ['Connection', 'Upgrade', 'Upgrade', req.headers.upgrade ?? 'websocket']
    const unwatch = destroyWhenEnded(socket)
    let answered = false
    const request = {
      method: req.method ?? 'GET',
      path: req.url ?? '/',
      headers: [...requestHeaders(req, front, domain.origin, framing), ...id],
      body: 'none' as const,
      answerWaitMs,
      idleMs,
      mayUpgrade: true,
    }
    const call = new OriginCall(request, {
      ready() {},
      drain() {},
      continued() {},
      // The origin refuses: pass its response; the connection's end delimits the body.
      head(answer) {
        answered = true
        const headers = [...responseHeaders(answer, front, domain, verdict), ...id, 'Connection', 'close']
        socket.write(messageHead(answer.statusCode, answer.statusMessage, headers), 'latin1')
        socket.on('drain', () => call.resume())
      },
      data: (part) => socket.write(part),
      end() {
        settled()
        socket.end()
      },
      fail: (error) => {
        settled()
        if (answered) {
          socket.destroy()
          return
        }
        if (socket.destroyed) return
        const page = pageFor(error)
        refuseHandshake(handshake, page, verdict, onFault({ domain: domain.name, page, error }))
      },
      upgraded: (answer, origin, originHead) => {
        answered = true
        settled()
        unwatch()
        const headers = [...responseHeaders(answer, front, domain, verdict), ...id, ...framing]
        socket.write(messageHead(101, 'Switching Protocols', headers), 'latin1')
        if (originHead.length > 0) socket.write(originHead)
        this.#open.add(socket)
        socket.once('close', () => this.#open.delete(socket))
        connect(handshake, origin)
      },
    })
    socket.on('close', () => {
      call.destroy()
      settled()
    })
    // Kept connections are for requests.
    origins.send(call, domain.origin, 'none')
  }
}

function connect({ socket, head }: Handshake, origin: net.Socket): void {
  origin.setTimeout(0)
  origin.on('error', () => origin.destroy())
  origin.on('timeout', () => origin.destroy())
  socket.on('close', () => origin.destroy())
  // `pipe` passes the end on, but the other side may be gone.
  socket.on('end', () => origin.setTimeout(LAST_WORDS_MS))
  origin.on('close', () => {
    if (origin.readableEnded) destroyWhenTaken(socket)
    else socket.destroy()
  })
  if (head.length > 0) origin.write(head)
  origin.pipe(socket)
  socket.pipe(origin)
}

/** Detects a client that disconnects while the origin is asked and nothing reads. Returns the function that stops this. */
function destroyWhenEnded(socket: Duplex): () => void {
  const look = () => {
    socket.read(0)
  }
  const destroy = () => {
    socket.destroy()
  }
  socket.on('readable', look).on('end', destroy)
  return () => {
    socket.off('readable', look).off('end', destroy)
  }
}

/** Destroys the socket once the client has read everything, or nothing for `LAST_WORDS_MS`. */
function destroyWhenTaken(socket: Duplex): void {
  // No later event would clear the timer.
  if (socket.destroyed) return
  let before = Number.POSITIVE_INFINITY
  const look = setInterval(() => {
    const waiting = socket.writableLength
    if (waiting === 0 || waiting >= before) socket.destroy()
    before = waiting
  }, LAST_WORDS_MS)
  socket.once('close', () => clearInterval(look))
}

export function refuseHandshake(
  { req, socket }: Handshake,
  page: PlainPage,
  verdict: Verdict | NoVerdict,
  reference: string | null = null,
): void {
  const { headers, body } = plainPage(page, verdict, reference)
  headers.push(...requestIdHeader(req), 'Connection', 'close')
  socket.end(messageHead(statusOf(page), 'No WebSocket', headers) + body)
}
