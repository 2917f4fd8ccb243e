import {
  readLinkAnswer,
  readLinkBody,
  secondFactorAwaitedAnswer,
  useLinkAnswer,
  useLinkBody,
} from '@prepaint/contract/api/account.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { countedAttempt } from '@prepaint/service/accounts/sign-in/attempts.ts'
import { readLink, useLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { checkCredentials } from '@prepaint/service/accounts/sign-in/passwords.ts'
import { chooseAccount, readEntry } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { type ApiApp, type ApiOptions, type ApiParts, clientOf, isOnlySso } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { checkSameSite } from '../http/session-access.ts'
import { Entrance } from './entering.ts'
import { me } from './me.ts'

export function links(app: ApiApp, parts: ApiParts, options: ApiOptions): void {
  const { plans } = options
  const entrance = new Entrance(parts, options)
  const { clock, log, pool, readClient } = parts

  app.route({
    method: 'POST',
    url: '/api/links/read',
    config: { access: 'open', refuses: ['link_not_found', 'cross_site', 'database_unavailable'] },
    schema: {
      operationId: 'readLink',
      tags: ['Signing in'],
      summary: 'What a link is for: the first account, an invitation, or a new password',
      body: readLinkBody,
      response: { 200: jsonResponse('The link', readLinkAnswer) },
    },
    handler: async (request) => {
      checkSameSite(request)
      const isOnly = isOnlySso(parts)
      return { link: await readLink(pool, request.body.token, clock.nowMs(), { isOnlySso: isOnly }) }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/links/use',
    config: {
      access: 'open',
      refuses: [
        'link_not_found',
        'cross_site',
        'account_exists',
        'account_suspended',
        'wrong_credentials',
        'member_limit',
        'other_invited',
        'sign_in_required',
        'too_many_failures',
        'database_unavailable',
      ],
    },
    schema: {
      operationId: 'useLink',
      tags: ['Signing in'],
      summary: 'Use a link: set a password, or join an account, and sign in',
      description:
        'An invitation of an address that has a login takes its password, or a session of it and no password. It never changes the password.',
      body: useLinkBody,
      response: {
        200: jsonResponse('The account and the person that is signed in', useLinkAnswer),
        202: jsonResponse('The second factor is awaited; no cookie', secondFactorAwaitedAnswer),
      },
    },
    handler: async (request, reply) => {
      checkSameSite(request)
      const { token, email = null, password = null } = request.body
      const nowMs = clock.nowMs()
      const client = clientOf(readClient, request)
      // An invitation can be accepted by the session of the address that it is for.
      const session = await entrance.sessionOf(request, reply)
      const used = await useLink(
        pool,
        plans,
        token,
        {
          email,
          password,
          signedIn: session,
          isOnlySso: isOnlySso(parts),
          checkPassword: (credentials) =>
            countedAttempt(
              pool,
              { email: credentials.email, address: client.address },
              nowMs,
              'wrong_credentials',
              () => checkCredentials(pool, credentials, log),
            ),
        },
        nowMs,
      )
      const { person, account, passwordHash, waiting } = used
      if (passwordHash !== null) {
        return entrance.enterByPassword(request, reply, { person, passwordHash, account, link: waiting })
      }
      if (session === null || account === null) throw new AppError('sign_in_required')
      await chooseAccount(pool, session, account)
      return me(pool, { ...session, entry: await readEntry(pool, session, account, nowMs) }, plans)
    },
  })
}
