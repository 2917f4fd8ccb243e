import {
  endSessionParams,
  getSessionAnswer,
  listSessionsAnswer,
  signInAnswer,
  signInBody,
  signOutEverywhereAnswer,
} from '@prepaint/contract/api/account.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { planNamed } from '@prepaint/contract/settings/plans.ts'
import { countedAttempt } from '@prepaint/service/accounts/sign-in/attempts.ts'
import { signIn } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { endSession, endSessions, listSessions } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { sessionCaller } from '../http/access.ts'
import { type ApiApp, type ApiOptions, type ApiParts, clientOf, numberFrom } from '../http/app.ts'
import { emptyResponse, jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'
import { checkSameSite, setSessionCookie } from '../http/session-access.ts'
import { me } from './me.ts'

export function sessions(app: ApiApp, parts: ApiParts, { plans, publicUrl }: ApiOptions): void {
  const add = accountRoutes(app, 'Signing in', 'session')
  const { clock, pool, readClient } = parts

  app.route({
    method: 'POST',
    url: '/api/session',
    config: {
      access: 'open',
      refuses: ['wrong_credentials', 'account_suspended', 'cross_site', 'too_many_failures'],
    },
    schema: {
      operationId: 'signIn',
      tags: ['Signing in'],
      summary: 'Sign in to the dashboard: sets the session cookie',
      description:
        'After 5 wrong passwords for one account from one client IP, or 20 for any account, that client IP is refused for 15 minutes.',
      body: signInBody,
      response: { 200: jsonResponse('The account that is signed in', signInAnswer) },
    },
    handler: async (request, reply) => {
      // Otherwise another site could sign visitors in to its own account.
      checkSameSite(request)
      const client = clientOf(readClient, request)
      const attempt = { email: request.body.email, address: client.address }
      const nowMs = clock.nowMs()
      const { session, token } = await countedAttempt(pool, attempt, nowMs, 'wrong_credentials', () =>
        signIn(pool, request.body, client, nowMs),
      )
      setSessionCookie(reply, publicUrl, token)
      return { account: me(session, planNamed(plans, session.plan)) }
    },
  })

  add('GET', '/api/session', 'getSession', {
    summary: 'The account that is signed in, and what its plan allows',
    response: { 200: jsonResponse('The account', getSessionAnswer) },
    handler: async (_account, request) => {
      const { session, plan } = sessionCaller(request)
      return { account: me(session, plan) }
    },
  })

  add('DELETE', '/api/session', 'signOut', {
    summary: 'Sign out of this session',
    response: { 204: emptyResponse('Signed out') },
    handler: async (_account, request, reply) => {
      const { account, session } = sessionCaller(request)
      await endSession(pool, account, session.id)
      setSessionCookie(reply, publicUrl, null)
      return reply.code(204).send(null)
    },
  })

  add('GET', '/api/sessions', 'listSessions', {
    summary: 'Open sessions of the account, newest first',
    response: {
      200: jsonResponse('The sessions', listSessionsAnswer),
    },
    handler: async (_account, request) => {
      const { account, session } = sessionCaller(request)
      return { sessions: await listSessions(pool, account, session.id, clock.nowMs()) }
    },
  })

  add('DELETE', '/api/sessions/:id', 'endSession', {
    summary: 'End one session',
    params: endSessionParams,
    response: { 204: emptyResponse('The session has ended') },
    refuses: ['session_not_found'],
    handler: async (account, request, reply) => {
      const id = numberFrom(request.params.id, 'session_not_found')
      if (!(await endSession(pool, account, id))) {
        throw new AppError('session_not_found')
      }
      return reply.code(204).send(null)
    },
  })

  add('DELETE', '/api/sessions', 'signOutEverywhere', {
    summary: 'End all sessions, including this one',
    response: { 200: jsonResponse('Number of sessions that were ended', signOutEverywhereAnswer) },
    handler: async (account, _request, reply) => {
      setSessionCookie(reply, publicUrl, null)
      return { ended: await endSessions(pool, account) }
    },
  })
}
