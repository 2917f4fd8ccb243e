import http from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import https from 'node:https'
import type { GuardedAgents } from '../outbound/guarded-agents.ts'
import { ConnectError } from '../outbound/guarded-connect.ts'
import { connectFault } from '../outbound/guarded-sockets.ts'
import { GATEWAY_HEADER } from '../outbound/headers.ts'
import type { Origin } from '../outbound/origin.ts'
import type { GatewayLimits } from './limits.ts'
import type { Underway } from './preload/preloads.ts'
import type { Tally } from './request-counts.ts'

/** A request of the page: HTTP/1.1 or a stream of HTTP/2. */
export type PageRequest = http.IncomingMessage | Http2ServerRequest
export type PageResponse = http.ServerResponse | Http2ServerResponse

export type Upstream = {
  origin: Origin
  path: string
  headers: http.OutgoingHttpHeaders
  /** What the page is shown of the response's headers. */
  responseHeaders(received: http.IncomingMessage): http.OutgoingHttpHeaders
  /** `false`: the page is told that there is nothing to show. */
  judge?: ((status: number, headers: http.OutgoingHttpHeaders) => boolean) | undefined
  /** This very request, sent already. */
  early?: Underway | undefined
}

/** RFC 9110, section 9.2.2: may be sent twice. */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS'])
const MAX_RETRIES = 3

export type ExchangeDeps = {
  agents: GuardedAgents
  /**
   * A connection of its own for each request that may not be sent twice: an origin may close a
   * kept connection just as it is used again, and nobody could tell whether it saw the request.
   */
  freshAgents: GuardedAgents
  limits: GatewayLimits
  tally: Tally
}

/** Opens the request to `upstream`; nothing is sent before its end or first body byte. Throws on an impossible path. */
export function openUpstream(
  method: string,
  { origin, path, headers }: Pick<Upstream, 'origin' | 'path' | 'headers'>,
  { agents, limits }: Pick<ExchangeDeps, 'agents' | 'limits'>,
): http.ClientRequest {
  const isSecure = origin.protocol === 'https:'
  return (isSecure ? https : http).request({
    agent: isSecure ? agents.https : agents.http,
    host: origin.hostname,
    port: origin.port,
    method,
    path,
    headers,
    setHost: false,
    maxHeaderSize: limits.headerBytes,
    timeout: limits.idleTimeoutMs,
  })
}

/**
 * One request of the page, fetched from `upstream` and streamed both ways as it
 * is. Ends with the page: a page that goes away ends the request upstream.
 */
export function exchange(
  request: PageRequest,
  response: PageResponse,
  upstream: Upstream,
  deps: ExchangeDeps,
): void {
  const { limits, tally } = deps
  const target = `${upstream.origin.hostname}:${upstream.origin.port}`
  const method = request.method ?? 'GET'
  const body = hasBody(request)
  const isRepeatable = !body && REPEATABLE.has(method)
  const agents = isRepeatable ? deps.agents : deps.freshAgents
  // Said, or node:http would give the connection to a request that waits for one.
  const closing = isRepeatable ? {} : { connection: 'close' }
  const framed = {
    ...upstream,
    headers: { ...withFraming(request, body, upstream.headers), ...closing },
  }
  let sent: http.ClientRequest | null = null
  /** Nobody waits for it any more. */
  let isOver = false

  const fail = (error: unknown) => {
    clearTimeout(late)
    if (response.headersSent) cut(response)
    else answerFault(response, target, error, tally)
  }
  const answered = (received: http.IncomingMessage) => {
    clearTimeout(late)
    relay(received, response, target, upstream, deps)
  }
  const send = (retriesLeft: number, early?: Underway) => {
    const attempt = early?.sent ?? openUpstream(method, framed, { agents, limits })
    sent = attempt
    attempt.on('timeout', () => attempt.destroy(new ConnectError('timed-out', target)))
    attempt.on('error', (error: NodeJS.ErrnoException) => {
      // The origin closed a kept connection just as it was used again: it never saw this request.
      const unseen = attempt.reusedSocket && error.code === 'ECONNRESET'
      // Sent before the page asked: what happened to it may be of before. Not a time-out, which the page would wait for twice.
      const isEarly = early !== undefined && connectFault(error) !== 'timed-out'
      const isWorthMore = (unseen || isEarly) && !isOver && !response.headersSent
      if (!isWorthMore || retriesLeft === 0 || !isRepeatable) return fail(error)
      early?.wasted()
      send(retriesLeft - 1)
    })
    if (early?.received) return answered(early.received)
    attempt.on('response', answered)
    if (body) request.pipe(attempt)
    else attempt.end()
  }
  const late = setTimeout(
    () => sent?.destroy(new ConnectError('timed-out', target)),
    limits.firstByteTimeoutMs,
  )
  // Fires also after a whole response; a request that is over does not mind.
  const end = () => {
    isOver = true
    clearTimeout(late)
    sent?.destroy()
  }
  response.once('close', end)
  response.on('error', end)
  request.on('error', end)
  try {
    send(MAX_RETRIES, upstream.early)
  } catch {
    // A path or header that node:http does not send.
    clearTimeout(late)
    tally.refuse(target, 'malformed')
    answer(response, 400, 'malformed')
  }
}

/** An answer of the gateway's own; `why` is for the renderer, a page of another site cannot read it. */
export function answer(response: PageResponse, status: number, why: string): void {
  if (response.destroyed || response.writableEnded) return
  writeHead(response, status, {
    [GATEWAY_HEADER]: why,
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
  })
  response.end(`Prepaint gateway: ${why}\n`)
}

/** The status and word for a request that got no response. */
export function faultOf(error: unknown): { status: number; why: string } {
  const fault = connectFault(error)
  if (fault === 'refused-address') return { status: 403, why: fault }
  if (fault === 'timed-out') return { status: 504, why: fault }
  if (error instanceof Error && 'code' in error && error.code === 'HPE_HEADER_OVERFLOW') {
    return { status: 502, why: 'headers-too-large' }
  }
  // Connected, but what came is not HTTP, or it broke off before the head was whole.
  return { status: 502, why: fault ?? 'broken-response' }
}

/** Counts a request that got no connection. */
export function tallyFault(error: unknown, target: string, tally: Tally): void {
  const fault = connectFault(error)
  if (fault === 'refused-address') tally.refuse(target, fault)
  else if (fault !== null) tally.failConnect(fault)
}

function answerFault(response: PageResponse, target: string, error: unknown, tally: Tally): void {
  tallyFault(error, target, tally)
  const { status, why } = faultOf(error)
  answer(response, status, why)
}

function relay(
  received: http.IncomingMessage,
  response: PageResponse,
  target: string,
  upstream: Upstream,
  { limits, tally }: ExchangeDeps,
): void {
  const length = Number(received.headers['content-length'] ?? 0)
  if (length > limits.responseBytes) {
    tally.refuse(target, 'response-too-large')
    received.destroy()
    answer(response, 502, 'response-too-large')
    return
  }
  try {
    const status = received.statusCode ?? 502
    const headers = upstream.responseHeaders(received)
    if (upstream.judge?.(status, headers) === false) {
      received.destroy()
      // RFC 9110, section 15.3.5: a browser stays where it is.
      writeHead(response, 204, {})
      response.end()
      return
    }
    writeHead(response, status, headers)
  } catch {
    received.destroy()
    answer(response, 502, 'malformed')
    return
  }
  // Between the head and the first byte of a stream the page must not wait for a full buffer.
  if ('flushHeaders' in response) response.flushHeaders()

  const receive = tally.receiver(target)
  received.on('data', (chunk: Buffer) => {
    if (!receive(chunk.length)) {
      received.destroy()
      cut(response)
      return
    }
    if (!write(response, chunk)) received.pause()
  })
  response.on('drain', () => received.resume())
  received.on('end', () => response.end())
  // Also when it ends before its length (node:http calls that aborted).
  received.on('error', () => cut(response))
}

/** Breaks a response off in a way that the page sees, so that half a file never counts as a whole one. */
function cut(response: PageResponse): void {
  if ('stream' in response) response.stream.close(0x2 /* INTERNAL_ERROR: RFC 9113, section 7 */)
  else response.destroy()
}

function writeHead(response: PageResponse, status: number, headers: http.OutgoingHttpHeaders): void {
  if ('stream' in response) response.writeHead(status, headers)
  else response.writeHead(status, headers)
}

function write(response: PageResponse, chunk: Buffer): boolean {
  return 'stream' in response ? response.write(chunk) : response.write(chunk)
}

/**
 * The one framing that the next server cannot misread: node:http would send the
 * body of a DELETE without a length as it is, and the origin would take it for
 * the next request.
 */
function withFraming(
  request: PageRequest,
  body: boolean,
  headers: http.OutgoingHttpHeaders,
): http.OutgoingHttpHeaders {
  const { 'content-length': length, ...others } = headers
  if (!body) return length === undefined ? others : { ...others, 'content-length': '0' }
  if (length === undefined || request.headers['transfer-encoding'] !== undefined) {
    return { ...others, 'transfer-encoding': 'chunked' }
  }
  return headers
}

function hasBody(request: PageRequest): boolean {
  if ('stream' in request) return !request.stream.endAfterHeaders
  return (
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
  )
}
