import { requestIdHeader } from '../../http/request-id.ts'
import { pageFor } from '../../outbound/client/faults.ts'
import { originRequest } from '../../outbound/client/request.ts'
import { requestHeaders, responseHeaders } from '../../outbound/headers.ts'
import { timesThroughUs } from '../request/decide.ts'
import type { EdgeDomain } from '../request/domain.ts'
import { type Handshake, refuseHandshake } from '../server/handshake.ts'
import { frontOf, MAX_TIMES_THROUGH_US, type PassOptions } from './pass.ts'
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
  const { agents, answerWaitMs, onFault } = options
  const seen = options.frontOf ?? frontOf
  const open = new Set<() => void>()
  const endAll = () => {
    for (const end of open) end()
  }
  return Object.assign(passUpgrade, { endAll })

  function passUpgrade(...[handshake, domain, verdict, settled]: Parameters<PassUpgrade>): void {
    const { req, wire, head } = handshake
    if (timesThroughUs(req.headers.via) >= MAX_TIMES_THROUGH_US) {
      settled()
      refuseHandshake(handshake, 'loop', verdict)
      return
    }
    const front = seen(req, domain)
    const named = requestIdHeader(req)
    const upstream = originRequest(agents, domain, {
      // A WebSocket is asked for by GET, whatever HTTP/2 calls it.
      method: req.httpVersion === '2.0' ? 'GET' : (req.method ?? 'GET'),
      path: req.url ?? '/',
      headers: [...requestHeaders(req, front, domain.origin, handshake.framing), ...named],
      answerWaitMs,
    })
    // Refused, it is nobody else's: another account may have the same origin.
    upstream.shouldKeepAlive = false
    wire.on('close', () => upstream.destroy())
    upstream.once('close', settled).once('upgrade', settled)
    const unwatch = destroyWhenEnded(handshake)

    let answered = false
    const fail = (error: Error) => {
      // An answer that has begun ends or breaks by itself.
      if (answered || wire.destroyed) return
      answered = true
      const page = pageFor(error)
      refuseHandshake(handshake, page, verdict, onFault({ domain: domain.name, page, error }))
    }
    upstream.on('error', fail)
    upstream.on('upgrade', (answer, origin, originHead) => {
      unwatch()
      origin.setTimeout(0)
      origin.on('error', () => origin.destroy())
      origin.on('timeout', () => origin.destroy())
      const said = answer.headers['sec-websocket-accept']
      if (handshake.expected !== null && said !== handshake.expected) {
        origin.destroy()
        return fail(new Error('The origin says something else to the key'))
      }
      try {
        handshake.accept([...responseHeaders(answer, front, domain, verdict), ...named])
        answered = true
      } catch (error) {
        origin.destroy()
        return fail(error as Error)
      }
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
    })
    upstream.on('response', (answer) => {
      // The origin wants no WebSocket: its answer, and then the end as the end of the body.
      const headers = [...responseHeaders(answer, front, domain, verdict), ...named]
      try {
        handshake.refuse(answer.statusCode ?? 502, answer.statusMessage ?? '', headers, answer)
        answered = true
      } catch (error) {
        answer.destroy()
        fail(error as Error)
      }
    })
    upstream.end()
  }
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
