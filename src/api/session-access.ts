import type { FastifyReply, FastifyRequest } from 'fastify'

import type { Session, SignIn } from '../accounts/sign-in.ts'
import { AppError } from '../errors.ts'

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
