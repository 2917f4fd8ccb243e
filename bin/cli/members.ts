import { wholeAccount } from '@prepaint/contract/ids.ts'
import { ROLES } from '@prepaint/contract/roles.ts'
import type { Actor } from '@prepaint/service/accounts/actor.ts'
import {
  inviteMember,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from '@prepaint/service/accounts/invitations.ts'
import { findMember, listMembers, removeMember, updateMember } from '@prepaint/service/accounts/members.ts'
import { type Commands, defineCommand } from '../command-line/command.ts'
import { withDatabase } from '../command-line/open-database.ts'
import {
  ACCOUNT_OPTIONS,
  accountNamed,
  COMMAND_LINE,
  PERSON_OPTION,
  parseChoiceOption,
  parseIdOption,
} from '../command-line/options.ts'
import { table } from '../command-line/output.ts'
import { shownLink } from './sign-in-link.ts'

/** The operator acts for the owners of the account. */
const OPERATOR: Actor = { member: null, role: 'owner' }

const ROLE_OPTION = { value: 'R', text: 'client, viewer, editor, admin or owner', required: true } as const
const DOMAINS_OPTION = { value: 'D,D', text: 'for client, viewer and editor: only these domains' } as const
const ID_OPTION = { value: 'ID', text: 'the id of the invitation', required: true } as const

const namesOf = (domains: string | null) => domains?.split(',').map((name) => name.trim())

const memberList = defineCommand({
  options: ACCOUNT_OPTIONS,
  async run(named, around) {
    const members = await withDatabase(around, async ({ pool }) => {
      const { id } = await accountNamed(pool, named)
      return listMembers(pool, wholeAccount(id), OPERATOR)
    })
    const rows = members.map(({ id, email, role, domains, last_seen_at: seen }) => [
      String(id),
      email,
      role,
      domains?.join(', ') ?? 'all',
      seen ?? 'never',
    ])
    const headings = [{ heading: 'id', right: true }, 'email', 'role', 'domains', 'last seen'] as const
    return { json: { members }, text: table([...headings], rows, 'No members.') }
  },
})

const memberInvite = defineCommand({
  options: { ...ACCOUNT_OPTIONS, member: PERSON_OPTION, role: ROLE_OPTION, domains: DOMAINS_OPTION },
  async run({ member, role, domains, ...named }, around) {
    const asked = {
      email: member,
      role: parseChoiceOption('role', role, ROLES),
      domains: namesOf(domains),
      invitedBy: COMMAND_LINE,
    }
    const { invitation, link } = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await accountNamed(pool, named)
      return inviteMember(pool, wholeAccount(id), OPERATOR, asked, { isHandedOver: true, nowMs })
    })
    const about = 'Invitation link, shown only once. It works once, within a week:'
    return shownLink(around, about, invitation.email, link)
  },
})

const memberSetRole = defineCommand({
  options: { ...ACCOUNT_OPTIONS, member: PERSON_OPTION, role: ROLE_OPTION, domains: DOMAINS_OPTION },
  async run({ member: email, role, domains, ...named }, around) {
    const change = { role: parseChoiceOption('role', role, ROLES), domains: namesOf(domains) }
    const member = await withDatabase(around, async ({ pool }) => {
      const { id } = await accountNamed(pool, named)
      return updateMember(pool, id, OPERATOR, await findMember(pool, id, email), change)
    })
    const within = member.domains === null ? '' : ` for ${member.domains.join(', ')}`
    return { json: { member }, text: `${member.email} is now ${member.role}${within}.` }
  },
})

const memberRemove = defineCommand({
  options: {
    ...ACCOUNT_OPTIONS,
    member: PERSON_OPTION,
    'revoke-keys': { value: null, text: 'also revoke the API keys that the member made' },
  },
  async run({ member: email, 'revoke-keys': revokesKeys, ...named }, around) {
    const deleted = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await accountNamed(pool, named)
      return removeMember(pool, id, OPERATOR, await findMember(pool, id, email), { revokesKeys, nowMs })
    })
    return { json: { deleted }, text: `${deleted.email} is no longer a member.` }
  },
})

const invitationList = defineCommand({
  options: ACCOUNT_OPTIONS,
  async run(named, around) {
    const invitations = await withDatabase(around, async ({ pool, nowMs }) => {
      const { id } = await accountNamed(pool, named)
      return listInvitations(pool, id, nowMs)
    })
    const rows = invitations.map(({ id, email, role, state, expires_at: expires }) => [
      String(id),
      email,
      role,
      state,
      expires,
    ])
    const headings = [{ heading: 'id', right: true }, 'email', 'role', 'state', 'expires'] as const
    return { json: { invitations }, text: table([...headings], rows, 'No invitations.') }
  },
})

const invitationResend = defineCommand({
  options: { ...ACCOUNT_OPTIONS, id: ID_OPTION },
  async run({ id: raw, ...named }, around) {
    const { invitation, link } = await withDatabase(around, async ({ pool, nowMs }) => {
      const account = await accountNamed(pool, named)
      return resendInvitation(pool, account.id, OPERATOR, parseIdOption(raw), { isHandedOver: true, nowMs })
    })
    const about = 'New invitation link, shown only once. It works once, within a week:'
    return shownLink(around, about, invitation.email, link)
  },
})

const invitationRevoke = defineCommand({
  options: { ...ACCOUNT_OPTIONS, id: ID_OPTION },
  async run({ id: raw, ...named }, around) {
    const deleted = await withDatabase(around, async ({ pool }) => {
      const account = await accountNamed(pool, named)
      return revokeInvitation(pool, account.id, OPERATOR, parseIdOption(raw))
    })
    return { json: { deleted }, text: `The invitation of ${deleted.email} is revoked.` }
  },
})

export const commands: Commands = {
  'member list': memberList,
  'member invite': memberInvite,
  'member set-role': memberSetRole,
  'member remove': memberRemove,
  'invitation list': invitationList,
  'invitation resend': invitationResend,
  'invitation revoke': invitationRevoke,
}
