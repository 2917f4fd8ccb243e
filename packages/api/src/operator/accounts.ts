import { revokedInvitationAnswer } from '@prepaint/contract/api/members.ts'
import {
  accountInvitationParams,
  accountParams,
  createResetLinkAnswer,
  inviteAnswer,
  inviteBody,
  listAccountInvitationsAnswer,
  listAccountsAnswer,
  listPersonsAnswer,
  type mailSchema,
  personParams,
  updateAccountAnswer,
  updateAccountBody,
  updatePersonByOperatorAnswer,
  updatePersonByOperatorBody,
} from '@prepaint/contract/api/operator.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, PersonId } from '@prepaint/contract/ids.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import {
  findAccountById,
  listAccountsWithUse,
  setPlan,
  setSuspended,
} from '@prepaint/service/accounts/accounts.ts'
import {
  inviteToNewAccount,
  listAccountInvitations,
  resendAccountInvitation,
  revokeAccountInvitation,
} from '@prepaint/service/accounts/invitations.ts'
import { isMemberOf } from '@prepaint/service/accounts/members.ts'
import {
  changeOperator,
  findContact,
  findPersonById,
  listPersons,
} from '@prepaint/service/accounts/persons.ts'
import { type CreatedLink, createLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { write } from '@prepaint/service/mail/mailer.ts'
import type { z } from 'zod'
import { linkUrl } from '../account/link-url.ts'
import { type ApiApp, type ApiOptions, type ApiParts, numberFrom } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { operatorRoutes } from '../http/routes.ts'

export function operatorAccounts(app: ApiApp, parts: ApiParts, { plans, publicUrl }: ApiOptions): void {
  const add = operatorRoutes(app)
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
    summary: 'Change the plan of an account, suspend it, or end its suspension',
    description:
      'While an account is suspended, sign-in, its keys and its tokens are refused, and crawlers get the origin of its domains, as people do.',
    params: accountParams,
    body: updateAccountBody,
    response: { 200: jsonResponse('The account', updateAccountAnswer) },
    refuses: ['account_not_found', 'own_suspension'],
    handler: async ({ person }, request) => {
      const id = accountOf(request.params.id)
      const { plan, suspended } = request.body
      // Otherwise the last operator could lock everyone out.
      if (suspended === true && (await isMemberOf(pool, person, id))) throw new AppError('own_suspension')
      if (plan !== undefined) await setPlan(pool, plans, id, plan)
      if (suspended !== undefined) await setSuspended(pool, id, suspended, clock.nowMs())
      await caughtUp()
      return { account: await findAccountById(pool, id) }
    },
  })

  add('GET', '/api/operator/persons', 'listPersons', {
    summary: 'All persons who can sign in, by e-mail',
    response: { 200: jsonResponse('The persons', listPersonsAnswer) },
    handler: async () => ({ persons: await listPersons(pool) }),
  })

  add('PUT', '/api/operator/persons/:id', 'updatePerson', {
    summary: 'Make a person an operator, or end that',
    params: personParams,
    body: updatePersonByOperatorBody,
    response: { 200: jsonResponse('The person', updatePersonByOperatorAnswer) },
    refuses: ['person_not_found', 'own_role', 'person_not_proven'],
    handler: async ({ person }, request) => {
      const id = numberFrom(request.params.id, 'person_not_found') as PersonId
      // Otherwise the last operator could lock everyone out.
      if (id === person) throw new AppError('own_role')
      await transaction(pool, (client) => changeOperator(client, id, request.body.is_operator))
      return { person: await findPersonById(pool, id) }
    },
  })

  add('GET', '/api/operator/invitations', 'listAccountInvitations', {
    summary: 'The waiting invitations to accounts of their own, newest first',
    response: { 200: jsonResponse('The invitations', listAccountInvitationsAnswer) },
    handler: async () => ({ invitations: await listAccountInvitations(pool, clock.nowMs()) }),
  })

  add('POST', '/api/operator/invitations', 'invite', {
    summary: 'Make an invitation link that creates an account; works once, for a week',
    description: 'An address can have several accounts if their names differ.',
    body: inviteBody,
    response: {
      201: jsonResponse('The link, shown only once', inviteAnswer),
    },
    refuses: ['account_exists'],
    handler: async (session, request, reply) => {
      const { email, plan, name, role = 'owner' } = request.body
      const asked = { email, plan, name, isOperator: role === 'operator', invitedBy: session.email }
      const { invitation, link } = await inviteToNewAccount(pool, plans, asked, clock.nowMs())
      const delivered = await deliver(request, { kind: 'invitation', to: invitation.email }, link)
      return reply.code(201).send({ invitation, ...delivered })
    },
  })

  add('POST', '/api/operator/invitations/:id/resend', 'resendAccountInvitation', {
    summary: 'Make a new link for another 7 days; the one before ends',
    params: accountInvitationParams,
    response: { 200: jsonResponse('The link, shown only once', inviteAnswer) },
    refuses: ['invitation_not_found'],
    handler: async (_session, request) => {
      const id = numberFrom(request.params.id, 'invitation_not_found')
      const { invitation, link } = await resendAccountInvitation(pool, id, clock.nowMs())
      return { invitation, ...(await deliver(request, { kind: 'invitation', to: invitation.email }, link)) }
    },
  })

  add('DELETE', '/api/operator/invitations/:id', 'revokeAccountInvitation', {
    summary: 'Revoke an invitation; its link ends',
    params: accountInvitationParams,
    response: { 200: jsonResponse('What was revoked', revokedInvitationAnswer) },
    refuses: ['invitation_not_found'],
    handler: async (_session, request) => {
      const id = numberFrom(request.params.id, 'invitation_not_found')
      return { deleted: await revokeAccountInvitation(pool, id) }
    },
  })

  add('POST', '/api/operator/accounts/:id/reset-link', 'createResetLink', {
    summary: 'Make a link to set a new password; works once, for an hour',
    isOwnWay: true,
    description: 'For the owner with the contact address of the account, or else its first owner.',
    params: accountParams,
    response: {
      201: jsonResponse('The link, shown only once', createResetLinkAnswer),
    },
    refuses: ['account_not_found', 'person_not_found'],
    handler: async (_session, request, reply) => {
      const { id } = await findAccountById(pool, accountOf(request.params.id))
      const person = await findContact(pool, id)
      const wanted = { kind: 'reset', person: person.id, isHandedOver: true } as const
      const made = await createLink(pool, plans, wanted, clock.nowMs())
      return reply.code(201).send(await deliver(request, { kind: 'reset', to: person.email }, made))
    },
  })

  /** Also e-mails the link if e-mail is configured. The operator always gets the link. */
  async function deliver(
    request: { protocol: string; host: string },
    letter: { kind: 'invitation' | 'reset'; to: string },
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
