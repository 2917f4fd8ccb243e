import { startSsoAnswer, startSsoBody } from '@prepaint/contract/api/account.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { confirmSession, type Session } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { type SingleSignOn, SSO_CALLBACK } from '@prepaint/service/accounts/sign-in/single-sign-on.ts'
import { findSsoPerson, takeSsoPerson } from '@prepaint/service/accounts/sign-in/sso-person.ts'
import {
  countSsoStart,
  giveBackSsoStart,
  keepSsoStart,
  takeSsoStart,
} from '@prepaint/service/accounts/sign-in/sso-starts.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { confirmNeeded } from '../http/access.ts'
import { type ApiApp, type ApiOptions, type ApiParts, clientOf } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { checkSameSite, setSsoCookie, ssoToken } from '../http/session-access.ts'
import { isDashboardPage } from '../service/dashboard.ts'
import { escapeHtml, htmlPage, pageStyle } from '../service/static-page.ts'
import { Entrance } from './entering.ts'

/** What the sign-in screen is told in `?error=`. */
/** `other-login`: the person of the address has another login of the provider. */
type Failure = 'denied' | 'expired' | 'no-access' | 'not-verified' | 'other-login' | 'provider'

function signInPath(failure: Failure): string {
  return `/sign-in?error=${failure === 'other-login' ? 'no-access&reason=other-login' : failure}`
}

const DEFAULT_PAGE = '/domains'

/** As the library makes it. */
const STATE = /^[\w-]{20,100}$/

/** Sign-in by the provider of the installation (OpenID Connect): the way there, and the way back. */
export function singleSignOn(app: ApiApp, parts: ApiParts, options: ApiOptions): void {
  const { clock, pool, readClient, singleSignOn: provider } = parts
  const { publicUrl } = options
  const entrance = new Entrance(parts, options)
  const { style, policy } = pageStyle()

  app.route({
    method: 'POST',
    url: '/api/session/sso',
    config: {
      access: 'open',
      refuses: [
        'sign_in_not_found',
        'sign_in_required',
        'confirm_needed',
        'account_suspended',
        'cross_site',
        'too_many_failures',
        'provider_not_reached',
        'database_unavailable',
      ],
    },
    schema: {
      operationId: 'startSingleSignOn',
      tags: ['Signing in'],
      summary: 'Begin a sign-in by the single sign-on of the installation, or prove by it again who you are',
      description:
        'Sets a cookie for 10 minutes and tells where to send the browser. 30 starts of a client IP in 15 minutes that do not end in a sign-in are refused with 429.',
      body: startSsoBody,
      response: { 200: jsonResponse('Where the browser goes', startSsoAnswer) },
    },
    handler: async (request, reply) => {
      checkSameSite(request)
      if (provider === null) throw new AppError('sign_in_not_found')
      const { next = DEFAULT_PAGE, confirm = false } = request.body
      const session = confirm ? await sessionToConfirm(request, reply) : null
      const nowMs = clock.nowMs()
      const { address } = clientOf(readClient, request)
      await countSsoStart(pool, address, nowMs)
      const { url, ...secrets } = await provider
        .begin({ isConfirmation: session !== null })
        .catch(async (error: unknown) => {
          // Whoever waits for the provider to come back has done nothing wrong.
          await giveBackSsoStart(pool, { address })
          throw error
        })
      const page = isDashboardPage(next) ? next : DEFAULT_PAGE
      const token = await keepSsoStart(pool, { ...secrets, next: page, address, session }, nowMs)
      setSsoCookie(reply, publicUrl, token)
      return { url }
    },
  })

  app.route({
    method: 'GET',
    url: SSO_CALLBACK,
    config: { access: 'open' },
    schema: { hide: true },
    handler: async (request, reply) => {
      if (provider === null) throw new AppError('sign_in_not_found')
      const end = await comeBack(provider, request, reply)
      if (typeof end === 'string') return reply.redirect(signInPath(end), 303)
      setSsoCookie(reply, publicUrl, null)
      // A redirect would still be a navigation from the provider's site, without the strict cookie.
      const link = `<a href="${escapeHtml(end.next)}">Go on</a>`
      const body = `<main>\n<h1>You are signed in</h1>\n<p>${link}</p>\n</main>`
      return reply
        .type('text/html; charset=utf-8')
        .header('Content-Security-Policy', policy)
        .send(htmlPage('You are signed in', style, body, { next: end.next }))
    },
  })

  /** Throws `sign_in_required`, and `confirm_needed` if the session is not by single sign-on. */
  async function sessionToConfirm(request: FastifyRequest, reply: FastifyReply): Promise<Session> {
    const session = await entrance.sessionOf(request, reply)
    if (session === null) throw new AppError('sign_in_required')
    if (session.way !== 'sso') throw confirmNeeded(session)
    return session
  }

  /** Sets the session cookie, unless it was about a confirmation. Returns the page that follows, or why nobody signed in. */
  async function comeBack(
    by: SingleSignOn,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<{ next: string } | Failure> {
    const { search, searchParams } = new URL(request.url, 'http://localhost')
    const token = ssoToken(request, publicUrl)
    const state = searchParams.get('state') ?? ''
    if (token === undefined || !STATE.test(state)) return 'expired'
    const nowMs = clock.nowMs()
    const start = await takeSsoStart(pool, { token, state }, nowMs)
    if (start === null) return 'expired'
    const { next, session } = start
    const signedInWithinMs = session === null ? null : nowMs - start.startedAtMs
    const claims = await by.finish(search, start, { signedInWithinMs })
    if (claims === 'away') {
      await giveBackSsoStart(pool, start)
      return 'provider'
    }
    if (typeof claims === 'string') return claims
    if (session !== null) {
      if ((await findSsoPerson(pool, claims)) !== session.person) return 'no-access'
      await confirmSession(pool, session, nowMs)
    } else {
      const person = await takeSsoPerson(pool, claims, by.settings, nowMs)
      if (typeof person === 'string') return person
      const how = { passwordHash: null, account: null, way: 'sso', hasSecondFactor: false } as const
      // The provider may have asked nobody now, because somebody was signed in there.
      const entering = { person, provedAtMs: claims.authenticatedAtMs, ...how }
      if ((await entrance.start(request, reply, entering)) === null) return 'no-access'
    }
    await giveBackSsoStart(pool, start)
    return { next }
  }
}
