import {
  accountParams,
  createResetLinkAnswer,
  inviteAnswer,
  inviteBody,
  listAccountsAnswer,
  type mailSchema,
  updateAccountAnswer,
  updateAccountBody,
} from '@prepaint/contract/api/operator.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import {
  findAccountById,
  listAccountsWithUse,
  setPlan,
  setRole,
  setSuspended,
} from '@prepaint/service/accounts/accounts.ts'
import { emailOf } from '@prepaint/service/accounts/email.ts'
import { type CreatedLink, createLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { type SignInLetter, write } from '@prepaint/service/mail/mailer.ts'
import type { z } from 'zod'
import { type ApiApp, type ApiOptions, type ApiParts, numberFrom } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'

export function operatorAccounts(app: ApiApp, parts: ApiParts, { plans, publicUrl }: ApiOptions): void {
  const add = accountRoutes(app, 'Operator', 'operator')
  const { caughtUp, clock, mailer, pool } = parts

  add('GET', '/api/operator/accounts', 'listAccounts', {
    summary: 'All accounts, by e-mail',
    response: {
      200: jsonResponse('The accounts, and the names of all plans', listAccountsAnswer),
    },
    handler: async () => ({
      accounts: await listAccountsWithUse(pool, clock.nowMs()),
      plans: Object.keys(plans),
    }),
  })

  add('PUT', '/api/operator/accounts/:id', 'updateAccount', {
    summary: 'Change the plan or role of an account, suspend it, or end its suspension',
    description:
      'While an account is suspended, sign-in, its keys and its tokens are refused, and crawlers get the origin of its domains, as people do.',
    params: accountParams,
    body: updateAccountBody,
    response: { 200: jsonResponse('The account', updateAccountAnswer) },
    refuses: ['account_not_found', 'own_role', 'own_suspension'],
    handler: async (account, request) => {
      const id = accountOf(request.params.id)
      const { plan, role, suspended } = request.body
      const isOwn = id === account
      // Otherwise the last operator could lock everyone out.
      if (suspended === true && isOwn) throw new AppError('own_suspension')
      if (role !== undefined && isOwn) throw new AppError('own_role')
      if (plan !== undefined) await setPlan(pool, plans, id, plan)
      if (role !== undefined) await setRole(pool, id, role)
      if (suspended !== undefined) await setSuspended(pool, id, suspended, clock.nowMs())
      await caughtUp()
      return { account: await findAccountById(pool, id) }
    },
  })

  add('POST', '/api/operator/invitations', 'invite', {
    summary: 'Make an invitation link that creates an account; works once, for a week',
    body: inviteBody,
    response: {
      201: jsonResponse('The link, shown only once', inviteAnswer),
    },
    refuses: ['account_exists'],
    handler: async (_account, request, reply) => {
      const { email, plan, role = 'owner' } = request.body
      const made = await createLink(pool, plans, { kind: 'invitation', email, plan, role }, clock.nowMs())
      return reply.code(201).send(await deliver(request, { kind: 'invitation', to: emailOf(email) }, made))
    },
  })

  add('POST', '/api/operator/accounts/:id/reset-link', 'createResetLink', {
    summary: 'Make a link to set a new password; works once, for an hour',
    params: accountParams,
    response: {
      201: jsonResponse('The link, shown only once', createResetLinkAnswer),
    },
    refuses: ['account_not_found'],
    handler: async (_account, request, reply) => {
      const { id, email } = await findAccountById(pool, accountOf(request.params.id))
      const made = await createLink(pool, plans, { kind: 'reset', account: id }, clock.nowMs())
      return reply.code(201).send(await deliver(request, { kind: 'reset', to: email }, made))
    },
  })

  /** Also e-mails the link if e-mail is configured. The operator always gets the link. */
  async function deliver(
    request: { protocol: string; host: string },
    letter: Pick<SignInLetter, 'kind' | 'to'>,
    made: CreatedLink,
  ): Promise<{ link: CreatedLink & { url: string }; mail: z.infer<typeof mailSchema> }> {
    const url = linkUrl(publicUrl, request, made.token)
    const link = { ...made, url }
    if (mailer === null || publicUrl === null) return { link, mail: 'off' }
    const outcome = await mailer.send(write({ ...letter, url, endsAt: made.expires_at }))
    return { link, mail: outcome === 'sent' ? 'sent' : 'failed' }
  }
}

function accountOf(raw: string): AccountId {
  return numberFrom(raw, 'account_not_found') as AccountId
}

function linkUrl(
  publicUrl: string | null,
  request: { protocol: string; host: string },
  token: string,
): string {
  return `${publicUrl ?? `${request.protocol}://${request.host}`}/welcome#${token}`
}
