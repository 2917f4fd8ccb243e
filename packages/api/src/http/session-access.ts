import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '@prepaint/contract/errors.ts'
import { IDLE_DAYS } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { SSO_START_MS } from '@prepaint/service/accounts/sign-in/sso-starts.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** `__Host-` cookies are accepted only over https, for this host and all paths. */
export function cookieName(publicUrl: string | null): string {
  return isHttps(publicUrl) ? '__Host-prepaint-session' : 'prepaint-session'
}

export function sessionToken(
  { cookies }: Pick<FastifyRequest, 'cookies'>,
  publicUrl: string | null,
): string | undefined {
  return cookies[cookieName(publicUrl)]
}

/** Sets the session cookie, or removes it (`token` null). Hidden from scripts and other sites. */
export function setSessionCookie(reply: FastifyReply, publicUrl: string | null, token: string | null): void {
  void reply.setCookie(cookieName(publicUrl), token ?? '', {
    path: '/',
    maxAge: token === null ? 0 : IDLE_DAYS * 86_400,
    httpOnly: true,
    sameSite: 'strict',
    secure: isHttps(publicUrl),
  })
}

function ssoCookieName(publicUrl: string | null): string {
  return isHttps(publicUrl) ? '__Host-prepaint-sso' : 'prepaint-sso'
}

export function ssoToken(
  { cookies }: Pick<FastifyRequest, 'cookies'>,
  publicUrl: string | null,
): string | undefined {
  return cookies[ssoCookieName(publicUrl)]
}

/** Binds a sign-in at the provider to this browser, or removes that (`token` null). Lax: it comes back from another site. */
export function setSsoCookie(reply: FastifyReply, publicUrl: string | null, token: string | null): void {
  void reply.setCookie(ssoCookieName(publicUrl), token ?? '', {
    path: '/',
    maxAge: token === null ? 0 : SSO_START_MS / 1_000,
    httpOnly: true,
    sameSite: 'lax',
    secure: isHttps(publicUrl),
  })
}

function isHttps(publicUrl: string | null): boolean {
  return publicUrl?.startsWith('https:') === true
}

/** Throws `cross_site` unless `Sec-Fetch-Site` or `Origin` shows our own page. Requests with neither are refused. */
export function checkSameSite({ method, headers }: FastifyRequest): void {
  if (SAFE_METHODS.has(method)) return
  const site = headers['sec-fetch-site']
  if (site === 'same-origin') return
  if (site === undefined && headers.origin !== undefined && hostOf(headers.origin) === headers.host) return
  throw new AppError('cross_site')
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null
}

export function bearerToken({ authorization = '' }: IncomingHttpHeaders): string | undefined {
  return /^bearer +([^\s,]+) *$/i.exec(authorization)?.[1]
}

type OperatorRequest = { headers: IncomingHttpHeaders; socket: { remoteAddress?: string | undefined } }

/** Behind a proxy on this machine, a local socket does not prove a local client. */
const BY_PROXY = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip']

const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/

/** Requires `token` as Bearer token, or, if `token` is null, a request from this machine without a proxy. */
export function checkOperator(request: OperatorRequest, token: string | null): void {
  if (token !== null) {
    const given = bearerToken(request.headers)
    if (given === undefined || !timingSafeEqual(hash(given), hash(token))) throw new AppError('invalid_token')
    return
  }
  const isNear = LOOPBACK.test(request.socket.remoteAddress ?? '')
  if (!isNear || BY_PROXY.some((name) => request.headers[name] !== undefined)) throw new AppError('not_found')
}

/** Gives the fixed length that `timingSafeEqual` needs. */
function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
