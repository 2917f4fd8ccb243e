import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Role } from '../accounts.ts'
import { createSecret, hashSecret, isSecret } from '../secrets.ts'

export type Session = {
  id: number
  account: AccountId
  email: string
  plan: string
  role: Role
}

export type SessionClient = { address: string; userAgent: string }

const DAY_MS = 86_400_000
export const IDLE_DAYS = 7
const SESSION_DAYS = 30

/** SQL for when a session ends that is used at `usedAt`. */
const expiry = (usedAt: string, createdAt: string) =>
  `least(${usedAt}::timestamptz + interval '${IDLE_DAYS} days', ${createdAt}::timestamptz + interval '${SESSION_DAYS} days')`

/**
 * `token` goes into the cookie; only its hash is stored. Returns null if the account is gone or suspended, or its password
 * has changed.
 * Locks the account, so a concurrent suspension or password change ends the session.
 */
export async function startSession(
  db: Queryable,
  account: AccountId,
  { address, userAgent }: SessionClient,
  nowMs: number,
  passwordHash: string | null = null,
): Promise<{ session: Session; token: string } | null> {
  const { raw, hash } = createSecret('pp_se_')
  const { rows } = await db.query<Session>(
    `with owner as (
       select id, email, plan, role from account
        where id = $1 and suspended_at is null and ($6::text is null or password_hash = $6) for share
     ), started as (
       insert into sign_in_session (account_id, token_hash, address, user_agent, created_at, used_at, expires_at)
       select id, $2, $3, $4, $5, $5, ${expiry('$5', '$5')} from owner returning id
     )
     select started.id, owner.id as account, email, plan, role from owner, started`,
    [account, hash, address, userAgent, new Date(nowMs), passwordHash],
  )
  const session = rows[0]
  return session === undefined ? null : { session, token: raw }
}

/**
 * Runs for every request, so ended sessions are refused at once on every node. Extends the idle time once a day, which
 * `renewed` tells. Returns null if the session is unknown or ended. Throws `account_suspended`.
 */
export async function takeSession(
  db: Queryable,
  token: string,
  nowMs: number,
): Promise<{ session: Session; renewed: boolean } | null> {
  if (!isSecret('pp_se_', token)) return null
  const now = new Date(nowMs)
  const { rows } = await db.query<Session & { used_at: Date; suspended: boolean }>({
    name: 'read-session',
    text: `select s.id, s.used_at, a.id as account, a.email, a.plan, a.role, a.suspended_at is not null as suspended
             from sign_in_session s join account a on a.id = s.account_id
            where s.token_hash = $1 and s.expires_at > $2`,
    values: [hashSecret(token), now],
  })
  const row = rows[0]
  if (row === undefined) return null
  const { used_at: usedAt, suspended, ...session } = row
  if (suspended) throw new AppError('account_suspended')
  const renewed = nowMs - usedAt.getTime() >= DAY_MS
  if (renewed) {
    await db.query(
      `update sign_in_session set used_at = $2, expires_at = ${expiry('$2', 'created_at')} where id = $1`,
      [session.id, now],
    )
  }
  return { session, renewed }
}

/** Ends all other sessions after a password change, and returns a new token for this one. Call in the same transaction. */
export async function replaceSession(
  client: Queryable,
  { account, id }: Session,
  nowMs: number,
): Promise<string> {
  const { raw, hash } = createSecret('pp_se_')
  await client.query('delete from sign_in_session where account_id = $1 and id <> $2', [account, id])
  await client.query(
    `update sign_in_session set token_hash = $2, used_at = $3, expires_at = ${expiry('$3', 'created_at')} where id = $1`,
    [id, hash, new Date(nowMs)],
  )
  return raw
}

type ListedSession = {
  id: number
  current: boolean
  created_at: string
  used_at: string
  address: string
  user_agent: string
}

/** Lists active sessions, the newest first. `current` is the id of the calling session. */
export async function listSessions(
  db: Queryable,
  account: AccountId,
  current: number,
  nowMs: number,
): Promise<ListedSession[]> {
  const { rows } = await db.query<{
    id: number
    address: string
    user_agent: string
    created_at: Date
    used_at: Date
  }>(
    `select id, created_at, used_at, address, user_agent from sign_in_session
      where account_id = $1 and expires_at > $2 order by id desc`,
    [account, new Date(nowMs)],
  )
  return rows.map((row) => ({
    ...row,
    current: row.id === current,
    created_at: row.created_at.toISOString(),
    used_at: row.used_at.toISOString(),
  }))
}

/** Returns whether the account had such a session. */
export async function endSession(db: Queryable, account: AccountId, id: number): Promise<boolean> {
  const { rowCount } = await db.query(
    'delete from sign_in_session where account_id = $1 and id = $2::bigint',
    [account, id],
  )
  return rowCount !== 0
}

/** Ends all sessions of an account and returns how many there were. */
export async function endSessions(db: Queryable, account: AccountId): Promise<number> {
  const { rowCount } = await db.query('delete from sign_in_session where account_id = $1', [account])
  return rowCount ?? 0
}
