import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

import { AppError } from '../errors.ts'

/** As much of a request as says who sent it. */
type Asked = { headers: IncomingHttpHeaders; socket: { remoteAddress?: string | undefined } }

/** Whatever a proxy adds: then it is not known who asks, and the proxy may stand on this machine. */
const BY_PROXY = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/

/**
 * Throws unless the operator asks: with `token` set, whoever brings it as a
 * Bearer token; without, whoever comes from this very machine and through no
 * proxy. Others are not told that there is something.
 */
export function checkOperator(request: Asked, token: string | null): void {
  if (token !== null) {
    const given = /^bearer +([^\s,]+) *$/i.exec(request.headers.authorization ?? '')?.[1]
    if (given === undefined || !timingSafeEqual(hash(given), hash(token))) throw new AppError('invalid_token')
    return
  }
  const isNear = LOOPBACK.test(request.socket.remoteAddress ?? '')
  if (!isNear || BY_PROXY.some((name) => request.headers[name] !== undefined)) throw new AppError('not_found')
}

/** Of one length, whatever was given. */
function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
