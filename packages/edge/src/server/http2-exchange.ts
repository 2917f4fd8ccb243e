import http, { type IncomingHttpHeaders } from 'node:http'
import { constants, type IncomingHttpHeaders as Http2Headers, type ServerHttp2Stream } from 'node:http2'
import { Readable, Writable } from 'node:stream'

import { HEADER_BYTES } from './connection-limits.ts'
import type { EdgeRequest, EdgeResponse, RequestHead, SendAnswer } from './exchange.ts'

/** The address of a client, in an object of its own, because the session forgets it when it closes. */
type Http2Peer = { remoteAddress: string | undefined; encrypted: true }

export function headerBytes(raw: readonly string[]): number {
  let bytes = 0
  for (const text of raw) bytes += text.length + 2
  return bytes
}

/**
 * Returns the head of a request without a body in which each header stands once. Returns null for any other request.
 * Writes `host` into Node's `headers`, because a copy would cost each hit.
 */
export function simpleHead(
  headers: Http2Headers,
  raw: readonly string[],
  socket: Http2Peer,
): RequestHead | null {
  const { ':method': method, ':path': url, ':authority': authority } = headers
  if ((method !== 'GET' && method !== 'HEAD') || url?.startsWith('/') !== true) return null
  if (authority === undefined || headers.host !== undefined || headerBytes(raw) > HEADER_BYTES) return null
  // Node joins what is repeated.
  for (let at = 0; at < raw.length; at += 2) if (headers[raw[at]!] !== raw[at + 1]) return null
  headers.host = authority
  return { method, url, headers, socket }
}

export function sendHit(stream: ServerHttp2Stream): SendAnswer {
  return ({ status, same, own, body }) => {
    // Node appends to the list it gets.
    stream.respond([':status', `${status}`, ...same.headers, ...own], { endStream: body === null })
    if (body !== null) stream.end(body)
    return stream
  }
}

export class Http2Request extends Readable implements EdgeRequest {
  readonly httpVersion = '2.0'
  readonly method: string
  url: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: string[]
  readonly rawTrailers: string[] = []
  readonly socket: EdgeRequest['socket']
  reading = false
  readonly #stream: ServerHttp2Stream
  readonly #bodiless: boolean
  #ended = false

  /** `raw`: Node's raw header list. `bodiless`: data on the stream is not read here. */
  constructor(stream: ServerHttp2Stream, raw: readonly string[], bodiless: boolean, peer: Http2Peer) {
    // Unread data stays in the stream, within its window.
    super({ highWaterMark: 0, autoDestroy: true })
    this.#stream = stream
    this.#bodiless = bodiless
    // A client may abort a body that is not read.
    this.on('error', () => {})
    const { pseudo, rawHeaders } = inWordsOfHttp1(raw)
    this.method = pseudo.get(':method') ?? ''
    this.url = pseudo.get(':path') ?? ''
    this.rawHeaders = rawHeaders
    this.headers = joined(rawHeaders)
    this.socket = {
      remoteAddress: peer.remoteAddress,
      encrypted: true,
      destroy: () => this.endStream(),
    }
    if (bodiless) {
      this.push(null)
      return
    }
    // Frames delimit the body here; the origin gets it chunked.
    if (this.headers['content-length'] === undefined) this.headers['transfer-encoding'] = 'chunked'
    stream.pause()
    stream.on('data', (part: Buffer) => {
      if (!this.#ended && !this.push(part)) stream.pause()
    })
    stream.on('trailers', (_headers, _flags, ...rest: unknown[]) => {
      if (Array.isArray(rest[0])) this.rawTrailers.push(...(rest[0] as string[]))
    })
    stream.once('end', () => {
      if (!this.#ended) this.push(null)
    })
    // A reset without an error closes a stream only after all data was read.
    stream.once('aborted', () => {
      this.#discard()
      this.destroy(new Error('The client broke off'))
    })
    stream.once('close', () => {
      if (!this.readableEnded) this.destroy(stream.aborted ? new Error('The client broke off') : undefined)
    })
  }

  get complete(): boolean {
    return this.#bodiless || this.readableEnded
  }

  endStream(): void {
    this.#discard()
    this.#stream.close(constants.NGHTTP2_NO_ERROR)
  }

  #discard(): void {
    this.#ended = true
    this.#stream.resume()
  }

  override _read(): void {
    this.reading = true
    this.#stream.resume()
  }
}

/** HTTP/2 has no reason phrases (RFC 9113, section 8.3.2). */
export class Http2Response extends Writable implements EdgeResponse {
  shouldKeepAlive = true
  statusCode = 200
  readonly req: EdgeResponse['req']
  handedBytes = 0
  readonly #stream: ServerHttp2Stream
  #trailers: [string, string][] = []

  constructor(stream: ServerHttp2Stream, req: EdgeResponse['req']) {
    // The stream handles back-pressure.
    super({ decodeStrings: true })
    this.#stream = stream
    this.req = req
    stream.on('error', () => {})
    stream.once('wantTrailers', () => {
      try {
        stream.sendTrailers(Object.fromEntries(grouped(this.#trailers)))
      } catch (error) {
        // Invalid headers from an origin must not end the node.
        stream.destroy(error as Error)
      }
    })
    const broken = () => {
      if (!this.writableFinished) this.destroy()
    }
    stream.once('close', broken).once('aborted', broken)
  }

  get headersSent(): boolean {
    return this.#stream.headersSent
  }

  writeHead(
    status: number,
    ...rest: [headers: string[]] | [reason: string | undefined, headers: string[]]
  ): this {
    if (this.#stream.destroyed || this.#stream.closed) return this
    if (status < 200 || status > 599) throw new RangeError(`HTTP/2 has no status ${status}`)
    this.statusCode = status
    const headers = rest.at(-1) as string[]
    for (let at = 0; at < headers.length; at += 2) http.validateHeaderValue(headers[at]!, headers[at + 1]!)
    // A known length means no trailers; waiting for them would cost a frame.
    const waitForTrailers = !headers.some(
      (text, at) => at % 2 === 0 && text.toLowerCase() === 'content-length',
    )
    // Node appends to the list it gets.
    this.#stream.respond([':status', `${status}`, ...headers], { waitForTrailers })
    return this
  }

  addTrailers(trailers: [string, string][]): void {
    for (const [name, value] of trailers) http.validateHeaderValue(name, value)
    this.#trailers = trailers
  }

  writeContinue(): void {
    const gone = this.#stream.destroyed || this.#stream.closed
    if (!gone && !this.headersSent) this.#stream.additionalHeaders({ ':status': 100 })
  }

  flushHeaders(): void {}

  /** Sends a complete body and the end in one frame. */
  override end(part?: unknown, encoding?: BufferEncoding | (() => void), done?: () => void): this {
    const whole = typeof part === 'string' || part instanceof Uint8Array
    if (!whole || this.writableLength > 0 || this.writableEnded || !this.headersSent) {
      return super.end(part, encoding as BufferEncoding, done)
    }
    if (!this.#stream.writableEnded) {
      this.handedBytes += part.length
      this.#stream.end(part)
    }
    return super.end(typeof encoding === 'function' ? encoding : done)
  }

  override _write(part: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#stream.writableEnded) {
      done()
      return
    }
    this.handedBytes += part.length
    this.#stream.write(part, done)
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#stream.destroyed || this.#stream.writableFinished) {
      done()
      return
    }
    this.#stream.once('finish', () => done())
    if (!this.#stream.writableEnded) this.#stream.end()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // Break off, so that a partial response never looks complete; `close` would end it normally.
    if (!this.#stream.writableFinished) this.#stream.destroy(error ?? new Error('broken off'))
    done(error)
  }
}

/**
 * `:authority` becomes `Host`; if both differ, both stay and the request is refused. Joins cookies (RFC 9113,
 * sections 8.2.3 and 8.3.1).
 */
function inWordsOfHttp1(raw: readonly string[]): { pseudo: Map<string, string>; rawHeaders: string[] } {
  const pseudo = new Map<string, string>()
  const rawHeaders: string[] = []
  const cookies: string[] = []
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!
    const value = raw[at + 1]!
    if (name.startsWith(':')) {
      pseudo.set(name, value)
      if (name === ':authority') rawHeaders.unshift('host', value)
    } else if (name === 'cookie') cookies.push(value)
    else if (name !== 'host' || pseudo.get(':authority') !== value) rawHeaders.push(name, value)
  }
  if (cookies.length > 0) rawHeaders.push('cookie', cookies.join('; '))
  return { pseudo, rawHeaders }
}

/** The only request headers of which Node keeps the first; others are joined. */
const FIRST_COUNTS = new Set([
  'host',
  'content-length',
  'content-type',
  'user-agent',
  'authorization',
  'referer',
])

function joined(raw: readonly string[]): IncomingHttpHeaders {
  const headers: IncomingHttpHeaders = Object.create(null)
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!
    const value = raw[at + 1]!
    const before = headers[name]
    if (before === undefined) headers[name] = value
    else if (!FIRST_COUNTS.has(name)) headers[name] = `${before}, ${value}`
  }
  return headers
}

function grouped(pairs: readonly [string, string][]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const [name, value] of pairs) {
    const lower = name.toLowerCase()
    const values = groups.get(lower)
    if (values === undefined) groups.set(lower, [value])
    else values.push(value)
  }
  return groups
}
