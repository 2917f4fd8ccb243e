import type { FastifyRequest } from 'fastify'

import { AppError } from '../errors.ts'
import type { ApiApp } from './app.ts'

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
