import type pg from 'pg'
import { z } from 'zod'

import { type PlanCatalogue, planNamed } from '../../accounts/plans.ts'
import { readLink, useLink } from '../../accounts/sign-in/links.ts'
import { startSession } from '../../accounts/sign-in/sessions.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { ReadClient } from '../../http/client-address.ts'
import { answer, BODY_REFUSALS, refusals } from '../http/answer.ts'
import type { ApiApp } from '../http/app.ts'
import { apiSchema, clientOf } from '../http/app.ts'
import { checkSameSite, setSessionCookie } from '../http/session-access.ts'
import { emailSchema, me, meSchema, passwordSchema } from './account-schema.ts'

// In the body and not in the address: those stand in logs and histories.
const tokenSchema = z.string().min(1).max(200).describe('What stands in the link after `#`')

export const linkSchema = apiSchema(
  'Link',
  z.object({
    kind: z.enum(['first', 'invitation', 'reset']),
    email: z.string().nullable().describe('Of the account; null: whoever uses the link chooses it'),
    expires_at: z.string(),
  }),
)

const LINK_REFUSALS = [
  ...BODY_REFUSALS,
  'invalid_field',
  'link_not_found',
  'cross_site',
  'too_many_requests',
  'internal',
] as const

export function link(
  app: ApiApp,
  deps: {
    pool: pg.Pool
    plans: PlanCatalogue
    clock: Clock
    publicUrl: string | null
    readClient: ReadClient
  },
): void {
  const { pool, plans, clock, publicUrl, readClient } = deps
  app.route({
    method: 'POST',
    url: '/api/links/read',
    config: { access: 'open' },
    schema: {
      operationId: 'readLink',
      tags: ['Signing in'],
      summary: 'What a link offers: the first account, an invitation, or a new password',
      body: z.object({ token: tokenSchema }),
      response: {
        200: answer('What it offers', z.object({ link: linkSchema })),
        ...refusals(...LINK_REFUSALS),
      },
    },
    handler: async (request) => {
      checkSameSite(request)
      return { link: await readLink(pool, request.body.token, clock.nowMs()) }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/links/use',
    config: { access: 'open' },
    schema: {
      operationId: 'useLink',
      tags: ['Signing in'],
      summary: 'Use a link: set a password and be signed in',
      body: z.object({ token: tokenSchema, email: emailSchema.optional(), password: passwordSchema }),
      response: {
        200: answer('Who is signed in now', z.object({ account: meSchema })),
        ...refusals(...LINK_REFUSALS, 'account_exists', 'account_suspended'),
      },
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
