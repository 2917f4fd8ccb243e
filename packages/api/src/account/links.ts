import { readLinkAnswer, readLinkBody, useLinkAnswer, useLinkBody } from '@prepaint/contract/api/account.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { planNamed } from '@prepaint/contract/settings/plans.ts'
import { readLink, useLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { type ApiApp, type ApiOptions, type ApiParts, clientOf } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { checkSameSite, setSessionCookie } from '../http/session-access.ts'
import { me } from './me.ts'

export function links(app: ApiApp, parts: ApiParts, { plans, publicUrl }: ApiOptions): void {
  const { clock, pool, readClient } = parts

  app.route({
    method: 'POST',
    url: '/api/links/read',
    config: { access: 'open', refuses: ['link_not_found', 'cross_site'] },
    schema: {
      operationId: 'readLink',
      tags: ['Signing in'],
      summary: 'What a link is for: the first account, an invitation, or a new password',
      body: readLinkBody,
      response: { 200: jsonResponse('The link', readLinkAnswer) },
    },
    handler: async (request) => {
      checkSameSite(request)
      return { link: await readLink(pool, request.body.token, clock.nowMs()) }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/links/use',
    config: {
      access: 'open',
      refuses: ['link_not_found', 'cross_site', 'account_exists', 'account_suspended'],
    },
    schema: {
      operationId: 'useLink',
      tags: ['Signing in'],
      summary: 'Use a link: set a password and sign in',
      body: useLinkBody,
      response: { 200: jsonResponse('The account that is signed in', useLinkAnswer) },
    },
    handler: async (request, reply) => {
      checkSameSite(request)
      const { token, email, password } = request.body
      const nowMs = clock.nowMs()
      const account = await useLink(pool, plans, token, { email: email ?? null, password }, nowMs)
      const started = await startSession(pool, account, clientOf(readClient, request), nowMs)
      if (started === null) throw new AppError('account_suspended')
      const { session } = started
      setSessionCookie(reply, publicUrl, started.token)
      return { account: me(session, planNamed(plans, session.plan)) }
    },
  })
}
