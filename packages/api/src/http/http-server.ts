import http from 'node:http'
import { AppError, type ErrorCode, invalidField, publicError } from '@prepaint/contract/errors.ts'
import type { ClientGate } from '@prepaint/runtime/http/client-limits.ts'
import { toOriginForm } from '@prepaint/runtime/http/origin-form.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { MiddlewareForm } from '../fronts/middleware-form.ts'
import type { ApiApp } from './app.ts'
import { errorMessage } from './errors.ts'

/** Enough for a path of 64 KiB, which then gets a response instead of a closed connection. */
export const HEADER_LIMIT_BYTES = 128 * 1024

const HEADERS_MS = 15_000
const REQUEST_MS = 60_000
/** Longer than the idle timeout of common proxies. */
const KEEP_ALIVE_MS = 75_000
/** Close connections that have not read any of the response for this time. */
const WRITE_IDLE_MS = 120_000
/** Node's default is 30 s. */
const CHECK_EVERY_MS = 2_000

/** Returns the server before it listens. Checks client limits and refuses ambiguous requests first. */
export function createHttpServer(
  handle: http.RequestListener,
  gate: ClientGate,
  middlewareForm: MiddlewareForm,
): http.Server {
  const server = http.createServer({
    maxHeaderSize: HEADER_LIMIT_BYTES,
    // Checked in `toOriginForm`: Node's own refusal is not JSON.
    requireHostHeader: false,
    headersTimeout: HEADERS_MS,
    requestTimeout: REQUEST_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: CHECK_EVERY_MS,
  })
  server.setTimeout(WRITE_IDLE_MS)
  gate.watch(server, errorMessage('too_many_connections'), { readsHead: true })

  const admit: http.RequestListener = (request, response) => {
    // The connection is closed, because its next bytes may belong to this request.
    if (!toOriginForm(request)) refuse(response, 'malformed_request')
    else if (middlewareForm.isAskedBy(request)) middlewareForm.answer(request, response)
    else if (gate.enter(request, response)) handle(request, response)
    else refuse(response, gate.hasRefused(request) ? 'too_many_connections' : 'too_many_requests')
  }
  server.on('request', admit)
  // Unknown expectations are ignored (RFC 9110, section 10.1.1).
  server.on('checkExpectation', admit)
  // Without a listener, Node closes the connection without a response.
  server.on('connect', (_request, socket) => {
    socket.on('error', () => socket.destroy())
    socket.end(errorMessage('malformed_request'))
  })
  return server
}

function refuse(response: http.ServerResponse, code: ErrorCode): void {
  const { status, body, headers } = publicError(new AppError(code))
  response.shouldKeepAlive = false
  const retry = code === 'too_many_requests' ? { 'Retry-After': '1' } : {}
  const text = JSON.stringify(body)
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    ...headers,
    ...retry,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(text),
  })
  response.end(response.req.method === 'HEAD' ? undefined : text)
}

/** Routes that serve pages set their own policy. CORS headers are never sent. */
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

const CSV_TYPE = /^text\/csv\s*(?:;|$)/i

/** JSON in UTF-8. An empty body may have any type, because curl sends one. A missing type means JSON. */
export function readJsonBodies(app: ApiApp): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, async (request: FastifyRequest, body: Buffer) => {
    if (body.length === 0) return undefined
    if (request.routeOptions.config.takesPicture === true) return body
    const type = request.headers['content-type']
    const takesCsv = request.routeOptions.config.takesCsv === true && CSV_TYPE.test(type ?? '')
    if (takesCsv) return textOf(body)
    if (type !== undefined && !JSON_TYPE.test(type)) throw new AppError('content_type')
    return parse(body)
  })
}

function textOf(body: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (cause) {
    throw invalidField([], 'must be in UTF-8', { cause })
  }
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    throw new AppError('invalid_json', { cause })
  }
}
