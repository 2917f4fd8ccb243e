import { emailSchema, meSchema, passwordSchema } from '@prepaint/contract/api/account-schema.ts'
import { apiSchema } from '@prepaint/contract/api/api-schema.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import { planNamed } from '@prepaint/contract/settings/plans.ts'
import { readLink, useLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { startSession } from '@prepaint/service/accounts/sign-in/sessions.ts'
import { z } from 'zod'
import { type ApiApp, type ApiDeps, clientOf } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { checkSameSite, setSessionCookie } from '../http/session-access.ts'
import { me } from './me.ts'

// In the body, because logs and browser histories keep URLs.
const tokenSchema = z.string().min(1).max(200).describe('The part of the link after `#`')

export const linkSchema = apiSchema(
  'Link',
  z.object({
    kind: z.enum(['first', 'invitation', 'reset']),
    email: z.string().nullable().describe('Of the account; null: chosen when the link is used'),
    expires_at: z.string(),
  }),
)

export function links(app: ApiApp, deps: ApiDeps): void {
  const { clock, plans, pool, publicUrl, readClient } = deps

  app.route({
    method: 'POST',
    url: '/api/links/read',
    config: { access: 'open', refuses: ['link_not_found', 'cross_site'] },
    schema: {
      operationId: 'readLink',
      tags: ['Signing in'],
      summary: 'What a link is for: the first account, an invitation, or a new password',
      body: z.object({ token: tokenSchema }),
      response: { 200: jsonResponse('The link', z.object({ link: linkSchema })) },
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
      body: z.object({ token: tokenSchema, email: emailSchema.optional(), password: passwordSchema }),
      response: { 200: jsonResponse('The account that is signed in', z.object({ account: meSchema })) },
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
