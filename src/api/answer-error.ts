import type { FastifyReply, FastifyRequest } from 'fastify'

import { AppError, type ErrorCode, publicError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { ApiApp } from './app.ts'

/** What the framework itself refuses, in our words. */
const FRAMEWORK_ERRORS: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_BAD_URL: 'malformed_url',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
}

/** Makes the answer to every error that is thrown on the way of a request. */
export function answerErrors(app: ApiApp, log: Log): void {
  app.setErrorHandler(async (error, request, reply) => answerError(error, request, reply, log))
}

export function answerError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: Log,
): FastifyReply {
  const known = inOurWords(error)
  const { status, body, headers } = publicError(known)
  // The route's pattern, not the URL: people put secrets into query strings.
  const where = { method: request.method, route: request.routeOptions?.url ?? null, requestId: request.id }
  if (status >= 500) log.error({ ...where, err: error }, 'the API could not answer')
  else log.debug({ ...where, status, text: body.error }, 'the API refused')
  return reply.code(status).headers(headers).type('application/json; charset=utf-8').send(body)
}

function inOurWords(error: unknown): unknown {
  if (error instanceof AppError || !(error instanceof Error)) return error
  const { code, statusCode } = error as Error & { code?: unknown; statusCode?: unknown }
  const row = typeof code === 'string' ? FRAMEWORK_ERRORS[code] : undefined
  if (row !== undefined) return new AppError(row, { cause: error })
  // Such as a body that broke off: the framework knows that it was the caller.
  const callers = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500
  return callers ? new AppError('malformed_request', { cause: error }) : error
}
