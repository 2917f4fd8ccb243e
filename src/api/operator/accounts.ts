import type pg from 'pg'
import { z } from 'zod'

import {
  findAccountById,
  listAccountsWithUse,
  setPlan,
  setRole,
  setSuspended,
} from '../../accounts/accounts.ts'
import { emailOf } from '../../accounts/email.ts'
import type { PlanCatalogue } from '../../accounts/plans.ts'
import { type CreatedLink, createLink } from '../../accounts/sign-in/links.ts'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { AccountId } from '../../ids.ts'
import type { Mailer } from '../../mail/mailer.ts'
import { type Letter, write } from '../../mail/mailer.ts'
import { emailSchema, roleSchema } from '../account/account-schema.ts'
import { sessionCaller } from '../http/access.ts'
import { answer, BODY_REFUSALS, OPERATOR_REFUSALS, refusals } from '../http/answer.ts'
import type { ApiApp, CaughtUp } from '../http/app.ts'
import { apiSchema, idOf } from '../http/app.ts'

const accountSchema = apiSchema(
  'Account',
  z.object({
    id: z.int(),
    email: z.string(),
    plan: z.string(),
    role: roleSchema,
    created_at: z.string(),
  }),
)

export const accountInListSchema = apiSchema(
  'AccountInList',
  z.object({
    ...accountSchema.shape,
    can_sign_in: z.boolean().describe('Whether a password was set'),
    suspended: z.boolean(),
    domains: z.int(),
    renders_used: z.int().describe('Of all its domains, in the current month (UTC)'),
  }),
)

export const createdLinkSchema = apiSchema(
  'CreatedLink',
  z.object({
    token: z.string().describe('Goes behind the `#` of `/welcome`'),
    url: z.string().describe('To be given to whom it is for; works once'),
    expires_at: z.string(),
  }),
)

const mailSchema = z
  .enum(['sent', 'failed', 'off'])
  .describe('Whether the link went by mail as well; `off`: no mail is set up')

const idParams = z.object({ id: z.string().describe('Of the account') })

/** What an operator does with accounts: he sees and changes them, and signs in as nobody else. */
export function operatorAccounts(
  app: ApiApp,
  deps: {
    pool: pg.Pool
    plans: PlanCatalogue
    clock: Clock
    caughtUp: CaughtUp
    publicUrl: string | null
    mailer?: Pick<Mailer, 'send'>
  },
): void {
  const { pool, plans, clock, caughtUp } = deps

  app.route({
    method: 'GET',
    url: '/api/operator/accounts',
    config: { access: 'operator' },
    schema: {
      operationId: 'listAccounts',
      tags: ['Operator'],
      summary: 'All accounts, by e-mail',
      security: [{ Session: [] }],
      response: {
        200: answer(
          'The accounts, and the plans that there are',
          z.object({ accounts: z.array(accountInListSchema), plans: z.array(z.string()) }),
        ),
        ...refusals(...OPERATOR_REFUSALS),
      },
    },
    handler: async () => ({
      accounts: await listAccountsWithUse(pool, clock.nowMs()),
      plans: Object.keys(plans),
    }),
  })

  app.route({
    method: 'PUT',
    url: '/api/operator/accounts/:id',
    config: { access: 'operator' },
    schema: {
      operationId: 'updateAccount',
      tags: ['Operator'],
      summary: 'Change the plan or the role of an account, suspend it or let it go on',
      description:
        'While an account is suspended nobody signs in to it, its keys and tokens are refused, and crawlers get the origin of its domains, as people do.',
      security: [{ Session: [] }],
      params: idParams,
      body: z.object({
        plan: z.string().optional(),
        role: roleSchema.optional(),
        suspended: z.boolean().optional(),
      }),
      response: {
        200: answer('The account', z.object({ account: accountSchema })),
        ...refusals(
          ...OPERATOR_REFUSALS,
          ...BODY_REFUSALS,
          'invalid_field',
          'account_not_found',
          'own_role',
          'own_suspension',
        ),
      },
    },
    handler: async (request) => {
      const id = accountOf(request.params.id)
      const { plan, role, suspended } = request.body
      const isOwn = id === sessionCaller(request).account
      // Else the last operator could shut everybody out.
      if (suspended === true && isOwn) throw new AppError('own_suspension')
      if (role !== undefined && isOwn) throw new AppError('own_role')
      if (plan !== undefined) await setPlan(pool, plans, id, plan)
      if (role !== undefined) await setRole(pool, id, role)
      if (suspended !== undefined) await setSuspended(pool, id, suspended, clock.nowMs())
      await caughtUp()
      return { account: await findAccountById(pool, id) }
    },
  })

  app.route({
    method: 'POST',
    url: '/api/operator/invitations',
    config: { access: 'operator' },
    schema: {
      operationId: 'invite',
      tags: ['Operator'],
      summary: 'Make a link by which somebody makes his account; it works once, for a week',
      security: [{ Session: [] }],
      body: z.object({ email: emailSchema, plan: z.string(), role: roleSchema.optional() }),
      response: {
        201: answer('The link, shown this once', z.object({ link: createdLinkSchema, mail: mailSchema })),
        ...refusals(...OPERATOR_REFUSALS, ...BODY_REFUSALS, 'invalid_field', 'account_exists'),
      },
    },
    handler: async (request, reply) => {
      const { email, plan, role = 'owner' } = request.body
      const made = await createLink(pool, plans, { kind: 'invitation', email, plan, role }, clock.nowMs())
      return reply.code(201).send(await handedOut(request, { kind: 'invitation', to: emailOf(email) }, made))
    },
  })

  app.route({
    method: 'POST',
    url: '/api/operator/accounts/:id/reset-link',
    config: { access: 'operator' },
    schema: {
      operationId: 'createResetLink',
      tags: ['Operator'],
      summary: 'Make a link by which the owner of an account sets a new password; it works once, for an hour',
      security: [{ Session: [] }],
      params: idParams,
      response: {
        201: answer('The link, shown this once', z.object({ link: createdLinkSchema, mail: mailSchema })),
        ...refusals(...OPERATOR_REFUSALS, 'account_not_found', 'malformed_request'),
      },
    },
    handler: async (request, reply) => {
      const { id, email } = await findAccountById(pool, accountOf(request.params.id))
      const made = await createLink(pool, plans, { kind: 'reset', account: id }, clock.nowMs())
      return reply.code(201).send(await handedOut(request, { kind: 'reset', to: email }, made))
    },
  })

  /** By mail too, where that is set up; the operator sees the link whatever becomes of the mail. */
  async function handedOut(
    request: { protocol: string; host: string },
    letter: Pick<Letter, 'kind' | 'to'>,
    made: CreatedLink,
  ): Promise<{ link: CreatedLink & { url: string }; mail: z.infer<typeof mailSchema> }> {
    const url = linkUrl(deps.publicUrl, request, made.token)
    const link = { ...made, url }
    if (deps.mailer === undefined || deps.publicUrl === null) return { link, mail: 'off' }
    const isSent = await deps.mailer.send(write({ ...letter, url, endsAt: made.expires_at }))
    return { link, mail: isSent ? 'sent' : 'failed' }
  }
}

function accountOf(raw: string): AccountId {
  return idOf(raw, 'account_not_found') as AccountId
}

/** Without an address of our own, the one by which the operator has reached us. */
function linkUrl(
  publicUrl: string | null,
  request: { protocol: string; host: string },
  token: string,
): string {
  return `${publicUrl ?? `${request.protocol}://${request.host}`}/welcome#${token}`
}
