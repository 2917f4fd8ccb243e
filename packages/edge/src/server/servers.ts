import { randomBytes } from 'node:crypto'
import http from 'node:http'
import http2, { type ServerHttp2Stream } from 'node:http2'
import type net from 'node:net'
import tls, { type SecureContext } from 'node:tls'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Handshake } from '../origin/upgrade.ts'
import { type PlainPage, pageMessage, plainPage, sendPlainPage, statusOf } from '../page/plain-page.ts'
import type { ConnectionBudgets } from './client-budgets.ts'
import {
  BOMB_REFUSALS,
  endBodyBehindResponse,
  enterPipeline,
  HEADER_BOMB_BYTES,
  HEADER_BYTES,
  HEADER_FIELDS,
  HTTP2_LIMITS,
  SessionWatch,
} from './connection-limits.ts'
import type { EdgeRequest, EdgeResponse, RequestHead, SendAnswer } from './exchange.ts'
import { FastLane, type FastLaneOptions } from './fast-lane.ts'
import { GoneClients } from './gone-clients.ts'
import {
  Http2Request,
  Http2Response,
  headerBytes,
  headerFields,
  http2Request,
  sendHit,
  simpleHead,
} from './http2-exchange.ts'
import { type AnsweringSocket, NodeParser } from './node-parser.ts'

type EdgeHandlers = {
  /** Returns null for a client without limits, and for a trusted proxy. Without it no client has limits. */
  budgetsOf?(socket: { remoteAddress?: string | undefined }): ConnectionBudgets | null
  /** `isNoHit`: `readyHit` has found that the request is no hit. */
  request(req: EdgeRequest, res: EdgeResponse, isNoHit?: boolean): void
  /** Returns false if the request is not a hit: use `request`. */
  readyHit?(req: RequestHead, send: SendAnswer): boolean
  upgrade(handshake: Handshake): void
}

export type EdgeTls = {
  /** Null fails the handshake. `protocol` is the earlier choice of `alpn`. */
  contextFor(
    serverName: string,
    protocol: string | null,
  ): SecureContext | null | Promise<SecureContext | null>
  /** Accepts another protocol (`acme-tls/1`) with its certificate. The connection ends after the handshake. */
  alpn?(
    serverName: string,
    protocols: readonly string[],
  ): { protocol: string; context: SecureContext | null } | null
}

type ServerOptions = {
  clock: Clock
  /** Limits the time for a whole request head, from the connection or the previous response on. */
  headersMs: number
  /** Close connections that have not read any of their response for this time. */
  idleMs: number
  keepAliveMs: number
  /** Ends a connection whose client neither takes what waits for it nor sends anything for this time. */
  stuckMs: number
}

export type EdgeServers = {
  /** HTTP/1.1, not listening yet. Also gets connections of `secure` that chose HTTP/1.1. */
  plain: http.Server
  /** TLS with HTTP/2 and HTTP/1.1, not listening yet; null without certificates. */
  secure: tls.Server | null
  /** Call at shutdown: sends `Connection: close` or GOAWAY, and finishes open requests. */
  endSessions(): void
}

/** Node checks its time limits this often within each limit, instead of every 30 s. */
const LOOKS_PER_LIMIT = 5
const HANDSHAKE_MS = 10_000

/** TLS 1.3, and TLS 1.2 with forward secrecy and AEAD (RFC 9325, section 4.2). */
const TLS_OPTIONS: tls.TlsOptions = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
  honorCipherOrder: true,
  // Node's default depends on the arguments of the process, and a node's processes accept each other's tickets.
  sessionIdContext: 'prepaint-edge',
  handshakeTimeout: HANDSHAKE_MS,
}

export function createEdgeServers(
  handlers: EdgeHandlers,
  certificates: EdgeTls | null,
  options: ServerOptions,
): EdgeServers {
  const { server: plain, lastAnswers } = createPlain(handlers, options)
  const goneClients = new GoneClients(options.clock, options.stuckMs)
  plain.on('connection', (socket) => {
    // Those of `secure` are watched below TLS.
    if (!(socket instanceof tls.TLSSocket)) goneClients.watch(socket)
    countUnsent(handlers, socket)
  })
  if (certificates === null) return { plain, secure: null, endSessions: lastAnswers }

  const watch = new SessionWatch(options.clock, options)
  const secure = createSecure(certificates)
  secure.on('connection', (socket) => goneClients.watch(socket))
  secure.on('secureConnection', (socket) => {
    socket.on('error', () => socket.destroy())
    if (socket.alpnProtocol === 'h2') beginSession(socket, handlers, watch)
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

/** Counts what an HTTP/1.1 connection has for its client, if that has budgets. */
function countUnsent(handlers: EdgeHandlers, socket: net.Socket): void {
  const leave = handlers.budgetsOf?.(socket)?.watch({
    get unsentBytes() {
      return socket.writableLength
    },
  })
  if (leave !== undefined) socket.once('close', leave)
}

function beginSession(socket: tls.TLSSocket, handlers: EdgeHandlers, watch: SessionWatch): void {
  const peer = { remoteAddress: socket.remoteAddress, encrypted: true as const }
  const session = http2.performServerHandshake(socket, HTTP2_LIMITS)
  const budgets = handlers.budgetsOf?.(socket) ?? null
  const watched = watch.watch(session, socket, budgets)
  session.on('stream', (...given) => {
    const [stream, headers, flags] = given
    const raw = rawOf(given)
    stream.on('error', () => {})
    if (budgets?.isPaused() === true) {
      session.destroy(new Error('the client goes on'), http2.constants.NGHTTP2_ENHANCE_YOUR_CALM)
      return
    }
    const hasBody = (flags & END_STREAM) === 0
    // Before anything is kept of the headers.
    const bytes = headerBytes(raw)
    if (bytes > HEADER_BOMB_BYTES) {
      budgets?.refuseHeaders(BOMB_REFUSALS)
      session.destroy(new Error('a header bomb'), http2.constants.NGHTTP2_ENHANCE_YOUR_CALM)
      return
    }
    if (bytes > HEADER_BYTES || headerFields(raw) > HEADER_FIELDS) {
      budgets?.refuseHeaders(1)
      watched.opened(stream, { handedBytes: 0 })
      refuseHead(stream, { isHead: headers[':method'] === 'HEAD', hasBody })
      return
    }
    const simple = hasBody ? null : simpleHead(headers, raw, peer)
    const tried = tryHit(handlers, stream, simple)
    if (tried === 'answered') {
      watched.opened(stream, { handedBytes: 0 })
      return
    }
    const req = http2Request(stream, raw, !hasBody, peer)
    const res = new Http2Response(stream, req)
    watched.opened(stream, res)
    if (req instanceof Http2Request) endBodyBehindResponse(stream, req, res)
    if (req.method === 'CONNECT') sendPlainPage(res, 'method-not-allowed', 'none; method')
    else handlers.request(req, res, tried === 'no-hit')
  })
}

/** Makes no request of the headers, which are too large to be kept. */
function refuseHead(
  stream: ServerHttp2Stream,
  { isHead, hasBody }: { isHead: boolean; hasBody: boolean },
): void {
  const { headers, body } = plainPage('headers-too-large', 'none; headers-too-large')
  stream.respond([':status', `${statusOf('headers-too-large')}`, ...headers], { endStream: isHead })
  if (!isHead) stream.end(body)
  if (!hasBody) return
  stream.resume()
  stream.once('finish', () => stream.close(http2.constants.NGHTTP2_NO_ERROR))
}

/** `unknown`: it was not found out, or that failed. Then the request is handled in the usual way, where it fails again, gives 503 and is logged. */
function tryHit(
  { readyHit }: EdgeHandlers,
  stream: ServerHttp2Stream,
  head: RequestHead | null,
): 'answered' | 'no-hit' | 'unknown' {
  if (head === null || readyHit === undefined) return 'unknown'
  try {
    return readyHit(head, sendHit(stream)) ? 'answered' : 'no-hit'
  } catch (error) {
    if (stream.headersSent) throw error
    return 'unknown'
  }
}

/** Makes the TLS server, which finds a certificate and a protocol for each handshake. */
function createSecure(certificates: EdgeTls): tls.Server {
  // OpenSSL asks for the protocol before the certificate in TLS 1.3, and after it in TLS 1.2.
  const others = new WeakMap<tls.TLSSocket, string>()
  return tls.createServer({
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
      // `servername` is false without SNI, despite its type.
      const other = certificates.alpn?.(servername || '', protocols) ?? null
      if (other !== null) {
        others.set(this, other.protocol)
        if (other.context !== null) this.setKeyCert(other.context)
        return other.protocol
      }
      return ['h2', 'http/1.1'].find((protocol) => protocols.includes(protocol))
    },
  })
}

const END_STREAM = http2.constants.NGHTTP2_FLAG_END_STREAM

/** Node passes the raw header list, which its types omit. */
function rawOf(given: readonly unknown[]): string[] {
  return given[3] as string[]
}

type Headers = http.OutgoingHttpHeaders | http.OutgoingHttpHeader[]

class LaneServer<Answer extends typeof http.ServerResponse<http.IncomingMessage>> extends http.Server<
  typeof http.IncomingMessage,
  Answer
> {
  #lane: FastLane | null = null

  openLane(options: Omit<FastLaneOptions, 'handOver'>): FastLane {
    const parser = new NodeParser(this)
    const lane = new FastLane({ ...options, handOver: (socket) => parser.handOver(socket) })
    this.on('connection', (socket) => lane.take(socket))
    this.on('clientError', (error, socket) => {
      // The lane encodes the bytes that Node's parser refuses.
      const isTakenBack = parser.takeBack(error, socket, (connection, request) => {
        connection.unshift(request)
        lane.take(connection)
        connection.resume()
      })
      if (!isTakenBack) refuseUnreadable(error, socket)
    })
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
  const { clock, headersMs, idleMs, keepAliveMs } = options
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
    // Uploads have no total limit, only a minimum pace (`watchBodyPace`).
    requestTimeout: 0,
    // Without one, `toOriginForm` refuses the request: Node's own answer is empty.
    requireHostHeader: false,
    // `Upgrade: h2c` is ignored (RFC 9110, section 7.8). Requests without a body get no stream.
    optimizeEmptyRequests: true,
    shouldUpgradeCallback: (req) => req.headers.upgrade?.toLowerCase() === 'websocket',
  })
  const lane = server.openLane({
    clock,
    headersMs,
    idleMs,
    keepAliveMs,
    answer: handlers.readyHit ?? (() => false),
    request: (req, res, isNoHit) => handlers.request(req, res, isNoHit),
  })
  // Close connections that have not read any of the response for `idleMs`.
  server.setTimeout(idleMs)
  server.on('request', (req, res) => {
    if (enterPipeline(req, res)) handlers.request(req, res)
    else req.socket.destroy()
  })
  // The origin decides whether it wants the body.
  server.on('checkContinue', (req, res) => handlers.request(req, res))
  server.on('connect', (_req, socket: net.Socket) => {
    socket.on('error', () => socket.destroy())
    socket.end(pageMessage('method-not-allowed', 'none; method'))
  })
  server.on('upgrade', (req, socket, head) => {
    req.socket.setTimeout(0)
    socket.on('error', () => socket.destroy())
    // All is sent. The client's end would go unnoticed, because nothing reads any more.
    socket.on('finish', () => socket.destroy())
    handlers.upgrade({ req, socket, head })
  })
  const lastAnswers = () => {
    ending = true
    lane.end()
  }
  return { server, lastAnswers }
}

const UNREADABLE: Readonly<Record<string, PlainPage>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'slow-request',
}

/** Refuses as Node does, but with our page. Writes nothing into a response that is under way. */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: AnsweringSocket): void {
  if (socket.writable && socket._httpMessage?.headersSent !== true) {
    const page = UNREADABLE[error.code ?? ''] ?? 'bad-request'
    socket.write(pageMessage(page, `none; ${page}`), 'latin1')
  }
  socket.destroy(error)
}

const KEY_BYTES = 48
const KEPT_MS = 12 * 3_600_000

/**
 * Replaces the session ticket key now and twice a day. Older tickets, or those of other nodes, only cost a full
 * handshake. A stored shared key could decrypt TLS 1.2 sessions. `share` gives the key to other processes of the node.
 */
export function renewTicketKeys(
  server: tls.Server,
  share: (keys: Buffer) => void = () => {},
  everyMs = KEPT_MS,
): { close(): void } {
  const renew = () => {
    const keys = randomBytes(KEY_BYTES)
    server.setTicketKeys(keys)
    share(keys)
  }
  renew()
  const timer = setInterval(renew, everyMs)
  timer.unref()
  return { close: () => clearInterval(timer) }
}
