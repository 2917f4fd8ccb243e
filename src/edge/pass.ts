import http from 'node:http'
import https from 'node:https'

import { createClientReader } from '../client-address.ts'
import { requestIdOf } from '../http/request-id.ts'
import { watchBodyPace } from './body-pace.ts'
import { timesThroughUs } from './decide.ts'
import type { EdgeDomain } from './domain.ts'
import type { EdgeRequest, EdgeResponse } from './exchange.ts'
import { type Front, passedTrailers, requestHeaders, responseHeaders } from './forwarded-headers.ts'
import { lastHop } from './last-hop.ts'
import { type PlainPage, sendPlainPage } from './plain-page.ts'
import { streamAnswer } from './stream-answer.ts'
import type { Verdict } from './verdict.ts'

/** Connections to origins; guarded ones, see `src/gateway/guarded-agents.ts`. */
export type OriginAgents = {
  http: http.Agent
  https: https.Agent
  /** Ends the connections to an origin that have been idle for longer, so that the next request does not meet one that the origin is about to end. */
  dropIdle?(origin: { protocol: string; hostname: string; port: number }, idleMs: number): void
}

export type PassOptions = {
  agents: OriginAgents
  /** The origin may be silent for so long before its answer begins. */
  answerWaitMs: number
  /** And for so long in the middle of it. */
  idleMs: number
  /** How often the pace of a body on its way to the origin is looked at. */
  bodyLookMs: number
  /** How the client sees the site; by default, as it sees us. */
  frontOf?: FrontOf
  /** A request failed on the way to the origin; for the log. Gives the reference that people are told. */
  onFault(fault: { domain: string; page: PlainPage; error: Error }): string
}

export type FrontOf = (req: EdgeRequest, domain: EdgeDomain) => Front

export type Pass = (req: EdgeRequest, res: EdgeResponse, domain: EdgeDomain, verdict: Verdict) => void

/** An origin that is this node again: one time round is a misconfiguration, more would never end. */
export const MAX_TIMES_THROUGH_US = 3

/** How long a body may go on once its answer has ended. */
const BODY_AFTER_ANSWER_MS = 2_000

/** A request that may not be sent twice goes on a connection that was in use so lately, or on a new one. */
const SURELY_OPEN_MS = 2_000

/** Methods that may be sent twice (RFC 9110, section 9.2.2) and carry no body. */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Hands requests to the origin and its answers back, streamed both ways: each
 * side is read only as fast as the other takes it. When one side goes away, so
 * does the other. Whatever goes wrong before the answer has begun is a page of
 * ours with 502 or 504; after that the connection is cut, so that nobody takes
 * half an answer for a whole one.
 */
export function createPass(options: PassOptions): Pass {
  const { agents, answerWaitMs, idleMs, bodyLookMs, onFault } = options
  const seen = options.frontOf ?? frontOf

  return (req, res, domain, verdict) => {
    if (timesThroughUs(req.headers.via) >= MAX_TIMES_THROUGH_US) sendPlainPage(res, 'loop', verdict)
    else if (!lastHop(req, res, verdict)) attempt(req, res, domain, verdict, false)
  }

  function attempt(...[req, res, domain, verdict, again]: [...Parameters<Pass>, boolean]): void {
    const front = seen(req, domain)
    const framing = bodyFraming(req)
    const repeatable = framing.length === 0 && REPEATABLE.has(req.method ?? '')
    if (!repeatable || again) agents.dropIdle?.(domain.origin, again ? 0 : SURELY_OPEN_MS)
    const upstream = originRequest(agents, domain, {
      method: req.method ?? 'GET',
      path: req.url ?? '/',
      headers: [...requestHeaders(req, front, domain.origin, framing), ...named(req)],
      answerWaitMs,
    })
    let settled = false

    const fail = (error: Error) => {
      // An answer that has begun ends or breaks by itself, see `streamAnswer`.
      if (settled || res.destroyed) return
      settled = true
      // The origin closed an idle connection at the moment we used it again.
      if (upstream.reusedSocket && !again && repeatable) return attempt(req, res, domain, verdict, true)
      const page = pageFor(error)
      const reference = onFault({ domain: domain.name, page, error })
      // The rest of a body would be taken for the next request.
      if (!req.complete) res.shouldKeepAlive = false
      sendPlainPage(res, page, verdict, reference)
    }

    // Clients of HTTP/1.0 know no interim answers.
    upstream.on('continue', () => {
      if (req.httpVersion !== '1.0') res.writeContinue()
    })
    // 103 and other interim answers are dropped: not every client reads them (RFC 9110, section 15.2).
    upstream.on('error', fail)
    // Without an error node closes after an upgrade that nobody asked for.
    upstream.on('close', () => {
      if (!settled) fail(new Error('The origin closed without an answer'))
    })
    upstream.on('response', (answer) => {
      try {
        const headers = [...responseHeaders(answer, front, domain, verdict), ...named(req)]
        res.writeHead(answer.statusCode ?? 0, answer.statusMessage, headers)
      } catch (error) {
        // A status or header that no HTTP message may have: node would not write it.
        return void upstream.destroy(error as Error)
      }
      settled = true
      upstream.setTimeout(idleMs)
      res.on('finish', () => {
        if (!req.complete) endBody(req, upstream)
      })
      streamAnswer(answer, res)
    })
    res.on('close', () => {
      if (!res.writableFinished) upstream.destroy()
    })

    if (framing.length === 0) return void upstream.end()
    // Whoever sent `Expect: 100-continue` sends nothing before the origin has seen the headers.
    upstream.flushHeaders()
    req.on('error', () => upstream.destroy())
    req.on('end', () => upstream.addTrailers(passedTrailers(req.rawTrailers)))
    watchBodyPace(req, upstream, bodyLookMs, () => upstream.destroy(new ClientSlow()))
    req.pipe(upstream)
  }
}

/** All is answered: what is left of the body is for nobody, but who is about to have sent it need not be cut off. */
function endBody(req: EdgeRequest, upstream: http.ClientRequest): void {
  const late = setTimeout(() => {
    upstream.destroy()
    req.socket.destroy()
  }, BODY_AFTER_ANSWER_MS)
  req.once('close', () => clearTimeout(late))
}

export type OriginRequest = {
  method: string
  path: string
  /** Flat and complete: node adds none but `Connection`. */
  headers: string[]
  /** For a free connection, and then as the longest silence: the request fails with OriginSilent. */
  answerWaitMs: number
}

/** A request to a domain's origin, not yet ended. */
export function originRequest(
  agents: OriginAgents,
  { origin }: Pick<EdgeDomain, 'origin'>,
  { answerWaitMs, ...request }: OriginRequest,
): http.ClientRequest {
  const to = { host: origin.hostname, port: origin.port, setHost: false, timeout: answerWaitMs }
  const upstream =
    origin.protocol === 'https:'
      ? https.request({ ...request, ...to, agent: agents.https })
      : http.request({ ...request, ...to, agent: agents.http })
  const giveUp = () => void upstream.destroy(new OriginSilent())
  const unconnected = setTimeout(giveUp, answerWaitMs)
  upstream.once('socket', () => clearTimeout(unconnected))
  upstream.once('close', () => clearTimeout(unconnected))
  return upstream.on('timeout', giveUp)
}

/** As the origin, the client and our log are to call the request. */
function named(req: EdgeRequest): string[] {
  const id = requestIdOf(req)
  return id === '' ? [] : ['X-Request-Id', id]
}

/** How the client sees us, for what is said to the origin about it. */
export function frontOf(req: EdgeRequest, domain: EdgeDomain): Front {
  return { ...readClient(req), host: req.headers.host ?? domain.name }
}

const readClient = createClientReader([])

export class OriginSilent extends Error {
  override name = 'OriginSilent'
}

export class ClientSlow extends Error {
  override name = 'ClientSlow'
}

/** What people read when the origin could not be asked or did not answer. */
export function pageFor(error: Error): PlainPage {
  if (error instanceof OriginSilent) return 'gateway-timeout'
  if (error instanceof ClientSlow) return 'slow-request'
  const fault = 'fault' in error ? error.fault : null // of a ConnectError
  if (fault === 'timed-out') return 'gateway-timeout'
  return fault === 'refused-address' ? 'refused-origin' : 'bad-gateway'
}

/** Headers that delimit the body towards the origin, none when there is no body (RFC 9112, section 6). */
function bodyFraming(req: EdgeRequest): string[] {
  // node refuses a request that has both, so the two can never disagree.
  if (req.headers['transfer-encoding'] !== undefined) return ['Transfer-Encoding', 'chunked']
  const length = req.headers['content-length']
  return length === undefined ? [] : ['Content-Length', length]
}
