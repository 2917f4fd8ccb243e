import type net from 'node:net'
import { PassThrough } from 'node:stream'

import { requestIdHeader } from '../../http/request-id.ts'
import type { AnswerHead } from '../../outbound/client/answer-reader.ts'
import { OriginCall } from '../../outbound/client/call.ts'
import { byName, requestHeaders, responseHeaders } from '../../outbound/headers.ts'
import { timesThroughUs } from '../request/decide.ts'
import type { EdgeDomain } from '../request/domain.ts'
import { type Handshake, refuseHandshake } from '../server/handshake.ts'
import { frontOf, MAX_TIMES_THROUGH_US, type PassOptions, pageFor } from './pass.ts'
import { WebSocketGoodbye } from './websocket-goodbye.ts'

type PassUpgrade = {
  /** `settled` is called, maybe more than once, when the handshake holds no connection of the origin's pool any more. */
  (handshake: Handshake, domain: EdgeDomain, verdict: string, settled: () => void): void
  /** Tells every client between two frames that we go, and ends their WebSockets. */
  endAll(): void
}

/** How long one side may be silent once the other has ended. */
const LAST_WORDS_MS = 2_000

/**
 * Hands a WebSocket handshake to the origin. What either side sent right behind
 * its handshake goes on. After the origin's 101 there is no time limit: who keeps a
 * WebSocket open decides how long. When one side ends, the other has a moment
 * for its last words, and then both are closed.
 */
export function createPassUpgrade(options: PassOptions): PassUpgrade {
  const { origins, answerWaitMs, idleMs, onFault } = options
  const seen = options.frontOf ?? frontOf
  const open = new Set<() => void>()
  const endAll = () => {
    for (const end of open) end()
  }
  return Object.assign(passUpgrade, { endAll })

  function passUpgrade(...[handshake, domain, verdict, settled]: Parameters<PassUpgrade>): void {
    const { req, wire } = handshake
    if (timesThroughUs(req.headers.via) >= MAX_TIMES_THROUGH_US) {
      settled()
      refuseHandshake(handshake, 'loop', verdict)
      return
    }
    const front = seen(req, domain)
    const named = requestIdHeader(req)
    const unwatch = destroyWhenEnded(handshake)
    let refusal: PassThrough | null = null
    const fail = (error: Error) => {
      settled()
      // A response that has begun ends or breaks by itself.
      if (refusal !== null) return void refusal.destroy(error)
      if (wire.destroyed) return
      const page = pageFor(error)
      refuseHandshake(handshake, page, verdict, onFault({ domain: domain.name, page, error }))
    }
    const request = {
      // A WebSocket is asked for by GET, whatever HTTP/2 calls it.
      method: req.httpVersion === '2.0' ? 'GET' : (req.method ?? 'GET'),
      path: req.url ?? '/',
      headers: [...requestHeaders(req, front, domain.origin, handshake.framing), ...named],
      body: 'none' as const,
      ...{ answerWaitMs, idleMs, mayUpgrade: true },
    }
    const call = new OriginCall(request, {
      ready() {},
      drain() {},
      continued() {},
      // The origin wants no WebSocket: its response, and then the end as the end of the body. Throws to `fail`.
      head(answer) {
        const body = new PassThrough()
        const headers = [...responseHeaders(answer, front, domain, verdict), ...named]
        handshake.refuse(answer.statusCode, answer.statusMessage, headers, body)
        body.on('drain', () => call.resume())
        refusal = body
      },
      data: (part) => refusal!.write(part),
      end() {
        settled()
        refusal!.end()
      },
      fail,
      upgraded(answer, origin, originHead) {
        settled()
        unwatch()
        origin.on('error', () => origin.destroy())
        origin.on('timeout', () => origin.destroy())
        try {
          if (handshake.expected !== null && acceptOf(answer) !== handshake.expected) {
            throw new Error('The origin says something else to the key')
          }
          handshake.accept([...responseHeaders(answer, front, domain, verdict), ...named])
        } catch (error) {
          origin.destroy()
          return fail(error as Error)
        }
        joinSockets(handshake, origin, originHead, open)
      },
    })
    wire.on('close', () => {
      call.destroy()
      settled()
    })
    // Kept connections are for requests.
    origins.send(call, domain.origin, 'none')
  }
}

function acceptOf({ rawHeaders }: AnswerHead): unknown {
  return byName(rawHeaders)['sec-websocket-accept']
}

/** Both ways, until one side ends; then the other has a moment for its last words. `open`: how to end those that are. */
function joinSockets(
  handshake: Handshake,
  origin: net.Socket,
  originHead: Buffer,
  open: Set<() => void>,
): void {
  const { wire, head } = handshake
  wire.on('close', () => origin.destroy())
  // `pipe` passes an end on; what comes of that is up to the other side, which may be long gone.
  wire.on('end', () => origin.setTimeout(LAST_WORDS_MS))
  origin.on('close', () => {
    if (origin.readableEnded) handshake.limitSilence(LAST_WORDS_MS)
    else wire.destroy()
  })
  if (head.length > 0) origin.write(head)
  const down = new WebSocketGoodbye()
  if (originHead.length > 0) down.write(originHead)
  const end = () => {
    down.leave()
    const late = setTimeout(() => wire.destroy(), LAST_WORDS_MS)
    wire.once('close', () => clearTimeout(late))
  }
  open.add(end)
  wire.once('close', () => open.delete(end))
  origin.pipe(down).pipe(wire)
  wire.pipe(origin)
}

/**
 * For as long as nobody reads from the client: else it would not be seen that
 * he has gone, and the origin would be waited for. What he sends is kept.
 */
function destroyWhenEnded({ wire }: Handshake): () => void {
  const look = () => void wire.read(0)
  const destroy = () => void wire.destroy()
  wire.on('readable', look).on('end', destroy)
  return () => void wire.off('readable', look).off('end', destroy)
}
