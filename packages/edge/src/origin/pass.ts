import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import { isAsset } from '@prepaint/contract/page/path.ts'
import { connectFault } from '@prepaint/outbound'
import {
  type AnswerHead,
  OriginCall,
  type OriginPool,
  OriginSilent,
  type RequestBody,
} from '@prepaint/outbound/client'
import { type Front, passedTrailers, requestHeaders, responseHeaders } from '@prepaint/outbound/headers'
import { requestIdHeader } from '@prepaint/runtime/http/request-id.ts'
import { PASSED_METHODS, type PlainPage, sendPlainPage } from '../page/plain-page.ts'
import { varyOf } from '../page/send-page.ts'
import { timesThroughUs } from '../request/decide.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'
import { createAnswerStream, watchBodyPace } from './stream-answer.ts'

export type PassOptions = {
  origins: OriginPool
  answerWaitMs: number
  idleMs: number
  bodyLookMs: number
  frontOf: FrontOf
  /** Logs a failed request and returns the reference that people see. */
  onFault(fault: { domain: string; page: PlainPage; error: Error }): string
}

export type FrontOf = (req: EdgeRequest, domain: EdgeDomain) => Front

export type Pass = (
  req: EdgeRequest,
  res: EdgeResponse,
  domain: EdgeDomain,
  verdict: Verdict,
  how?: PassHow,
) => void

type PassHow = {
  watch?: PassWatch | undefined
  /** For the whole head of the response, however slowly it comes; null: no limit for the whole. */
  headWithinMs?: number | null
}

/** Sees a response on its way, and may answer instead of it. */
export type PassWatch = {
  /** False: this response is not sent. */
  takes(head: AnswerHead): boolean
  data(part: Buffer): void
  end(): void
  /** Without a response, or with one that is not sent. True: it has answered. */
  instead(): boolean
}

/** Fewer passes through us are only a misconfiguration; more would be a loop. */
export const MAX_TIMES_THROUGH_US = 3

const BODY_AFTER_ANSWER_MS = 2_000

/** Idempotent (RFC 9110, section 9.2.2) and without a body. */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS'])
const EXPECTS_BODY = new Set(['POST', 'PUT', 'PATCH'])

/**
 * Streams requests and responses with back-pressure; when one side disconnects, so does the other. Errors before the
 * response give our 502 or 504 page. Later ones cut the connection, so that a partial response never looks complete.
 */
export function createPass(options: PassOptions): Pass {
  const { origins, answerWaitMs, idleMs, bodyLookMs, frontOf, onFault } = options

  return (req, res, domain, verdict, how) => {
    if (timesThroughUs(req.headers.via) >= MAX_TIMES_THROUGH_US) sendPlainPage(res, 'loop', verdict)
    else if (!lastHop(req, res, verdict)) attempt(false, req, res, domain, verdict, how)
  }

  function attempt(again: boolean, ...[req, res, domain, verdict, how = {}]: Parameters<Pass>): void {
    const { watch, headWithinMs = null } = how
    const front = frontOf(req, domain)
    const { body, framing } = bodyOf(req)
    const repeatable = body === 'none' && REPEATABLE.has(req.method ?? '')
    const named = requestIdHeader(req)
    const headers = [...requestHeaders(req, front, domain.origin, framing), ...named]
    const stream = createAnswerStream(res, () => call.resume())
    let begun = false

    const fail = (error: Error) => {
      clearTimeout(late)
      if (begun) return void res.destroy()
      if (res.destroyed) return
      // The origin closed an idle connection as it was reused.
      if (repeatable && !again && call.onKeptConnection && !call.isAnswered) {
        return attempt(true, req, res, domain, verdict, how)
      }
      if (watch?.instead() === true) return
      const page = pageFor(error)
      const reference = onFault({ domain: domain.name, page, error })
      // The rest of the body would be parsed as the next request.
      if (!req.complete) res.shouldKeepAlive = false
      sendPlainPage(res, page, verdict, reference)
    }

    const request = { method: req.method ?? 'GET', path: req.url ?? '/', headers, body, answerWaitMs, idleMs }
    const call = new OriginCall(request, {
      // HTTP/1.0 has no interim responses.
      continued: () => req.httpVersion !== '1.0' && res.writeContinue(),
      head(head) {
        clearTimeout(late)
        if (watch?.takes(head) === false) throw new NotTaken()
        writeHead(head)
        begun = true
        if (body !== 'none') res.on('finish', () => req.complete || endBody(req, call))
        stream.begin(head)
      },
      data(part) {
        watch?.data(part)
        return stream.data(part)
      },
      end(trailers) {
        watch?.end()
        stream.end(trailers)
      },
      ready: () => sendBody(req, call),
      drain: () => req.resume(),
      fail,
    })
    const late =
      headWithinMs === null ? undefined : setTimeout(() => call.destroy(new OriginSilent()), headWithinMs)
    res.on('close', () => {
      clearTimeout(late)
      if (!res.writableFinished) call.destroy()
    })
    origins.send(call, domain.origin, again ? 'none' : repeatable ? 'any' : 'lately')

    /** Throws on a status or header that Node cannot write. */
    function writeHead(head: AnswerHead): void {
      const list = [...responseHeaders(head, front, domain, verdict), ...named]
      const sent = mayBePage(list, req.url) ? withVary(list, varyOf(domain)) : list
      res.writeHead(head.statusCode, head.statusMessage, sent)
    }
  }

  function sendBody(req: EdgeRequest, call: OriginCall): void {
    req.on('error', () => call.destroy())
    req.on('data', (part: Buffer) => call.write(part) || req.pause())
    req.on('end', () => call.end(passedTrailers(req.rawTrailers)))
    watchBodyPace(req, call, bodyLookMs, () => call.destroy(new ClientSlow()))
  }
}

/** Headers by turns, name and value. A 304 has no type, but the `Vary` of its 200 (RFC 9110, section 15.4.5). */
function mayBePage(list: readonly string[], url = '/'): boolean {
  const at = list.findIndex((name, place) => place % 2 === 0 && name.toLowerCase() === 'content-type')
  return at === -1 ? !isAsset(url) : /^(?:text\/html|application\/xhtml\+xml)\b/i.test(list[at + 1] ?? '')
}

/** A cache in front must not give crawlers what the origin gave people. In one line: older nginx reads the last only. */
function withVary(list: string[], own: string): string[] {
  const isVary = (at: number) => list[at - (at % 2)]?.toLowerCase() === 'vary'
  const names = [...list.filter((_, at) => at % 2 === 1 && isVary(at)), own].join().split(/[\s,]+/)
  const unique = new Map(names.filter(Boolean).map((name) => [name.toLowerCase(), name]))
  if (unique.has('*')) return list
  return [...list.filter((_, at) => !isVary(at)), 'Vary', [...unique.values()].join(', ')]
}

class NotTaken extends Error {
  override name = 'NotTaken'
}

class ClientSlow extends Error {
  override name = 'ClientSlow'
}

export function pageFor(error: Error): PlainPage {
  if (error instanceof ClientSlow) return 'slow-request'
  const fault = error instanceof OriginSilent ? 'timed-out' : connectFault(error)
  if (fault === 'timed-out') return 'gateway-timeout'
  return fault === 'refused-address' ? 'refused-origin' : 'bad-gateway'
}

/** Ends the body after the response, with a short grace for its rest. */
function endBody(req: EdgeRequest, call: OriginCall): void {
  const late = setTimeout(() => {
    call.destroy()
    req.socket.destroy()
  }, BODY_AFTER_ANSWER_MS)
  req.once('close', () => clearTimeout(late))
}

function bodyOf(req: EdgeRequest): { body: RequestBody; framing: string[] } {
  // Node refuses requests with both headers.
  if (req.headers['transfer-encoding'] !== undefined) {
    return { body: 'chunks', framing: ['Transfer-Encoding', 'chunked'] }
  }
  const length = req.headers['content-length']
  if (length !== undefined) return { body: { bytes: Number(length) }, framing: ['Content-Length', length] }
  // Methods that expect a body need a length (RFC 9110, section 8.6).
  return { body: 'none', framing: EXPECTS_BODY.has(req.method ?? '') ? ['Content-Length', '0'] : [] }
}

/** TRACE would show clients headers meant for the origin; CONNECT is for open proxies. */
const NOT_PASSED = new Set(['TRACE', 'CONNECT'])

/** Handles refused methods, and OPTIONS whose Max-Forwards is 0 (RFC 9110, section 7.6.2). True: responded. */
function lastHop(req: EdgeRequest, res: EdgeResponse, verdict: string): boolean {
  if (NOT_PASSED.has(req.method ?? '')) {
    sendPlainPage(res, 'method-not-allowed', verdict)
    return true
  }
  const left = req.headers['max-forwards']
  if (req.method !== 'OPTIONS' || typeof left !== 'string' || !/^\d{1,9}$/.test(left)) return false
  if (Number(left) === 0) {
    res.writeHead(204, ['Allow', PASSED_METHODS, 'X-Prepaint', verdict])
    res.end()
    return true
  }
  const fewer = `${Number(left) - 1}`
  req.rawHeaders.forEach((text, at) => {
    if (at % 2 === 0 && text.toLowerCase() === 'max-forwards') req.rawHeaders[at + 1] = fewer
  })
  return false
}
