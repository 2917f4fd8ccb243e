import { randomBytes } from 'node:crypto'
import http from 'node:http'
import http2 from 'node:http2'
import type net from 'node:net'
import tls, { type SecureContext } from 'node:tls'
import type { Clock } from '../../clock.ts'
import type { Handshake } from '../origin/upgrade.ts'
import { pageMessage, sendPlainPage } from '../page/plain-page.ts'
import { createSessionWatch, HEADER_BYTES, HTTP2_LIMITS, mayWait } from './connection-limits.ts'
import type { EdgeRequest, EdgeResponse, RequestHead } from './exchange.ts'
import { createHitLane, type HitLane, type HitLaneOptions, type SendAnswer } from './fast-lane.ts'
import { Http2Request, Http2Response } from './http2-exchange.ts'

/** Handle requests of both versions of HTTP. */
type EdgeHandlers = {
  request(req: EdgeRequest, res: EdgeResponse): void
  /** Of HTTP/1.1. False: it is no hit, and goes to `request`. Absent: there are no hits. */
  readyHit?(req: RequestHead, send: SendAnswer): boolean
  /** A WebSocket handshake, over HTTP/1.1 only. */
  upgrade(handshake: Handshake): void
}

/** Certificates by the client's SNI, as it was sent. */
export type EdgeTls = {
  /** null: there is none, and the handshake fails. `protocol`: what `alpn` has chosen before. */
  contextFor(
    serverName: string,
    protocol: string | null,
  ): SecureContext | null | Promise<SecureContext | null>
  /**
   * Takes a protocol other than HTTP (`acme-tls/1`), with the certificate for it
   * where that is in memory; the connection ends behind the handshake.
   */
  alpn?(
    serverName: string,
    protocols: readonly string[],
  ): { protocol: string; context: SecureContext | null } | null
}

type ServerOptions = {
  clock: Clock
  /** For a whole request head, from its connection or the answer before it on. */
  headersMs: number
  /** Connections that have not read any of their answer for this long are closed. */
  idleMs: number
  /** A connection without a request is closed after this time. */
  keepAliveMs: number
}

export type EdgeServers = {
  /** HTTP/1.1. Not yet listening. Also serves connections of `secure` that chose HTTP/1.1. */
  plain: http.Server
  /** TLS with HTTP/2 and HTTP/1.1. Not yet listening; null without certificates. */
  secure: tls.Server | null
  /**
   * For the end: every answer that begins from now on says that it is the last of its
   * connection, and clients of HTTP/2 get a GOAWAY at once. Open requests are answered.
   */
  endSessions(): void
}

/** How often node checks for connections past their time limits; its default is every 30 s. */
const LOOKS_PER_LIMIT = 5
const HANDSHAKE_MS = 10_000

/** TLS 1.3, and what of TLS 1.2 has forward secrecy and authenticated encryption (RFC 9325, section 4.2). */
const TLS_OPTIONS: tls.TlsOptions = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
  honorCipherOrder: true,
  handshakeTimeout: HANDSHAKE_MS,
}

/** The servers that clients connect to. One server reads all HTTP/1.1, with and without TLS: the limits are the same. */
export function createEdgeServers(
  handlers: EdgeHandlers,
  certificates: EdgeTls | null,
  options: ServerOptions,
): EdgeServers {
  const { server: plain, lastAnswers } = createPlain(handlers, options)
  if (certificates === null) return { plain, secure: null, endSessions: lastAnswers }

  const sessions = http2.createServer(HTTP2_LIMITS)
  const watch = createSessionWatch(options)
  sessions.on('session', (session) => {
    const peer = { remoteAddress: session.socket.remoteAddress }
    watch.session(session)
    // With a listener of its own, node makes no requests and responses.
    session.on('stream', (...given) => {
      const [stream, headers, flags] = given
      const raw = rawOf(given)
      stream.on('error', () => {})
      // CONNECT is refused: what follows it is no body.
      const bodiless = (flags & END_STREAM) !== 0 || headers[':method'] === 'CONNECT'
      const req = new Http2Request(stream, raw, bodiless, peer)
      const res = new Http2Response(stream, req)
      watch.stream(stream, req, res)
      if (headerBytes(raw) > HEADER_BYTES) sendPlainPage(res, 'headers-too-large', 'none; headers-too-large')
      else if (req.method !== 'CONNECT') handlers.request(req, res)
      else sendPlainPage(res, 'method-not-allowed', 'none; method')
    })
  })

  // OpenSSL asks for the protocol first and for the certificate then in TLS 1.3, in TLS 1.2 the other way round.
  const others = new WeakMap<tls.TLSSocket, string>()
  const secure = tls.createServer({
    ...TLS_OPTIONS,
    SNICallback(this: tls.TLSSocket, name, done) {
      const finding = async () => certificates.contextFor(name, others.get(this) ?? null)
      finding().then(
        // Without a certificate the handshake fails with an alert.
        (context) => done(null, context ?? undefined),
        (error: Error) => done(error),
      )
    },
    ALPNCallback(this: tls.TLSSocket, { servername, protocols }) {
      // `servername` is false without SNI, which its type does not say.
      const other = certificates.alpn?.(servername || '', protocols) ?? null
      if (other !== null) {
        others.set(this, other.protocol)
        if (other.context !== null) this.setKeyCert(other.context)
        return other.protocol
      }
      return ['h2', 'http/1.1'].find((protocol) => protocols.includes(protocol))
    },
  })
  secure.on('secureConnection', (socket) => {
    socket.on('error', () => socket.destroy())
    if (socket.alpnProtocol === 'h2') sessions.emit('connection', socket)
    else if (socket.alpnProtocol === false || socket.alpnProtocol === 'http/1.1')
      plain.emit('connection', socket)
    else socket.end()
  })
  secure.on('tlsClientError', (_error, socket) => socket.destroy())
  const endSessions = () => {
    lastAnswers()
    watch.endAll()
  }
  return { plain, secure, endSessions }
}

const END_STREAM = http2.constants.NGHTTP2_FLAG_END_STREAM

/** As in HTTP/1.1. */
function headerBytes(raw: readonly string[]): number {
  return raw.reduce((sum, text) => sum + text.length + 2, 0)
}

/** Node gives the list of a stream's headers as they came, which its types do not say. */
function rawOf(given: readonly unknown[]): string[] {
  const raw = given[3]
  return Array.isArray(raw) ? raw.map(String) : []
}

type Headers = http.OutgoingHttpHeaders | http.OutgoingHttpHeader[]

/** A server whose connections begin in the fast lane. */
class LaneServer<Answer extends typeof http.ServerResponse<http.IncomingMessage>> extends http.Server<
  typeof http.IncomingMessage,
  Answer
> {
  #lane: HitLane | null = null

  openLane(options: Omit<HitLaneOptions, 'handOver'>): HitLane {
    const nodes = this.listeners('connection')
    this.removeAllListeners('connection')
    const lane = createHitLane({
      ...options,
      handOver: (socket) => {
        for (const take of nodes) take.call(this, socket)
      },
    })
    this.on('connection', lane.take)
    this.#lane = lane
    return lane
  }

  override closeIdleConnections(): void {
    this.#lane?.closeIdle()
    super.closeIdleConnections()
  }

  override closeAllConnections(): void {
    this.#lane?.closeAll()
    super.closeAllConnections()
  }
}

function createPlain(
  handlers: EdgeHandlers,
  options: ServerOptions,
): { server: http.Server; lastAnswers(): void } {
  const { headersMs, idleMs, keepAliveMs } = options
  let ending = false
  class Answer extends http.ServerResponse {
    override writeHead(status: number, reason?: string, headers?: Headers): this
    override writeHead(status: number, headers?: Headers): this
    override writeHead(status: number, reason?: string | Headers, headers?: Headers): this {
      if (ending) this.shouldKeepAlive = false
      return typeof reason === 'string'
        ? super.writeHead(status, reason, headers)
        : super.writeHead(status, reason ?? headers)
    }
  }
  const server = new LaneServer({
    ServerResponse: Answer,
    keepAliveTimeout: keepAliveMs,
    headersTimeout: headersMs,
    connectionsCheckingInterval: headersMs / LOOKS_PER_LIMIT,
    // Uploads may take as long as they move, see `body-pace.ts`.
    requestTimeout: 0,
    // `Upgrade: h2c` and the like are ignored, as anybody may (RFC 9110, section 7.8).
    // Nearly all requests have no body: no stream is made for them.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: (req) => req.headers.upgrade?.toLowerCase() === 'websocket',
  })
  const lane = server.openLane({ headersMs, idleMs, keepAliveMs, answer: handlers.readyHit ?? (() => false) })
  // Close connections that have not read any of the response for `idleMs`.
  server.setTimeout(idleMs)
  server.on('request', (req, res) => {
    if (mayWait(req, res)) handlers.request(req, res)
    else req.socket.destroy()
  })
  // The origin says whether it wants the body.
  server.on('checkContinue', handlers.request)
  server.on('connect', (_req, socket: net.Socket) => {
    socket.on('error', () => socket.destroy())
    socket.end(pageMessage('method-not-allowed', 'none; method'))
  })
  server.on('upgrade', (req, socket, head) => {
    req.socket.setTimeout(0)
    socket.on('error', () => socket.destroy())
    // All is sent. Nothing reads any more, so the client's own end would not be noticed.
    socket.on('finish', () => socket.destroy())
    handlers.upgrade({ req, socket, head })
  })
  const lastAnswers = () => {
    ending = true
    lane.end()
  }
  return { server, lastAnswers }
}

/** What seals session tickets: name, HMAC and AES keys in one. */
const KEY_BYTES = 48
const KEPT_MS = 12 * 3_600_000

/**
 * Gives a TLS server a new key for its session tickets twice a day. A ticket of
 * the one before, or of another node, costs a whole handshake, and no more: a
 * key that nodes share would have to be stored, and whoever found it could read
 * what was said in the sessions of TLS 1.2 that it sealed.
 */
export function renewTicketKeys(
  server: Pick<tls.Server, 'setTicketKeys'>,
  everyMs = KEPT_MS,
): { close(): void } {
  const timer = setInterval(() => server.setTicketKeys(randomBytes(KEY_BYTES)), everyMs)
  timer.unref()
  return { close: () => clearInterval(timer) }
}
