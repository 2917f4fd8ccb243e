import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, Scope } from '@prepaint/contract/ids.ts'
import type { Role } from '@prepaint/contract/roles.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { record } from '@prepaint/postgres/audit'
import { Rate } from '@prepaint/postgres/rates'
import { removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { accountNameOf, checkPlan, hasAccount } from './accounts.ts'
import { type Actor, actorNow, checkOwnerRight } from './actor.ts'
import { emailOf } from './email.ts'
import { type AskedDomains, checkGrant, checkMemberLimit, lockAccount } from './members.ts'
import { type CreatedLink, linkToInvitation } from './sign-in/links.ts'

export const INVITATION_LIMIT = 50
const DAY_MS = 86_400_000
const LIVES_MS = 7 * DAY_MS
/** Expired invitations are listed for so long. */
const EXPIRED_KEPT_DAYS = 30

/** Letters in 24 hours. */
export const MOST_LETTERS = { account: 100, address: 3 } as const
const LETTERS = {
  account: lettersOf('invitations account', MOST_LETTERS.account),
  address: lettersOf('invitations address', MOST_LETTERS.address),
}

function lettersOf(what: string, most: number): Rate {
  return new Rate({ what, most, withinMs: DAY_MS, window: 'sliding' })
}

export type Invitation = {
  id: number
  email: string
  role: Role
  domains: string[] | null
  state: 'waiting' | 'expired'
  created_at: string
  expires_at: string
  invited_by: string
}

/** An invitation of the operator, which makes an account. */
export type AccountInvitation = Omit<Invitation, 'role' | 'domains'> & {
  role: 'owner' | 'operator'
  name: string
  plan: string
}

/** Whose invitations: of an account, or of the operator (null). */
type Inviter = AccountId | null

/** With e-mail a letter has the link, and its inviter never sees it. `isHandedOver`: the inviter gets it, because no letter is sent. */
type Sending = { isHandedOver: boolean; nowMs: number }

type Row = {
  id: number
  email: string
  role: Role
  domains: string[] | null
  name: string | null
  plan: string | null
  is_operator: boolean
  invited_by: string
  created_at: Date
  expires_at: Date
}

const SELECT = `select i.id, i.email, i.role, i.plan, i.name, i.is_operator, i.invited_by, i.created_at, i.expires_at,
    case when i.domains is not null then array(
      select d.custom_domain from domain d where d.account_id = i.account_id and d.id = any (i.domains)
       order by d.custom_domain) end as domains
  from invitation i where i.account_id is not distinct from $1`

/** Lists waiting invitations of an account, and expired ones for 30 days, newest first. */
export async function listInvitations(
  db: Queryable,
  account: AccountId,
  nowMs: number,
): Promise<Invitation[]> {
  const { rows } = await listRows(db, account, nowMs - EXPIRED_KEPT_DAYS * DAY_MS)
  return rows.map((row) => toInvitation(row, nowMs))
}

/** Lists the waiting invitations of the operator, newest first. */
export async function listAccountInvitations(db: Queryable, nowMs: number): Promise<AccountInvitation[]> {
  const { rows } = await listRows(db, null, nowMs)
  return rows.map((row) => toAccountInvitation(row, nowMs))
}

function listRows(db: Queryable, inviter: Inviter, afterMs: number): Promise<{ rows: Row[] }> {
  return db.query<Row>(`${SELECT} and i.expires_at > $2 order by i.id desc`, [inviter, new Date(afterMs)])
}

/**
 * Invites an address into an account. Throws `invalid_field`, `domain_not_found`, `already_member`, `already_invited`,
 * `member_limit`, `invitation_limit`, `too_many_invitations`, and as `actorNow`. Tells nothing about persons who are not members.
 */
export async function inviteMember(
  pool: pg.Pool,
  { account }: Scope,
  caller: Actor,
  asked: { email: string; role: Role; domains?: AskedDomains; invitedBy: string },
  { isHandedOver, nowMs }: Sending,
): Promise<{ invitation: Invitation; link: CreatedLink }> {
  const email = emailOf(asked.email)
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    checkOwnerRight(await actorNow(client, account, caller, 'inviteMember'), asked.role)
    const { role, domains } = await checkGrant(client, account, asked.role, asked.domains)
    await refuseMember(client, account, email)
    await checkWaiting(client, account, email, nowMs)
    await checkMemberLimit(client, account)
    if (!isHandedOver) await takeLetters(client, account, email, nowMs)
    const { rows } = await client.query<{ id: number }>(
      `insert into invitation (account_id, email, role, domains, invited_by, created_at, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7) returning id`,
      [account, email, role, domains, asked.invitedBy, new Date(nowMs), new Date(nowMs + LIVES_MS)],
    )
    const { id } = rows[0]!
    const row = await found(client, account, id)
    const isHeld = isHandedOver && caller.member !== null
    const link = await linkToInvitation(client, { kind: 'member', id, isHeld }, nowMs + LIVES_MS)
    const details = { role, domains: row.domains }
    await record(client, { account, action: 'member.invited', target: email, details })
    return { invitation: toInvitation(row, nowMs), link }
  })
}

/** Throws `already_member`. The caller has locked the account. */
async function refuseMember(client: Queryable, account: AccountId, email: string): Promise<void> {
  const { rowCount } = await client.query(
    'select from member m join person p on p.id = m.person_id where m.account_id = $1 and p.email = $2',
    [account, email],
  )
  if (rowCount !== 0) throw new AppError('already_member')
}

/** Throws `already_invited` and `invitation_limit`. The caller has locked the account. */
async function checkWaiting(
  client: Queryable,
  account: AccountId,
  email: string,
  nowMs: number,
): Promise<void> {
  const { rows } = await client.query<{ waiting: number; of_address: number }>(
    `select count(*)::int as waiting, count(*) filter (where email = $2)::int as of_address
       from invitation where account_id = $1 and expires_at > $3`,
    [account, email, new Date(nowMs)],
  )
  const { waiting, of_address: ofAddress } = rows[0]!
  if (ofAddress > 0) throw new AppError('already_invited')
  if (waiting >= INVITATION_LIMIT) throw new AppError('invitation_limit')
}

/**
 * Invites an address to an account of its own. Throws `invalid_field`, or `account_exists` if the address has an account of
 * this name. An invitation that waits for the same account ends.
 */
export async function inviteToNewAccount(
  pool: pg.Pool,
  plans: PlanCatalogue,
  asked: { email: string; plan: string; name?: string | undefined; isOperator: boolean; invitedBy: string },
  nowMs: number,
): Promise<{ invitation: AccountInvitation; link: CreatedLink }> {
  const email = emailOf(asked.email)
  const name = accountNameOf(asked.name ?? email)
  checkPlan(plans, asked.plan)
  return transaction(pool, async (client) => {
    if (await hasAccount(client, email, name)) throw new AppError('account_exists')
    await client.query(
      'delete from invitation where account_id is null and email = $1 and coalesce(name, email) = $2',
      [email, name],
    )
    const { rows } = await client.query<{ id: number }>(
      `insert into invitation (email, plan, name, is_operator, invited_by, created_at, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7) returning id`,
      [
        email,
        asked.plan,
        name,
        asked.isOperator,
        asked.invitedBy,
        new Date(nowMs),
        new Date(nowMs + LIVES_MS),
      ],
    )
    const { id } = rows[0]!
    const row = await found(client, null, id)
    const link = await linkToInvitation(client, { kind: 'invitation', id }, nowMs + LIVES_MS)
    return { invitation: toAccountInvitation(row, nowMs), link }
  })
}

/**
 * Makes a new link for another 7 days; the one before ends. Throws `invitation_not_found`, `already_member`, `already_invited`,
 * `invitation_limit`, `too_many_invitations`, and as `actorNow`.
 */
export async function resendInvitation(
  pool: pg.Pool,
  account: AccountId,
  caller: Actor,
  id: number,
  { isHandedOver, nowMs }: Sending,
): Promise<{ invitation: Invitation; link: CreatedLink }> {
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    const actor = await actorNow(client, account, caller, 'resendInvitation')
    const before = await found(client, account, id)
    checkOwnerRight(actor, before.role)
    await refuseMember(client, account, before.email)
    if (before.expires_at.getTime() <= nowMs) await checkWaiting(client, account, before.email, nowMs)
    if (!isHandedOver) await takeLetters(client, account, before.email, nowMs)
    const isHeld = isHandedOver && caller.member !== null
    const { row, link } = await renew(client, account, { id, isHeld }, nowMs)
    await record(client, { account, action: 'member.invitation_resent', target: row.email })
    return { invitation: toInvitation(row, nowMs), link }
  })
}

/** Does the same for an invitation of the operator. */
export async function resendAccountInvitation(
  pool: pg.Pool,
  id: number,
  nowMs: number,
): Promise<{ invitation: AccountInvitation; link: CreatedLink }> {
  return transaction(pool, async (client) => {
    const { row, link } = await renew(client, null, { id, isHeld: false }, nowMs)
    return { invitation: toAccountInvitation(row, nowMs), link }
  })
}

/** Locks the invitation before its link, as accepting and revoking do. Throws `invitation_not_found`. */
async function renew(
  client: Queryable,
  inviter: Inviter,
  { id, isHeld }: { id: number; isHeld: boolean },
  nowMs: number,
): Promise<{ row: Row; link: CreatedLink }> {
  await client.query(
    'update invitation set expires_at = $3 where account_id is not distinct from $1 and id = $2::bigint',
    [inviter, id, new Date(nowMs + LIVES_MS)],
  )
  const row = await found(client, inviter, id)
  const kind = inviter === null ? 'invitation' : 'member'
  return { row, link: await linkToInvitation(client, { kind, id, isHeld }, nowMs + LIVES_MS) }
}

/** Ends the invitation and its link. Throws `invitation_not_found` and as `actorNow`. */
export async function revokeInvitation(
  pool: pg.Pool,
  account: AccountId,
  caller: Actor,
  id: number,
): Promise<{ id: number; email: string }> {
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    const actor = await actorNow(client, account, caller, 'revokeInvitation')
    checkOwnerRight(actor, (await found(client, account, id)).role)
    const deleted = await deleteInvitation(client, account, id)
    await record(client, { account, action: 'member.invitation_revoked', target: deleted.email })
    return deleted
  })
}

/** Does the same for an invitation of the operator. */
export function revokeAccountInvitation(db: Queryable, id: number): Promise<{ id: number; email: string }> {
  return deleteInvitation(db, null, id)
}

async function deleteInvitation(
  db: Queryable,
  inviter: Inviter,
  id: number,
): Promise<{ id: number; email: string }> {
  const { rows } = await db.query<{ id: number; email: string }>(
    'delete from invitation where account_id is not distinct from $1 and id = $2::bigint returning id, email',
    [inviter, id],
  )
  if (rows[0] === undefined) throw new AppError('invitation_not_found')
  return rows[0]
}

async function found(db: Queryable, inviter: Inviter, id: number): Promise<Row> {
  const { rows } = await db.query<Row>(`${SELECT} and i.id = $2::bigint`, [inviter, id])
  if (rows[0] === undefined) throw new AppError('invitation_not_found')
  return rows[0]
}

/** Throws `too_many_invitations`. A refused letter is not counted, because the transaction ends. */
async function takeLetters(
  client: Queryable,
  account: AccountId,
  email: string,
  nowMs: number,
): Promise<void> {
  const refusal =
    (await LETTERS.account.take(client, `account ${account}`, { nowMs })) ??
    (await LETTERS.address.take(client, `account ${account} ${email}`, { nowMs }))
  if (refusal !== null) throw new AppError('too_many_invitations', { headers: refusal.headers })
}

function toInvitation(row: Row, nowMs: number): Invitation {
  const { id, email, role, domains, invited_by } = row
  return { id, email, role, domains, invited_by, ...timesOf(row, nowMs) }
}

function toAccountInvitation(row: Row, nowMs: number): AccountInvitation {
  const { id, email, invited_by } = row
  return {
    id,
    email,
    name: row.name ?? email,
    plan: row.plan ?? '',
    role: row.is_operator ? 'operator' : 'owner',
    invited_by,
    ...timesOf(row, nowMs),
  }
}

function timesOf(row: Row, nowMs: number): Pick<Invitation, 'state' | 'created_at' | 'expires_at'> {
  return {
    state: row.expires_at.getTime() > nowMs ? 'waiting' : 'expired',
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
  }
}

export function removeOldInvitations(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOld(pool, { table: 'invitation', at: 'expires_at', keptDays: EXPIRED_KEPT_DAYS }, steps)
}
