import type http from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import { type ConnectFault, connectFault } from '@prepaint/outbound'
import {
  HeadTooLarge,
  type OriginPool,
  type OriginResponse,
  OriginSilent,
  type RequestBody,
  type SentRequest,
  sendRequest,
} from '@prepaint/outbound/client'
import { flatHeaders, GATEWAY_HEADER } from '@prepaint/outbound/headers'
import type { EarlyRequest } from './preload/early-requests.ts'
import type { GatewayLimits } from './request-counts.ts'
import type { SiteTraffic } from './traffic.ts'

export type PageRequest = http.IncomingMessage | Http2ServerRequest
export type PageResponse = http.ServerResponse | Http2ServerResponse

export type Upstream = {
  origin: Origin
  path: string
  headers: http.OutgoingHttpHeaders
  responseHeaders(raw: readonly string[]): http.OutgoingHttpHeaders
  /** If it returns `false`, the page gets 204. */
  judge?: ((status: number, headers: http.OutgoingHttpHeaders) => boolean) | undefined
  early?: EarlyRequest | undefined
  /** Called when the browser gets the head of the response. */
  begun?: (() => void) | undefined
}

/** These methods are idempotent (RFC 9110, section 9.2.2). */
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS'])
const MAX_RETRIES = 3

/** Sends a request without a body. Throws on an invalid path or header. */
export function openUpstream(
  { origin, path, headers }: Pick<Upstream, 'origin' | 'path' | 'headers'>,
  origins: OriginPool,
  limits: GatewayLimits,
): SentRequest {
  return sendRequest(origins, origin, {
    method: 'GET',
    path,
    silenceMs: limits.idleTimeoutMs,
    headers: [...flatHeaders(headers), 'Connection', 'keep-alive'],
  })
}

/** Streams one request to `upstream` and its response back. When the page disconnects, the upstream request ends. */
export function exchange(
  request: PageRequest,
  response: PageResponse,
  upstream: Upstream,
  traffic: SiteTraffic,
): void {
  new Exchange(request, response, upstream, traffic).start()
}

class Exchange {
  readonly #request: PageRequest
  readonly #response: PageResponse
  readonly #upstream: Upstream
  readonly #traffic: SiteTraffic
  readonly #framing: RequestBody
  #sent: SentRequest | null = null
  #isOver = false
  #late: NodeJS.Timeout | undefined

  constructor(request: PageRequest, response: PageResponse, upstream: Upstream, traffic: SiteTraffic) {
    this.#request = request
    this.#response = response
    this.#upstream = upstream
    this.#traffic = traffic
    this.#framing = framingOf(request)
  }

  start(): void {
    this.#late = setTimeout(
      () => this.#sent?.call.destroy(new OriginSilent()),
      this.#traffic.limits.firstByteTimeoutMs,
    )
    // Also fires after a complete response.
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
      clearTimeout(this.#late)
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
        // The origin closed a reused connection and never saw this request.
        const isUnseen = sent.call.onKeptConnection && !sent.call.isAnswered
        // An early request may have failed before the page asked. Do not retry timeouts.
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
    // Chunked is unambiguous: a body without a length would be read as the next request.
    if (framing === 'chunks') flat.push('Transfer-Encoding', 'chunked')
    else if (framing !== 'none') flat.push('Content-Length', `${framing.bytes}`)
    else if (length !== undefined) flat.push('Content-Length', '0')
    return sendRequest(this.#traffic.origins, origin, {
      method: this.#request.method ?? 'GET',
      path,
      headers: flat,
      silenceMs: this.#traffic.limits.idleTimeoutMs,
      // An origin may close a reused connection after seeing the request.
      keptUse: this.#isRepeatable ? 'any' : 'none',
      body: framing === 'none' ? null : { framing, content: this.#request },
    })
  }

  #fail(error: Error): void {
    clearTimeout(this.#late)
    if (this.#response.headersSent) {
      cut(this.#response)
      return
    }
    const { status, why } = explainFault(error)
    answer(this.#response, status, why)
  }

  #relay(received: OriginResponse): void {
    const response = this.#response
    const { limits, counts } = this.#traffic
    // A browser would take it for the gateway's own question, and forget its credentials.
    if (received.statusCode === 407 && 'proxy-authorization' in this.#request.headers) {
      received.body.destroy()
      answer(response, 502, 'proxy-status')
      return
    }
    if ((received.bodyBytes ?? 0) > limits.responseBytes) {
      counts.exceed('response-bytes')
      received.body.destroy()
      answer(response, 502, 'response-too-large')
      return
    }
    if (received.rawHeaders.join('').length > limits.headerBytes) {
      received.body.destroy()
      answer(response, 502, 'headers-too-large')
      return
    }
    try {
      const status = received.statusCode
      const headers = this.#upstream.responseHeaders(received.rawHeaders)
      if (this.#upstream.judge?.(status, headers) === false) {
        received.body.destroy()
        // RFC 9110, section 15.3.5: the browser stays on its page.
        writeHead(response, 204, {})
        response.end()
        return
      }
      writeHead(response, status, headers)
    } catch {
      received.body.destroy()
      answer(response, 502, 'malformed')
      return
    }
    // Send the head now: a stream's first bytes may come much later.
    if ('flushHeaders' in response) response.flushHeaders()
    this.#upstream.begun?.()

    const receive = counts.receiver()
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
    body.on('error', () => cut(response))
  }
}

/** A response of the gateway itself. `why` is for the renderer; pages of other sites cannot read it. */
export function answer(
  response: PageResponse,
  status: number,
  why: string,
  headers: http.OutgoingHttpHeaders = {},
): void {
  if (response.destroyed || response.writableEnded) return
  writeHead(response, status, {
    ...headers,
    [GATEWAY_HEADER]: why,
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
  })
  response.end(`Prepaint gateway: ${why}\n`)
}

function faultOf(error: unknown): ConnectFault | null {
  return error instanceof OriginSilent ? 'timed-out' : connectFault(error)
}

export function explainFault(error: unknown): { status: number; why: string } {
  const fault = faultOf(error)
  if (fault === 'refused-address') return { status: 403, why: fault }
  if (fault === 'timed-out') return { status: 504, why: fault }
  if (error instanceof HeadTooLarge) return { status: 502, why: 'headers-too-large' }
  // Connected, but the response is not HTTP or has an incomplete head.
  return { status: 502, why: fault ?? 'broken-response' }
}

/** Breaks the response off visibly, so that a partial file never looks complete. */
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
