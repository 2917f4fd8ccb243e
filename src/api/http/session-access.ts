import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Session, SignIn } from '../../accounts/sign-in/sign-in.ts'
import { AppError } from '../../errors.ts'

/** Reading only: what another site makes a browser send does no harm, and its cookie would not come with it. */
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Who is signed in, by the cookie of the dashboard; null: nobody. Throws
 * `cross_site` for a change that does not come from a page of ours.
 */
export async function sessionOf(
  signIn: SignIn,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Session | null> {
  const found = await signIn.read(request.headers.cookie)
  if (found === null) return null
  checkSameSite(request)
  setCookies(reply, found.cookies)
  return found.session
}

/**
 * Throws `cross_site` unless a changing request comes from a page of our own
 * origin. Browsers of the last years say where it comes from
 * (`Sec-Fetch-Site`), older ones name its origin; what says neither is no browser.
 */
export function checkSameSite({ method, headers }: FastifyRequest): void {
  if (SAFE_METHODS.has(method)) return
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return
  if (site === undefined && headers.origin !== undefined && hostOf(headers.origin) === headers.host) return
  throw new AppError('cross_site')
}

/** Added to those that are there, as each is a header of its own. */
export function setCookies(reply: FastifyReply, lines: readonly string[]): void {
  for (const line of lines) reply.header('Set-Cookie', line)
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null
}

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
