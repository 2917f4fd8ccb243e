import {
  endSessionsOfMemberAnswer,
  inviteMemberAnswer,
  inviteMemberBody,
  listInvitationsAnswer,
  listMembersAnswer,
  memberAnswer,
  memberParams,
  removedMemberAnswer,
  removeMemberQuery,
  revokedInvitationAnswer,
  transferAccountAnswer,
  transferAccountBody,
  updateMemberBody,
} from '@prepaint/contract/api/members.ts'
import { invalidField } from '@prepaint/contract/errors.ts'
import { hasRole } from '@prepaint/contract/roles.ts'
import { readLook } from '@prepaint/service/accounts/branding.ts'
import {
  type Invitation,
  inviteMember,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from '@prepaint/service/accounts/invitations.ts'
import {
  endSessionsOfMember,
  listMembers,
  removeMember,
  transferAccount,
  updateMember,
} from '@prepaint/service/accounts/members.ts'
import type { CreatedLink } from '@prepaint/service/accounts/sign-in/links.ts'
import { write } from '@prepaint/service/mail/mailer.ts'
import type { FastifyRequest } from 'fastify'
import { actorOf, callerOf, checkFresh, memberCaller } from '../http/access.ts'
import { type ApiApp, type ApiOptions, type ApiParts, numberFrom } from '../http/app.ts'
import { jsonResponse } from '../http/responses.ts'
import { accountRoutes } from '../http/routes.ts'
import { linkUrl } from './link-url.ts'

const OWNERS = 'Only owners may touch an owner, or make one.'

export function members(app: ApiApp, { caughtUp, clock, pool }: ApiParts): void {
  const add = accountRoutes(app, 'Members')
  const idOf = (request: { params: { id: string } }) => numberFrom(request.params.id, 'member_not_found')

  add('GET', '/api/members', 'listMembers', {
    summary: 'The members of the account, by e-mail',
    response: { 200: jsonResponse('The members', listMembersAnswer) },
    handler: async (scope, request) => {
      const { member } = callerOf(request)
      return { members: await listMembers(pool, scope, member) }
    },
  })

  add('PUT', '/api/members/:id', 'updateMember', {
    summary: 'Change the role of a member, or the domains that the member is limited to',
    description: `In effect from the next request on. ${OWNERS}`,
    params: memberParams,
    body: updateMemberBody,
    refuses: ['member_not_found', 'domain_not_found', 'last_owner'],
    response: { 200: jsonResponse('The member', memberAnswer) },
    handler: async ({ account }, request) => {
      const { role, domains } = request.body
      if (role === undefined && domains === undefined) throw invalidField(['role'], 'or domains is required')
      const member = await updateMember(pool, account, actorOf(request), idOf(request), { role, domains })
      await caughtUp()
      return { member }
    },
  })

  add('DELETE', '/api/members/me', 'leaveAccount', {
    summary: 'Leave the account',
    refuses: ['last_owner'],
    response: { 200: jsonResponse('Who left', removedMemberAnswer) },
    handler: async ({ account }, request) => {
      const how = { revokesKeys: false, nowMs: clock.nowMs() }
      const { member } = memberCaller(request).member
      const deleted = await removeMember(pool, account, actorOf(request), member, how)
      await caughtUp()
      return { deleted }
    },
  })

  add('DELETE', '/api/members/:id', 'removeMember', {
    summary: 'Remove a member',
    description: `In effect from the next request on. API keys that the member made stay, because they belong to the account. ${OWNERS}`,
    params: memberParams,
    query: removeMemberQuery,
    refuses: ['member_not_found', 'last_owner'],
    response: { 200: jsonResponse('Who was removed', removedMemberAnswer) },
    handler: async ({ account }, request) => {
      const how = { revokesKeys: request.query.revoke_keys === 'true', nowMs: clock.nowMs() }
      const deleted = await removeMember(pool, account, actorOf(request), idOf(request), how)
      await caughtUp()
      return { deleted }
    },
  })

  add('DELETE', '/api/members/:id/sessions', 'endSessionsOfMember', {
    summary: 'Make a member sign in anew to enter this account',
    description: `Other accounts of the person are not touched. ${OWNERS}`,
    params: memberParams,
    refuses: ['member_not_found'],
    response: { 200: jsonResponse('Number of sessions', endSessionsOfMemberAnswer) },
    handler: async ({ account }, request) => {
      const ended = await endSessionsOfMember(pool, account, actorOf(request), idOf(request), clock.nowMs())
      await caughtUp()
      return { ended }
    },
  })

  add('POST', '/api/account/transfer', 'transferAccount', {
    summary: 'Make another member the owner, and yourself an admin',
    body: transferAccountBody,
    refuses: ['member_not_found'],
    response: { 200: jsonResponse('Both members', transferAccountAnswer) },
    handler: async ({ account }, request) => {
      const done = await transferAccount(
        pool,
        account,
        memberCaller(request).member.member,
        request.body.member_id,
      )
      await caughtUp()
      return done
    },
  })
}

export function invitations(app: ApiApp, parts: ApiParts, { publicUrl, confirmSeconds }: ApiOptions): void {
  const add = accountRoutes(app, 'Members')
  const { clock, mailer, pool } = parts
  const isHandedOver = mailer === null || publicUrl === null
  const idOf = (request: { params: { id: string } }) => numberFrom(request.params.id, 'invitation_not_found')
  const letters = '3 letters per address and 100 per account are sent in 24 hours.'

  add('GET', '/api/invitations', 'listInvitations', {
    summary: 'Waiting invitations, and expired ones for 30 days, newest first',
    response: { 200: jsonResponse('The invitations', listInvitationsAnswer) },
    handler: async ({ account }) => ({ invitations: await listInvitations(pool, account, clock.nowMs()) }),
  })

  add('POST', '/api/invitations', 'inviteMember', {
    summary: 'Invite a person to the account; the link works once, for 7 days',
    description: `With e-mail only the letter has the link. The answer does not depend on whether the address has a login. ${letters} ${OWNERS}`,
    body: inviteMemberBody,
    refuses: [
      'domain_not_found',
      'already_member',
      'already_invited',
      'member_limit',
      'invitation_limit',
      'too_many_invitations',
      'confirm_needed',
    ],
    response: { 201: jsonResponse('The invitation', inviteMemberAnswer) },
    handler: async (scope, request, reply) => {
      const { session } = memberCaller(request)
      if (hasRole(request.body.role, 'admin')) checkFresh(session, clock.nowMs(), confirmSeconds)
      const asked = { ...request.body, invitedBy: session.email }
      const how = { isHandedOver, nowMs: clock.nowMs() }
      const made = await inviteMember(pool, scope, actorOf(request), asked, how)
      return reply.code(201).send(await deliver(request, made))
    },
  })

  add('POST', '/api/invitations/:id/resend', 'resendInvitation', {
    summary: 'Make a new link for another 7 days; the one before ends',
    description: `${letters} ${OWNERS}`,
    params: memberParams,
    refuses: [
      'invitation_not_found',
      'already_member',
      'already_invited',
      'invitation_limit',
      'too_many_invitations',
    ],
    response: { 200: jsonResponse('The invitation', inviteMemberAnswer) },
    handler: async ({ account }, request) => {
      const how = { isHandedOver, nowMs: clock.nowMs() }
      const made = await resendInvitation(pool, account, actorOf(request), idOf(request), how)
      return deliver(request, made)
    },
  })

  add('DELETE', '/api/invitations/:id', 'revokeInvitation', {
    summary: 'Revoke an invitation; its link ends',
    description: OWNERS,
    params: memberParams,
    refuses: ['invitation_not_found'],
    response: { 200: jsonResponse('What was revoked', revokedInvitationAnswer) },
    handler: async ({ account }, request) => {
      return { deleted: await revokeInvitation(pool, account, actorOf(request), idOf(request)) }
    },
  })

  /** Without e-mail the inviter gets the link. */
  async function deliver(
    request: FastifyRequest,
    { invitation, link: { token } }: { invitation: Invitation; link: CreatedLink },
  ) {
    const url = linkUrl(publicUrl, request, token)
    if (mailer === null || publicUrl === null)
      return { invitation, link: { token, url }, mail: 'off' as const }
    const { member } = memberCaller(request)
    const outcome = await mailer.send(
      write({
        kind: 'member',
        to: invitation.email,
        url,
        endsAt: invitation.expires_at,
        account: member.accountName,
        invitedBy: invitation.invited_by,
        role: invitation.role,
        domains: invitation.domains,
        look: await readLook(pool, member.account),
      }),
    )
    return { invitation, link: null, mail: outcome === 'sent' ? ('sent' as const) : ('failed' as const) }
  }
}
