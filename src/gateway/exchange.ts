import type http from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'

import { HeadTooLarge } from '../outbound/client/answer-reader.ts'
import { OriginSilent, type RequestBody } from '../outbound/client/call.ts'
import type { OriginPool } from '../outbound/client/pool.ts'
import { type OriginResponse, type SentRequest, sendRequest } from '../outbound/client/request.ts'
import { type ConnectFault, connectFault } from '../outbound/guarded-connect.ts'
import { flatHeaders, GATEWAY_HEADER } from '../outbound/headers.ts'
import type { Origin } from '../outbound/origin.ts'
import type { EarlyRequest } from './preload/early-requests.ts'
import type { GatewayLimits, RequestCounts } from './request-counts.ts'

/** A request of the page: HTTP/1.1 or a stream of HTTP/2. */
export type PageRequest = http.IncomingMessage | Http2ServerRequest
export type PageResponse = http.ServerResponse | Http2ServerResponse

export type Upstream = {
  origin: Origin
  path: string
  headers: http.OutgoingHttpHeaders
  /** What the page is shown of the response's headers. */
  responseHeaders(raw: readonly string[]): http.OutgoingHttpHeaders
  /** `false`: the page is told that there is nothing to show. */
  judge?: ((status: number, headers: http.OutgoingHttpHeaders) => boolean) | undefined
  /** This very request, sent already. */
  early?: EarlyRequest | undefined
}

/** RFC 9110, section 9.2.2: may be sent twice. */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS'])
const MAX_RETRIES = 3

export type ExchangeDeps = { origins: OriginPool; limits: GatewayLimits; counts: RequestCounts }

/** A request of the page without a body. Throws on a path or header that no request can have. */
export function openUpstream(
  { origin, path, headers }: Pick<Upstream, 'origin' | 'path' | 'headers'>,
  { origins, limits }: Pick<ExchangeDeps, 'origins' | 'limits'>,
): SentRequest {
  return sendRequest(origins, origin, {
    ...{ method: 'GET', path, silenceMs: limits.idleTimeoutMs },
    headers: [...flatHeaders(headers), 'Connection', 'keep-alive'],
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
  new Exchange(request, response, upstream, deps).start()
}

class Exchange {
  readonly #request: PageRequest
  readonly #response: PageResponse
  readonly #upstream: Upstream
  readonly #deps: ExchangeDeps
  readonly #target: string
  readonly #framing: RequestBody
  #sent: SentRequest | null = null
  /** The page does not wait for it any more. */
  #isOver = false
  #late: NodeJS.Timeout | undefined

  constructor(request: PageRequest, response: PageResponse, upstream: Upstream, deps: ExchangeDeps) {
    this.#request = request
    this.#response = response
    this.#upstream = upstream
    this.#deps = deps
    this.#target = `${upstream.origin.hostname}:${upstream.origin.port}`
    this.#framing = framingOf(request)
  }

  start(): void {
    this.#late = setTimeout(
      () => this.#sent?.call.destroy(new OriginSilent()),
      this.#deps.limits.firstByteTimeoutMs,
    )
    // Fires also after a whole response, when there is nothing left to end.
    const end = () => {
      this.#isOver = true
      clearTimeout(this.#late)
      this.#sent?.call.destroy()
    }
    this.#response.once('close', end)
    this.#response.on('error', end)
    this.#request.on('error', end)
    try {
      this.#send(MAX_RETRIES, this.#upstream.early)
    } catch {
      // A path or header that no request can have.
      clearTimeout(this.#late)
      this.#deps.counts.refuse(this.#target, 'malformed')
      answer(this.#response, 400, 'malformed')
    }
  }

  #send(retriesLeft: number, early?: EarlyRequest): void {
    const sent = early?.sent ?? this.#open()
    this.#sent = sent
    sent.response.then(
      (received) => {
        clearTimeout(this.#late)
        if (this.#isOver) received.body.destroy()
        else this.#relay(received)
      },
      (error: Error) => {
        // The origin closed a kept connection just as it was used again: it never saw this request.
        const isUnseen = sent.call.onKeptConnection && !sent.call.isAnswered
        // An early request may have failed before the page asked. Not a time-out, which the page would wait for twice.
        const isEarly = early !== undefined
        const isWorthMore = (isUnseen || isEarly) && faultOf(error) !== 'timed-out' && !this.#isOver
        if (!isWorthMore || retriesLeft === 0 || !this.#isRepeatable) return this.#fail(error)
        early?.markWasted()
        this.#send(retriesLeft - 1)
      },
    )
  }

  get #isRepeatable(): boolean {
    return this.#framing === 'none' && REPEATABLE.has(this.#request.method ?? 'GET')
  }

  #open(): SentRequest {
    const { origin, path, headers } = this.#upstream
    const framing = this.#framing
    const { 'content-length': length, ...others } = headers
    const flat = [...flatHeaders(others), 'Connection', 'keep-alive']
    // The one framing that the next server cannot misread: a body without a length would be the next request.
    if (framing === 'chunks') flat.push('Transfer-Encoding', 'chunked')
    else if (framing !== 'none') flat.push('Content-Length', `${framing.bytes}`)
    else if (length !== undefined) flat.push('Content-Length', '0')
    return sendRequest(this.#deps.origins, origin, {
      ...{ method: this.#request.method ?? 'GET', path, headers: flat },
      silenceMs: this.#deps.limits.idleTimeoutMs,
      // An origin may close a kept connection just as it is used again, and it may have seen the request or not.
      keptUse: this.#isRepeatable ? 'any' : 'none',
      body: framing === 'none' ? null : { framing, content: this.#request },
    })
  }

  #fail(error: Error): void {
    clearTimeout(this.#late)
    if (this.#response.headersSent) return void cut(this.#response)
    countFault(error, this.#target, this.#deps.counts)
    const { status, why } = explainFault(error)
    answer(this.#response, status, why)
  }

  #relay(received: OriginResponse): void {
    const response = this.#response
    const { limits, counts } = this.#deps
    if ((received.bodyBytes ?? 0) > limits.responseBytes) {
      counts.refuse(this.#target, 'response-too-large')
      received.body.destroy()
      return void answer(response, 502, 'response-too-large')
    }
    if (received.rawHeaders.join('').length > limits.headerBytes) {
      received.body.destroy()
      return void answer(response, 502, 'headers-too-large')
    }
    try {
      const status = received.statusCode
      const headers = this.#upstream.responseHeaders(received.rawHeaders)
      if (this.#upstream.judge?.(status, headers) === false) {
        received.body.destroy()
        // RFC 9110, section 15.3.5: a browser stays where it is.
        writeHead(response, 204, {})
        response.end()
        return
      }
      writeHead(response, status, headers)
    } catch {
      received.body.destroy()
      return void answer(response, 502, 'malformed')
    }
    // Between the head and the first byte of a stream the page must not wait for a full buffer.
    if ('flushHeaders' in response) response.flushHeaders()

    const receive = counts.receiver(this.#target)
    const { body } = received
    body.on('data', (chunk: Buffer) => {
      if (!receive(chunk.length)) {
        body.destroy()
        cut(response)
        return
      }
      if (!write(response, chunk)) body.pause()
    })
    response.on('drain', () => body.resume())
    body.on('end', () => response.end())
    // Also when it ends before its length.
    body.on('error', () => cut(response))
  }
}

/** A response of the gateway's own; `why` is for the renderer, a page of another site cannot read it. */
export function answer(response: PageResponse, status: number, why: string): void {
  if (response.destroyed || response.writableEnded) return
  writeHead(response, status, {
    [GATEWAY_HEADER]: why,
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
  })
  response.end(`Prepaint gateway: ${why}\n`)
}

function faultOf(error: unknown): ConnectFault | null {
  return error instanceof OriginSilent ? 'timed-out' : connectFault(error)
}

/** The status and word for a request that got no response. */
export function explainFault(error: unknown): { status: number; why: string } {
  const fault = faultOf(error)
  if (fault === 'refused-address') return { status: 403, why: fault }
  if (fault === 'timed-out') return { status: 504, why: fault }
  if (error instanceof HeadTooLarge) return { status: 502, why: 'headers-too-large' }
  // Connected, but what came is not HTTP, or it broke off before the head was whole.
  return { status: 502, why: fault ?? 'broken-response' }
}

/** Counts a request that got no connection. */
export function countFault(error: unknown, target: string, counts: RequestCounts): void {
  const fault = faultOf(error)
  if (fault === 'refused-address') counts.refuse(target, fault)
  else if (fault !== null) counts.failConnect(fault)
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

function framingOf(request: PageRequest): RequestBody {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  const hasBody =
    'stream' in request ? !request.stream.endAfterHeaders : coding !== undefined || Number(length ?? 0) > 0
  if (!hasBody) return 'none'
  return length === undefined || coding !== undefined ? 'chunks' : { bytes: Number(length) }
}
