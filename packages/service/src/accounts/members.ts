import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, PersonId, Scope } from '@prepaint/contract/ids.ts'
import { actionRow, hasRole, LIMITED_ROLES, type Role } from '@prepaint/contract/roles.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { changedFields, record } from '@prepaint/postgres/audit'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { type Actor, actorNow, checkOwnerRight, roleNow } from './actor.ts'
import { parseEmail } from './email.ts'
import { revokeKeysOf } from './keys.ts'
import { HAS_SSO } from './persons.ts'
import { HAS_PASSKEY, HAS_TOTP, type Way } from './sign-in/sessions.ts'

export const MEMBER_LIMIT = 200

/** What a member may do. `domains`: ids, or null for all. */
export type Grant = { role: Role; domains: readonly DomainId[] | null }

export type Member = {
  id: number
  email: string
  name: string | null
  role: Role
  domains: string[] | null
  second_factor: boolean | null
  ways: Way[] | null
  last_seen_at: string | null
  joined_at: string
  you: boolean
}

type MemberRow = {
  id: number
  email: string
  name: string | null
  role: Role
  domains: string[] | null
  has_password: boolean
  has_totp: boolean
  has_passkey: boolean
  has_sso: boolean
  last_seen_at: Date | null
  joined_at: Date
}

/** SQL that lists the names of the ids in `domains`, cut to the domains that the reader may see ($2). */
const selectNames = (row: string) => `case when ${row}.domains is not null then array(
    select d.custom_domain from domain d
     where d.account_id = ${row}.account_id and d.id = any (${row}.domains) and ($2::integer[] is null or d.id = any ($2))
     order by d.custom_domain) end as domains`

const SELECT = `select m.id, p.email, p.name, m.role, ${selectNames('m')}, p.password_hash is not null as has_password,
    ${HAS_TOTP} as has_totp, ${HAS_PASSKEY} as has_passkey, ${HAS_SSO} as has_sso,
    m.last_seen_at, m.joined_at
  from member m join person p on p.id = m.person_id where m.account_id = $1`

/** Lists the members of an account by address. `reader` is null for API keys; only admins see how members sign in. */
export async function listMembers(db: Queryable, scope: Scope, reader: Actor | null): Promise<Member[]> {
  const { rows } = await db.query<MemberRow>(`${SELECT} order by p.email`, [scope.account, scope.domains])
  return rows.map((row) => toMember(row, reader))
}

async function readMember(db: Queryable, account: AccountId, id: number, reader: Actor): Promise<Member> {
  const { rows } = await db.query<MemberRow>(`${SELECT} and m.id = $3::bigint`, [account, null, id])
  if (rows[0] === undefined) throw new AppError('member_not_found')
  return toMember(rows[0], reader)
}

function toMember(
  {
    has_password: hasPassword,
    has_totp: hasTotp,
    has_passkey: hasPasskey,
    has_sso: hasSso,
    ...row
  }: MemberRow,
  reader: Actor | null,
): Member {
  const isShown = reader !== null && hasRole(reader.role, 'admin')
  const ways: Way[] = []
  if (hasPassword) ways.push('password')
  if (hasPasskey) ways.push('passkey')
  if (hasSso) ways.push('sso')
  return {
    ...row,
    second_factor: isShown ? hasTotp || hasPasskey : null,
    ways: isShown ? ways : null,
    last_seen_at: isShown ? (row.last_seen_at?.toISOString() ?? null) : null,
    joined_at: row.joined_at.toISOString(),
    you: reader?.member === row.id,
  }
}

/** Names of domains as a request gives them; null: all, undefined: not said. */
export type AskedDomains = readonly string[] | null | undefined

/**
 * Checks what a member or an invitation is to get. Throws `invalid_field` if domains do not fit the role, and
 * `domain_not_found` for a name that the account lacks.
 */
export async function checkGrant(
  db: Queryable,
  account: AccountId,
  role: Role,
  names: AskedDomains,
): Promise<Grant> {
  if (names == null) {
    if (role === 'client') throw invalidField(['domains'], 'must name at least one domain')
    return { role, domains: null }
  }
  if (!LIMITED_ROLES.includes(role)) throw invalidField(['domains'], 'is for editor, viewer and client')
  if (names.length === 0) throw invalidField(['domains'], 'must name at least one domain')
  return { role, domains: await domainIds(db, account, names) }
}

/** Ids of domains of the account. Throws `domain_not_found`. */
export async function domainIds(
  db: Queryable,
  account: AccountId,
  raw: readonly string[],
): Promise<DomainId[]> {
  const names = new Set<string>()
  for (const each of raw) {
    const parsed = parseDomainName(each)
    if (!parsed.ok) throw new AppError('domain_not_found')
    names.add(parsed.name)
  }
  const { rows } = await db.query<{ id: DomainId }>(
    'select id from domain where account_id = $1 and custom_domain = any ($2::text[]) order by id',
    [account, [...names]],
  )
  if (rows.length < names.size) throw new AppError('domain_not_found')
  return rows.map(({ id }) => id)
}

/** Adds the person, unless it is a member already. The caller has locked the account. */
export async function addMember(
  client: Queryable,
  account: AccountId,
  person: PersonId,
  { role, domains }: Grant,
): Promise<void> {
  await client.query(
    `insert into member (account_id, person_id, role, domains) values ($1, $2, $3, $4)
     on conflict (account_id, person_id) do nothing`,
    [account, person, role, domains],
  )
}

/** Locks the account, so that its members and invitations change one after another. Throws `account_not_found`. */
export async function lockAccount(client: Queryable, account: AccountId): Promise<void> {
  const { rowCount } = await client.query('select from account where id = $1 for no key update', [account])
  if (rowCount === 0) throw new AppError('account_not_found')
}

/** Throws `member_limit`. The caller has locked the account. */
export async function checkMemberLimit(client: Queryable, account: AccountId): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::int as count from member where account_id = $1',
    [account],
  )
  if (rows[0]!.count >= MEMBER_LIMIT) throw new AppError('member_limit')
}

/** Returns the id of the member with an address, ignoring its spelling. Throws `member_not_found`. */
export async function findMember(db: Queryable, account: AccountId, email: string): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    'select m.id from member m join person p on p.id = m.person_id where m.account_id = $1 and p.email = $2',
    [account, parseEmail(email) ?? ''],
  )
  if (rows[0] === undefined) throw new AppError('member_not_found')
  return rows[0].id
}

type LockedMember = { id: number; person_id: PersonId; role: Role; domains: DomainId[] | null; email: string }

/** The caller has locked the account. Throws `member_not_found`. */
async function findLocked(client: Queryable, account: AccountId, id: number): Promise<LockedMember> {
  const { rows } = await client.query<LockedMember>(
    `select m.id, m.person_id, m.role, m.domains, p.email from member m join person p on p.id = m.person_id
      where m.account_id = $1 and m.id = $2::bigint`,
    [account, id],
  )
  if (rows[0] === undefined) throw new AppError('member_not_found')
  return rows[0]
}

/** Throws `last_owner` if the account has no owner but this member. The caller has locked the account. */
async function checkOtherOwner(
  client: Queryable,
  account: AccountId,
  { id, role }: LockedMember,
): Promise<void> {
  if (role !== 'owner') return
  const { rowCount } = await client.query(
    `select from member where account_id = $1 and id <> $2 and role = 'owner' limit 1`,
    [account, id],
  )
  if (rowCount === 0) throw new AppError('last_owner')
}

/**
 * What is undefined stays, but domains end with a role that has none. Throws `member_not_found`, `last_owner`, and as `checkGrant`
 * and `actorNow`.
 */
export async function updateMember(
  pool: pg.Pool,
  account: AccountId,
  caller: Actor,
  id: number,
  change: { role?: Role | undefined; domains?: AskedDomains },
): Promise<Member> {
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    const actor = await actorNow(client, account, caller, 'updateMember')
    checkOwnerRight(actor, change.role)
    const before = await findLocked(client, account, id)
    checkOwnerRight(actor, before.role)
    const role = change.role ?? before.role
    const keeps = change.domains === undefined && before.domains !== null && LIMITED_ROLES.includes(role)
    const grant = keeps
      ? { role, domains: before.domains }
      : await checkGrant(client, account, role, change.domains)
    if (role !== 'owner') await checkOtherOwner(client, account, before)
    await client.query('update member set role = $3, domains = $4 where account_id = $1 and id = $2', [
      account,
      id,
      grant.role,
      grant.domains,
    ])
    await endInvitationsBy(client, account, before.email, grant.role)
    const details = changedFields(
      { role: before.role, domains: await namesOf(client, account, before.domains) },
      { role: grant.role, domains: await namesOf(client, account, grant.domains) },
    )
    if (Object.keys(details).length > 0) {
      await record(client, { account, action: 'member.role_changed', target: before.email, details })
    }
    return readMember(client, account, id, actor.member === id ? { member: id, role } : actor)
  })
}

/** Removes a member; who is the actor itself leaves. Throws `member_not_found`, `last_owner` and as `actorNow`. */
export async function removeMember(
  pool: pg.Pool,
  account: AccountId,
  caller: Actor,
  id: number,
  { revokesKeys, nowMs }: { revokesKeys: boolean; nowMs: number },
): Promise<{ id: number; email: string }> {
  const isLeaving = caller.member === id
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    const actor = await actorNow(client, account, caller, isLeaving ? 'leaveAccount' : 'removeMember')
    const member = await findLocked(client, account, id)
    if (!isLeaving) checkOwnerRight(actor, member.role)
    await checkOtherOwner(client, account, member)
    await client.query('delete from member where account_id = $1 and id = $2', [account, id])
    const action = isLeaving ? 'member.left' : 'member.removed'
    await record(client, { account, action, target: member.email, details: { role: member.role } })
    await endInvitationsBy(client, account, member.email, null)
    if (revokesKeys) {
      await revokeKeysOf(client, account, member.person_id, nowMs)
      await endShareLinksBy(client, account, member.email)
    }
    return { id, email: member.email }
  })
}

/** Ends the invitations of a member that its role now could not send: their links would bring back what was taken from it. `role` null: it left. */
export async function endInvitationsBy(
  client: Queryable,
  account: AccountId,
  inviter: string,
  role: Role | null,
): Promise<void> {
  if (role === 'owner') return
  const mayInvite = role !== null && hasRole(role, actionRow('inviteMember').role)
  const { rows } = await client.query<{ email: string }>(
    `delete from invitation where account_id = $1 and invited_by = $2 and (role = 'owner' or not $3) returning email`,
    [account, inviter, mayInvite],
  )
  for (const { email } of rows) {
    await record(client, { account, action: 'member.invitation_revoked', target: email })
  }
}

async function endShareLinksBy(client: Queryable, account: AccountId, author: string): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'delete from share_link where account_id = $1 and created_by = $2 returning name',
    [account, author],
  )
  for (const { name } of rows) await record(client, { account, action: 'share_link.revoked', target: name })
}

/** Lets no session of before into the account, and returns how many could enter. Throws `member_not_found` and as `actorNow`. */
export async function endSessionsOfMember(
  pool: pg.Pool,
  account: AccountId,
  caller: Actor,
  id: number,
  nowMs: number,
): Promise<number> {
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    const actor = await actorNow(client, account, caller, 'endSessionsOfMember')
    const member = await findLocked(client, account, id)
    if (actor.member !== id) checkOwnerRight(actor, member.role)
    const { rows } = await client.query<{ count: number }>(
      `select count(*)::int as count from session s join member m on m.person_id = s.person_id
        where m.account_id = $1 and m.id = $2 and s.expires_at > $3
          and (m.sessions_ended_at is null or s.created_at > m.sessions_ended_at)`,
      [account, id, new Date(nowMs)],
    )
    await client.query('update member set sessions_ended_at = $3 where account_id = $1 and id = $2', [
      account,
      id,
      new Date(nowMs),
    ])
    const sessions = rows[0]!.count
    await record(client, { account, action: 'session.ended', target: member.email, details: { sessions } })
    return sessions
  })
}

/** Makes the member the owner, and the caller an admin. Throws `member_not_found`, `invalid_field` and as `roleNow`. */
export async function transferAccount(
  pool: pg.Pool,
  account: AccountId,
  caller: number,
  id: number,
): Promise<{ member: Member; you: Member }> {
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    await roleNow(client, account, caller, 'transferAccount')
    const heir = await findLocked(client, account, id)
    if (id === caller) throw invalidField(['member_id'], 'must be another member')
    await client.query(
      `update member set role = case when id = $2 then 'owner' else 'admin' end, domains = null
        where account_id = $1 and id in ($2, $3)`,
      [account, id, caller],
    )
    await record(client, { account, action: 'account.transferred', target: heir.email })
    const { email } = await findLocked(client, account, caller)
    await endInvitationsBy(client, account, email, 'admin')
    const actor: Actor = { member: caller, role: 'admin' }
    return {
      member: await readMember(client, account, id, actor),
      you: await readMember(client, account, caller, actor),
    }
  })
}

export type EnteredAccount = {
  id: AccountId
  name: string
  role: Role
  plan: string
  domains: number
}

/** Lists the accounts that a person is in, by name. `domains` counts those that the member may see. */
export async function listAccountsOf(db: Queryable, person: PersonId): Promise<EnteredAccount[]> {
  const { rows } = await db.query<EnteredAccount>(
    `select a.id, coalesce(a.name, a.email) as name, m.role, a.plan,
            (select count(*)::int from domain d where d.account_id = a.id
                and (m.domains is null or d.id = any (m.domains))) as domains
       from member m join account a on a.id = m.account_id
      where m.person_id = $1 order by 2, a.id`,
    [person],
  )
  return rows
}

/** Tells whether the person is a member of the account. */
export async function isMemberOf(db: Queryable, person: PersonId, account: AccountId): Promise<boolean> {
  const { rowCount } = await db.query('select from member where account_id = $1::bigint and person_id = $2', [
    account,
    person,
  ])
  return rowCount !== 0
}

/** As `domainNames`; null stays null. */
async function namesOf(
  db: Queryable,
  account: AccountId,
  ids: readonly DomainId[] | null,
): Promise<string[] | null> {
  return ids === null ? null : domainNames(db, account, ids)
}

/** Returns the names of the domains with these ids, by name. */
export async function domainNames(
  db: Queryable,
  account: AccountId,
  ids: readonly DomainId[],
): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    'select custom_domain as name from domain where account_id = $1 and id = any ($2) order by custom_domain',
    [account, ids],
  )
  return rows.map(({ name }) => name)
}
