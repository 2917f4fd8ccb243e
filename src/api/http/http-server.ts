import http from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type ErrorCode, publicError } from '../../errors.ts'
import type { ClientGate } from '../../http/client-limits.ts'
import { toOriginForm } from '../../http/origin-form.ts'
import type { ApiApp } from './app.ts'
import { errorMessage } from './errors.ts'

/** Room for a path of 64 KiB and then some, so that it gets an answer and not a closed connection. */
export const HEADER_LIMIT_BYTES = 128 * 1024

/** For a whole head, and for a whole request. */
const HEADERS_MS = 15_000
const REQUEST_MS = 60_000
/** Whoever keeps an idle connection finds it open for longer than his own proxy would. */
const KEEP_ALIVE_MS = 75_000
/** Whoever takes nothing of a long list for so long does not get the rest. */
const NOTHING_TAKEN_MS = 120_000
/** Node looks every 30 s for those that have used up their time, unless it is told so. */
const LOOK_EVERY_MS = 2_000

/**
 * The API's server, not yet listening. Before anything of a request is looked
 * at: it is not one too many of its client, and means the same to everybody.
 */
export function createHttpServer(answer: http.RequestListener, gate: ClientGate): http.Server {
  const server = http.createServer({
    maxHeaderSize: HEADER_LIMIT_BYTES,
    // It is required; but node's own refusal is not JSON.
    requireHostHeader: false,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: LOOK_EVERY_MS,
  })
  server.setTimeout(NOTHING_TAKEN_MS)
  gate.watch(server, errorMessage('too_many_connections'))

  const admit: http.RequestListener = (request, response) => {
    if (!gate.enter(request, response)) refuse(response, 'too_many_requests')
    // What follows on this connection may not be what its sender calls a request.
    else if (!toOriginForm(request)) refuse(response, 'malformed_request')
    else answer(request, response)
  }
  server.on('request', admit)
  // An expectation that we do not know is no reason to refuse (RFC 9110, 10.1.1).
  server.on('checkExpectation', admit)
  return server
}

function refuse(response: http.ServerResponse, code: ErrorCode): void {
  const { status, body } = publicError(new AppError(code))
  response.shouldKeepAlive = false
  const retry = status === 429 ? { 'Retry-After': '1' } : {}
  const text = JSON.stringify(body)
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    ...retry,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
  })
  response.end(response.req.method === 'HEAD' ? undefined : text)
}

/**
 * On every answer: it is nobody's page, frame, script or cache entry. A route
 * that does serve a page replaces the policy by its own. No CORS header is ever
 * sent: browsers keep other sites away.
 */
const SECURITY_HEADERS = {
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
} as const

export function sendSecurityHeaders(app: ApiApp): void {
  app.addHook('onRequest', async (_request, reply) => setSecurityHeaders(reply))
}

export function setSecurityHeaders(reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS)
}

export const BODY_LIMIT_BYTES = 1_048_576

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i

/**
 * Bodies are JSON in UTF-8. No body at all is as good as an empty one, under
 * any type: many clients send a type with every request, and forms without a
 * field are how curl spells "nothing". A missing type is taken for JSON.
 */
export function readJsonBodies(app: ApiApp): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined
    const type = request.headers['content-type']
    if (type !== undefined && !JSON_TYPE.test(type)) throw new AppError('content_type')
    return parse(body)
  })
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    throw new AppError('invalid_json', { cause })
  }
}
