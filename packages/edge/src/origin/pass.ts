import type { Verdict } from '@prepaint/contract/outcome/verdict.ts'
import { isAsset } from '@prepaint/contract/page/path.ts'
import { connectFault } from '@prepaint/outbound'
import {
  type AnswerHead,
  OriginCall,
  type OriginPool,
  OriginSilent,
  type RequestBody,
  type TakeCall,
} from '@prepaint/outbound/client'
import { type Front, passedTrailers, requestHeaders, responseHeaders } from '@prepaint/outbound/headers'
import { requestIdHeader } from '@prepaint/runtime/http/request-id.ts'
import { PASSED_METHODS, type PlainPage, type sendPlainPage } from '../page/plain-page.ts'
import { varyOf } from '../page/send-page.ts'
import { timesThroughUs } from '../request/decide.ts'
import type { EdgeDomain } from '../request/domain.ts'
import type { EdgeRequest, EdgeResponse } from '../server/exchange.ts'
import { AnswerStream, watchBodyPace } from './stream-answer.ts'

export type PassOptions = {
  origins: OriginPool
  answerWaitMs: number
  idleMs: number
  bodyLookMs: number
  frontOf: FrontOf
  /** Sends a page of our own instead of the origin's response. */
  sendOwn: SendOwn
  /** Logs a failed request and returns the reference that people see. */
  onFault(fault: { domain: string; page: PlainPage; error: Error }): string
}

/** Sends a page of our own, or to a site's front the refusal that stands for it. */
export type SendOwn = typeof sendPlainPage

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
  /** Limits the time until the whole head of the response is there; null sets no such limit. */
  headWithinMs?: number | null
}

/** A watch sees a response on its way, and may answer instead of it. */
export type PassWatch = {
  /** Returns false if this response shall not be sent. */
  takes(head: AnswerHead): boolean
  data(part: Buffer): void
  end(): void
  /** Called if there is no response, or one that is not sent. Returns whether the watch has answered. */
  instead(): boolean
}

/** Fewer passes through us are only a misconfiguration; more would be a loop. */
export const MAX_TIMES_THROUGH_US = 3

const BODY_AFTER_ANSWER_MS = 2_000

/** These methods are idempotent (RFC 9110, section 9.2.2) and have no body. */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS'])
const EXPECTS_BODY = new Set(['POST', 'PUT', 'PATCH'])

/**
 * Streams requests and responses with back-pressure; when one side disconnects, so does the other. Errors before the
 * response give our 502 or 504 page. Later ones cut the connection, so that a partial response never looks complete.
 */
export function createPass(options: PassOptions): Pass {
  return (req, res, domain, verdict, how = {}) => {
    if (timesThroughUs(req.headers.via) >= MAX_TIMES_THROUGH_US) options.sendOwn(res, 'loop', verdict)
    else if (NOT_PASSED.has(req.method ?? '')) options.sendOwn(res, 'method-not-allowed', verdict)
    else if (isLastHop(req)) sendMethods(res, verdict)
    else new Attempt(options, { req, res, domain, verdict, how }).start()
  }
}

type Passed = { req: EdgeRequest; res: EdgeResponse; domain: EdgeDomain; verdict: Verdict; how: PassHow }

/** One try to get the origin's response. The origin's client calls its methods. */
class Attempt implements TakeCall {
  readonly #options: PassOptions
  readonly #passed: Passed
  readonly #front: Front
  readonly #requestId: readonly string[]
  readonly #mayRepeat: boolean
  readonly #isSecond: boolean
  readonly #call: OriginCall
  readonly #stream: AnswerStream
  #hasBegun = false
  #late: NodeJS.Timeout | undefined

  /** Throws on invalid characters in the request. */
  constructor(options: PassOptions, passed: Passed, isSecond = false) {
    const { req, res, domain } = passed
    const { answerWaitMs, idleMs } = options
    const { body, framing } = bodyOf(req)
    this.#options = options
    this.#passed = passed
    this.#isSecond = isSecond
    this.#front = options.frontOf(req, domain)
    this.#requestId = requestIdHeader(req)
    this.#mayRepeat = body === 'none' && REPEATABLE.has(req.method ?? '')
    const headers = requestHeaders(req, this.#front, domain.origin, framing)
    countForwardsDown(req, headers)
    headers.push(...this.#requestId)
    const request = { method: req.method ?? 'GET', path: req.url ?? '/', headers, body, answerWaitMs, idleMs }
    this.#call = new OriginCall(request, this)
    this.#stream = new AnswerStream(res, () => this.#call.resume())
  }

  start(): void {
    const { res, domain, how } = this.#passed
    const { headWithinMs = null } = how
    if (headWithinMs !== null) {
      this.#late = setTimeout(() => this.#call.destroy(new OriginSilent()), headWithinMs)
    }
    res.on('close', () => {
      clearTimeout(this.#late)
      if (!res.writableFinished) this.#call.destroy()
    })
    this.#options.origins.send(this.#call, domain.origin, this.#keptConnections())
  }

  continued(): void {
    const { req, res } = this.#passed
    // HTTP/1.0 has no interim responses.
    if (req.httpVersion !== '1.0') res.writeContinue()
  }

  /** Throws on a status or header that Node cannot write, which fails the call. */
  head(head: AnswerHead): void {
    const { req, res, domain, verdict, how } = this.#passed
    clearTimeout(this.#late)
    if (how.watch?.takes(head) === false) throw new NotTaken()
    const headers = responseHeaders(head, this.#front, domain, verdict)
    headers.push(...this.#requestId)
    if (mayBePage(headers, req.url)) addVary(headers, varyOf(domain))
    res.writeHead(head.statusCode, head.statusMessage, headers)
    this.#hasBegun = true
    if (this.#call.request.body !== 'none') {
      res.on('finish', () => {
        if (!req.complete) endBody(req, this.#call)
      })
    }
    this.#stream.begin(head)
  }

  data(part: Buffer): boolean {
    this.#passed.how.watch?.data(part)
    return this.#stream.data(part)
  }

  end(trailers: string[]): void {
    this.#passed.how.watch?.end()
    this.#stream.end(trailers)
  }

  /** The origin can be sent the body. */
  ready(): void {
    const { req } = this.#passed
    const call = this.#call
    req.on('error', () => call.destroy())
    req.on('data', (part: Buffer) => {
      if (!call.write(part)) req.pause()
    })
    req.on('end', () => call.end(passedTrailers(req.rawTrailers)))
    watchBodyPace(req, call, this.#options.bodyLookMs, () => call.destroy(new ClientSlow()))
  }

  drain(): void {
    this.#passed.req.resume()
  }

  fail(error: Error): void {
    const { req, res, domain, verdict, how } = this.#passed
    clearTimeout(this.#late)
    if (this.#hasBegun) {
      res.destroy()
      return
    }
    if (res.destroyed) return
    // The origin closed an idle connection as it was reused.
    const wasClosed = this.#call.onKeptConnection && !this.#call.isAnswered
    if (this.#mayRepeat && !this.#isSecond && wasClosed) {
      new Attempt(this.#options, this.#passed, true).start()
      return
    }
    if (how.watch?.instead() === true) return
    const page = pageFor(error)
    const reference = this.#options.onFault({ domain: domain.name, page, error })
    // The rest of the body would be parsed as the next request.
    if (!req.complete) res.shouldKeepAlive = false
    this.#options.sendOwn(res, page, verdict, reference)
  }

  /** A request that may not be sent twice needs a connection that the origin has hardly closed meanwhile. */
  #keptConnections(): 'none' | 'any' | 'lately' {
    if (this.#isSecond) return 'none'
    return this.#mayRepeat ? 'any' : 'lately'
  }
}

/**
 * Returns whether the response, with these names and values by turns, may be a page. A 304 has no type, but the `Vary` of
 * its 200 (RFC 9110, section 15.4.5).
 */
function mayBePage(list: readonly string[], url = '/'): boolean {
  const type = firstValue(list, 'content-type')
  return type === null ? !isAsset(url) : /^(?:text\/html|application\/xhtml\+xml)\b/i.test(type)
}

/** Returns the first value, or null. Allocates nothing for names of another length. */
function firstValue(list: readonly string[], name: string): string | null {
  for (let at = 0; at < list.length; at += 2) {
    if (list[at]!.length === name.length && list[at]!.toLowerCase() === name) return list[at + 1]!
  }
  return null
}

/**
 * Adds `own` to `Vary`, because a cache in front must not give crawlers what the origin gave people. Joins all into one
 * line: older nginx reads the last only.
 */
function addVary(list: string[], own: string): void {
  if (firstValue(list, 'vary') === null) {
    list.push('Vary', own)
    return
  }
  const isVary = (at: number) => list[at - (at % 2)]?.toLowerCase() === 'vary'
  const names = [...list.filter((_, at) => at % 2 === 1 && isVary(at)), own].join().split(/[\s,]+/)
  const unique = new Map(names.filter(Boolean).map((name) => [name.toLowerCase(), name]))
  if (unique.has('*')) return
  const others = list.filter((_, at) => !isVary(at))
  list.splice(0, list.length, ...others, 'Vary', [...unique.values()].join(', '))
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
  if (length !== undefined) {
    // An empty body has no bytes that could end it.
    const bytes = Number(length)
    return { body: bytes === 0 ? 'none' : { bytes }, framing: ['Content-Length', length] }
  }
  // Methods that expect a body need a length (RFC 9110, section 8.6).
  return { body: 'none', framing: EXPECTS_BODY.has(req.method ?? '') ? ['Content-Length', '0'] : [] }
}

/** TRACE would show clients headers meant for the origin; CONNECT is for open proxies. */
const NOT_PASSED = new Set(['TRACE', 'CONNECT'])

/** Returns how many more hops OPTIONS may take (RFC 9110, section 7.6.2), or null if the request sets no limit. */
function forwardsLeft({ method, headers }: EdgeRequest): number | null {
  const left = headers['max-forwards']
  if (method !== 'OPTIONS' || typeof left !== 'string' || !/^\d{1,9}$/.test(left)) return null
  return Number(left)
}

function isLastHop(req: EdgeRequest): boolean {
  return forwardsLeft(req) === 0
}

/** Counts `Max-Forwards` down in `headers`, a list of names and values by turns. */
function countForwardsDown(req: EdgeRequest, headers: string[]): void {
  const left = forwardsLeft(req)
  if (left === null) return
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at]!.toLowerCase() === 'max-forwards') headers[at + 1] = `${left - 1}`
  }
}

/** Answers OPTIONS in place of the origin. */
function sendMethods(res: EdgeResponse, verdict: Verdict): void {
  res.writeHead(204, ['Allow', PASSED_METHODS, 'X-Prepaint', verdict])
  res.end()
}
