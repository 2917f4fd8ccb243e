import {
  endSessionParams,
  getSessionAnswer,
  listSessionsAnswer,
  secondFactorAwaitedAnswer,
  signInAnswer,
  signInBody,
  signOutEverywhereAnswer,
} from '@prepaint/contract/api/account.ts'
import {
  chooseAccountBody,
  listEnteredAccountsAnswer,
  personAnswer,
  updatePersonBody,
} from '@prepaint/contract/api/members.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { listAccountsOf } from '@prepaint/service/accounts/members.ts'
import { updatePerson } from '@prepaint/service/accounts/persons.ts'
import { countedAttempt } from '@prepaint/service/accounts/sign-in/attempts.ts'
import { checkCredentials } from '@prepaint/service/accounts/sign-in/passwords.ts'
import {
  chooseAccount,
  endSession,
  endSessions,
  listSessions,
  readEntry,
  SESSION_LIMIT,
} from '@prepaint/service/accounts/sign-in/sessions.ts'
import { type ApiApp, type ApiOptions, type ApiParts, clientOf, numberFrom } from '../http/app.ts'
import { emptyResponse, jsonResponse } from '../http/responses.ts'
import { personRoutes } from '../http/routes.ts'
import { checkSameSite, setSessionCookie } from '../http/session-access.ts'
import { Entrance } from './entering.ts'
import { me, personView } from './me.ts'

export function sessions(app: ApiApp, parts: ApiParts, options: ApiOptions): void {
  const { plans, publicUrl } = options
  const entrance = new Entrance(parts, options)
  const add = personRoutes(app, 'Signing in')
  const { clock, log, pool, readClient } = parts

  app.route({
    method: 'POST',
    url: '/api/session',
    config: {
      access: 'open',
      isOwnWay: true,
      refuses: [
        'wrong_credentials',
        'account_suspended',
        'cross_site',
        'too_many_failures',
        'database_unavailable',
      ],
    },
    schema: {
      operationId: 'signIn',
      tags: ['Signing in'],
      summary: 'Sign in to the dashboard: sets the session cookie',
      description:
        'After 5 wrong passwords for one account from one client IP, or 20 for any account, that client IP is refused for 15 minutes.',
      body: signInBody,
      response: {
        200: jsonResponse('The account and the person that is signed in', signInAnswer),
        202: jsonResponse('The second factor is awaited; no cookie', secondFactorAwaitedAnswer),
      },
    },
    handler: async (request, reply) => {
      // Otherwise another site could sign visitors in to its own account.
      checkSameSite(request)
      const client = clientOf(readClient, request)
      const attempt = { email: request.body.email, address: client.address }
      const nowMs = clock.nowMs()
      const { id, hash } = await countedAttempt(pool, attempt, nowMs, 'wrong_credentials', () =>
        checkCredentials(pool, request.body, log),
      )
      const proved = { person: id, passwordHash: hash, account: null, link: null }
      return entrance.enterByPassword(request, reply, proved)
    },
  })

  add('GET', '/api/session', 'getSession', {
    summary: 'Who is signed in, in which account, and what its plan allows',
    response: { 200: jsonResponse('The account and the person', getSessionAnswer) },
    refuses: ['account_not_found'],
    handler: async (session) => me(pool, session, plans),
  })

  add('DELETE', '/api/session', 'signOut', {
    summary: 'Sign out of this session',
    response: { 204: emptyResponse('Signed out') },
    handler: async ({ person, id }, _request, reply) => {
      await endSession(pool, person, id)
      setSessionCookie(reply, publicUrl, null)
      return reply.code(204).send(null)
    },
  })

  add('GET', '/api/accounts', 'listEnteredAccounts', {
    summary: 'The accounts that the person is in, by name',
    response: { 200: jsonResponse('The accounts', listEnteredAccountsAnswer) },
    handler: async ({ person, entry }) => {
      const current = typeof entry === 'string' ? null : entry.account
      const accounts = await listAccountsOf(pool, person)
      return { accounts: accounts.map((account) => ({ ...account, current: account.id === current })) }
    },
  })

  add('POST', '/api/session/account', 'chooseAccount', {
    summary: 'Choose the account of later requests; a request can name another in `X-Prepaint-Account`',
    body: chooseAccountBody,
    response: { 200: jsonResponse('The account and the person', getSessionAnswer) },
    refuses: ['account_not_found'],
    handler: async (session, request) => {
      const account = request.body.id as AccountId
      if (!(await chooseAccount(pool, session, account))) throw new AppError('account_not_found')
      const entry = await readEntry(pool, session, account, clock.nowMs())
      return me(pool, { ...session, entry }, plans)
    },
  })

  add('GET', '/api/person', 'getPerson', {
    summary: 'The person who is signed in',
    response: { 200: jsonResponse('The person', personAnswer) },
    handler: async (session) => ({ person: personView(session) }),
  })

  add('PUT', '/api/person', 'changePerson', {
    summary: 'Change your name or language',
    body: updatePersonBody,
    response: { 200: jsonResponse('The person', personAnswer) },
    handler: async (session, { body: { name, locale } }) => {
      const change = { name: name === '' ? null : name, locale }
      await updatePerson(pool, session.person, change)
      const changed = { ...session }
      if (change.name !== undefined) changed.name = change.name
      if (locale !== undefined) changed.locale = locale
      return { person: personView(changed) }
    },
  })

  add('GET', '/api/sessions', 'listSessions', {
    summary: 'Your open sessions, newest first',
    description: `At most ${SESSION_LIMIT}: the oldest ends when one more begins.`,
    response: {
      200: jsonResponse('The sessions', listSessionsAnswer),
    },
    handler: async ({ person, id }) => ({
      sessions: await listSessions(pool, person, id, clock.nowMs()),
    }),
  })

  add('DELETE', '/api/sessions/:id', 'endSession', {
    summary: 'End one of your sessions',
    params: endSessionParams,
    response: { 204: emptyResponse('The session has ended') },
    refuses: ['session_not_found'],
    handler: async ({ person }, request, reply) => {
      const id = numberFrom(request.params.id, 'session_not_found')
      if (!(await endSession(pool, person, id))) {
        throw new AppError('session_not_found')
      }
      return reply.code(204).send(null)
    },
  })

  add('DELETE', '/api/sessions', 'signOutEverywhere', {
    summary: 'End all your sessions, including this one',
    response: { 200: jsonResponse('Number of sessions that were ended', signOutEverywhereAnswer) },
    handler: async ({ person }, _request, reply) => {
      setSessionCookie(reply, publicUrl, null)
      return { ended: await transaction(pool, (client) => endSessions(client, person)) }
    },
  })
}
