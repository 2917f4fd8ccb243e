import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import {
  AppError,
  ERROR_HEADER,
  type ErrorCode,
  invalidField,
  publicError,
} from '@prepaint/contract/errors.ts'
import { isAway } from '@prepaint/postgres/away.ts'
import { errorCode } from '@prepaint/postgres/connection.ts'
import { BodyUnavailable } from '@prepaint/runtime/body-unavailable.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApiApp } from './app.ts'
import type { KnownRoutes } from './known-routes.ts'

const FRAMEWORK_ERRORS: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_BAD_URL: 'malformed_url',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
}

export function handleErrors(app: ApiApp, log: Log): void {
  app.setErrorHandler(async (error, request, reply) => sendError(error, request, reply, log))
}

export function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Log,
): FastifyReply {
  const known = toAppError(error, request)
  const { status, body, headers } = publicError(known)
  // The route's pattern, because URLs may contain secrets.
  const where = { method: request.method, route: request.routeOptions?.url ?? null, requestId: request.id }
  if (status >= 500) log.error({ ...where, err: error }, 'API request failed')
  else log.debug({ ...where, status, code: headers[ERROR_HEADER], text: body.error }, 'API request refused')
  return reply.code(status).headers(headers).type('application/json; charset=utf-8').send(body)
}

/** The database's absence is no fault of the request. Its listener logs it. */
function databaseUnavailable(cause: unknown): AppError {
  return new AppError('database_unavailable', { cause, headers: { 'Retry-After': '5' } })
}

function bodiesUnavailable(cause: unknown): AppError {
  return new AppError('bodies_unavailable', { cause, headers: { 'Retry-After': '5' } })
}

/** Error codes of PostgreSQL (its appendix A) for a text with a null character, which it cannot store or compare. */
const NULL_CHARACTER_CODES = ['22021', '22P05']

/** Names the parameter that has the null character. */
function nullCharacterRefused({ query }: FastifyRequest, cause: unknown): AppError {
  const name = Object.entries(query ?? {}).find(([, value]) => String(value).includes('\0'))?.[0]
  if (name === undefined) return new AppError('malformed_request', { cause })
  return invalidField([name], 'must not contain a null character', { cause })
}

function toAppError(error: unknown, request: FastifyRequest): unknown {
  const takesCsv = request.routeOptions?.config?.takesCsv === true
  if (isAway(error)) return databaseUnavailable(error)
  if (NULL_CHARACTER_CODES.includes(errorCode(error))) return nullCharacterRefused(request, error)
  if (error instanceof BodyUnavailable) return bodiesUnavailable(error)
  if (error instanceof AppError || !(error instanceof Error)) return error
  const { code, statusCode } = error as Error & { code?: unknown; statusCode?: unknown }
  const row = typeof code === 'string' ? FRAMEWORK_ERRORS[code] : undefined
  if (row === 'body_too_large' && takesCsv) return new AppError('redirects_too_large', { cause: error })
  if (row !== undefined) return new AppError(row, { cause: error })
  const isClients = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
  return isClients ? new AppError('malformed_request', { cause: error }) : error
}

const CLIENT_ERRORS: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** Answers input that is not HTTP: it writes to the socket, because there is no request. */
export function sendClientError(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  socket.end(errorMessage(CLIENT_ERRORS[error.code ?? ''] ?? 'malformed_request'))
}

/** Error response as bytes; closes the connection. */
export function errorMessage(code: ErrorCode): string {
  const { status, body, headers } = publicError(new AppError(code))
  const text = JSON.stringify(body)
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(text)}\r\nX-Content-Type-Options: nosniff\r\n${fields.join('')}Connection: close\r\n\r\n${text}`
  )
}

/** Answers a browser that asks for a page that does not exist. Returns null if the client is not to get a page. */
export type MissingPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | null

/** Before the body is read: 404, or 405 with `Allow` (RFC 9110, section 15.5.6). OPTIONS gets only `Allow`. */
export function refuseUnknownRoutes(app: ApiApp, routes: KnownRoutes, missingPage: MissingPage): void {
  app.addHook('onRoute', ({ url, method }) => routes.add(url, [method].flat()))

  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404 && !lacksParameter(request.params)) return
    const allow = routes.methodsOf(request.url)
    if (allow === null) {
      const answered = missingPage(request, reply)
      if (answered !== null) return answered
      throw new AppError('not_found')
    }
    if (request.method !== 'OPTIONS') throw new AppError('method_not_allowed', { headers: { Allow: allow } })
    return reply.code(204).header('Allow', allow).send()
  })
}

/** The router matches `/api/domains/` with an empty name. */
function lacksParameter(params: unknown): boolean {
  return Object.values(params ?? {}).includes('')
}
