import { EventEmitter } from 'node:events'
import http, { type IncomingHttpHeaders } from 'node:http'
import { constants, type IncomingHttpHeaders as Http2Headers, type ServerHttp2Stream } from 'node:http2'
import { Readable } from 'node:stream'
import { BodilessRequest } from './bodiless-request.ts'
import type { EdgeRequest, EdgeResponse, RequestHead, SendAnswer } from './exchange.ts'

/** The address of a client, in an object of its own, because the session forgets it when it closes. */
type Http2Peer = { remoteAddress: string | undefined; encrypted: true }

/** The length of all headers, before any string is made of them: each part of a cookie counts as long as it stands for. */
export function headerBytes(raw: readonly string[]): number {
  let bytes = 0
  for (const text of raw) bytes += text.length + 2
  return bytes
}

/** The number of fields. The parts of a cookie are one (RFC 9113, section 8.2.3). */
export function headerFields(raw: readonly string[]): number {
  let fields = 0
  let hasCookie = false
  for (let at = 0; at < raw.length; at += 2) {
    if (raw[at] !== 'cookie') fields++
    else hasCookie = true
  }
  return hasCookie ? fields + 1 : fields
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
  if (authority === undefined || headers.host !== undefined) return null
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

/** Returns the request. `raw`: Node's raw header list. `isBodiless`: data on the stream is not read. */
export function http2Request(
  stream: ServerHttp2Stream,
  raw: readonly string[],
  isBodiless: boolean,
  { remoteAddress }: Http2Peer,
): BodilessRequest | Http2Request {
  const { pseudo, rawHeaders } = inWordsOfHttp1(raw)
  const head = {
    httpVersion: '2.0',
    method: pseudo.get(':method') ?? '',
    url: pseudo.get(':path') ?? '',
    headers: joined(rawHeaders),
    rawHeaders,
  }
  if (!isBodiless) return new Http2Request(stream, head, remoteAddress)
  const destroy = () => endUnread(stream)
  return new BodilessRequest({ ...head, socket: { remoteAddress, encrypted: true, destroy } })
}

/** Ends a stream whose data is not wanted. */
function endUnread(stream: ServerHttp2Stream): void {
  stream.resume()
  stream.close(constants.NGHTTP2_NO_ERROR)
}

type ReadHead = { method: string; url: string; headers: IncomingHttpHeaders; rawHeaders: string[] }

/** A request with a body. */
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
  #ended = false

  constructor(
    stream: ServerHttp2Stream,
    { method, url, headers, rawHeaders }: ReadHead,
    remoteAddress: string | undefined,
  ) {
    // Unread data stays in the stream, within its window.
    super({ highWaterMark: 0, autoDestroy: true })
    this.#stream = stream
    // A client may abort a body that is not read.
    this.on('error', () => {})
    this.method = method
    this.url = url
    this.rawHeaders = rawHeaders
    this.headers = headers
    this.socket = { remoteAddress, encrypted: true, destroy: () => this.endStream() }
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
    return this.readableEnded
  }

  endStream(): void {
    this.#ended = true
    endUnread(this.#stream)
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

/** Writes to the stream of the session, which handles back-pressure. HTTP/2 has no reason phrases (RFC 9113, section 8.3.2). */
export class Http2Response extends EventEmitter implements EdgeResponse {
  shouldKeepAlive = true
  statusCode = 200
  readonly req: EdgeResponse['req']
  handedBytes = 0
  destroyed = false
  closed = false
  writableFinished = false
  readonly #stream: ServerHttp2Stream
  #trailers: [string, string][] = []
  #isRefused = false

  constructor(stream: ServerHttp2Stream, req: EdgeResponse['req']) {
    super()
    this.#stream = stream
    this.req = req
    stream
      .once('finish', () => this.#end(true))
      .once('close', () => this.#end(false))
      .once('aborted', () => this.destroy())
  }

  get headersSent(): boolean {
    return this.#stream.headersSent
  }

  get isRefused(): boolean {
    return this.#isRefused
  }

  writeHead(
    status: number,
    ...rest: [headers: string[]] | [reason: string | undefined, headers: string[]]
  ): this {
    const stream = this.#stream
    if (stream.destroyed || stream.closed) return this
    if (status < 200 || status > 599) throw new RangeError(`HTTP/2 has no status ${status}`)
    this.statusCode = status
    const headers = rest.at(-1) as string[]
    // A known length means no trailers; waiting for them would cost a frame.
    let waitForTrailers = true
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at]!
      http.validateHeaderValue(name, headers[at + 1]!)
      if (name.length === LENGTH.length && name.toLowerCase() === LENGTH) waitForTrailers = false
    }
    // Node appends to the list it gets.
    stream.respond([':status', `${status}`, ...headers], { waitForTrailers })
    if (waitForTrailers) stream.once('wantTrailers', () => this.#sendTrailers())
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

  refuse(): void {
    if (this.headersSent) return
    // Destroying the stream would end it with another code.
    this.#isRefused = true
    this.#stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  }

  write(part: Buffer | string): boolean {
    const stream = this.#stream
    if (this.destroyed || stream.writableEnded) return true
    this.handedBytes += Buffer.byteLength(part)
    if (stream.write(part)) return true
    stream.once('drain', () => this.emit('drain'))
    return false
  }

  end(part?: Buffer | string): this {
    const stream = this.#stream
    if (this.destroyed || stream.writableEnded) return this
    if (part !== undefined) this.handedBytes += Buffer.byteLength(part)
    // A complete body and the end go into one frame.
    stream.end(part)
    return this
  }

  /** Breaks off, so that a partial response never looks complete; `close` would end it normally. */
  destroy(error = new Error('broken off')): this {
    const isWhole = this.#stream.writableFinished || this.#isRefused
    if (!isWhole) this.#stream.destroy(error)
    this.#end(false)
    return this
  }

  #sendTrailers(): void {
    try {
      this.#stream.sendTrailers(Object.fromEntries(grouped(this.#trailers)))
    } catch (error) {
      // Invalid headers from an origin must not end the node.
      this.#stream.destroy(error as Error)
    }
  }

  #end(isFinished: boolean): void {
    if (this.closed) return
    this.closed = true
    this.destroyed = true
    this.writableFinished = isFinished
    if (isFinished) this.emit('finish')
    this.emit('close')
  }
}

const LENGTH = 'content-length'

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
