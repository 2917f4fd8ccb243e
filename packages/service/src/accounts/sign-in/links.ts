import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { addAccount, checkPlan, type Role } from '../accounts.ts'
import { emailOf, parseEmail } from '../email.ts'
import { createSecret, hashSecret } from '../secrets.ts'
import { setPassword } from './passwords.ts'

/** `first` creates the operator of a new installation; `reset` sets a new password. */
type LinkKind = 'first' | 'invitation' | 'reset'

export type NewLink =
  | { kind: 'first'; plan: string }
  | { kind: 'invitation'; email: string; plan: string; role: Role }
  | { kind: 'reset'; account: AccountId }

export type CreatedLink = { token: string; expires_at: string }

/** The user chooses an address if `email` is null. */
type LinkView = { kind: LinkKind; email: string | null; expires_at: string }

const HOUR_MS = 3_600_000
const LIFE_MS: Record<LinkKind, number> = {
  first: 24 * HOUR_MS,
  invitation: 7 * 24 * HOUR_MS,
  reset: HOUR_MS,
}

const OPERATORS = `select from account where role = 'operator' and password_hash is not null`
/** The first link was shown in a terminal or log, so it ends once an operator can sign in. */
const IS_VALID = `(l.kind <> 'first' or not exists (${OPERATORS}))`

/** Creates a link that works once, and ends earlier links of its kind for the person. Throws `invalid_field` or `account_exists`. */
export async function createLink(
  pool: pg.Pool,
  plans: PlanCatalogue,
  link: NewLink,
  nowMs: number,
): Promise<CreatedLink> {
  const email = link.kind === 'invitation' ? emailOf(link.email) : null
  const plan = link.kind === 'reset' ? null : link.plan
  if (plan !== null) checkPlan(plans, plan)
  const account = link.kind === 'reset' ? link.account : null
  const role = roleOf(link)
  const secret = createSecret('pp_in_')
  const expiresAt = new Date(nowMs + LIFE_MS[link.kind])
  await transaction(pool, async (client) => {
    if (email !== null) {
      const { rowCount } = await client.query('select from account where email = $1', [email])
      if (rowCount !== 0) throw new AppError('account_exists')
    }
    await client.query(
      `delete from sign_in_link where kind = $1 and email is not distinct from $2
          and account_id is not distinct from $3`,
      [link.kind, email, account],
    )
    await client.query(
      `insert into sign_in_link (token_hash, kind, email, plan, role, account_id, expires_at)
       values ($1, $2, $3, $4, $5, $6, $7)`,
      [secret.hash, link.kind, email, plan, role, account, expiresAt],
    )
  })
  return { token: secret.raw, expires_at: expiresAt.toISOString() }
}

function roleOf(link: NewLink): Role {
  if (link.kind === 'first') return 'operator'
  return link.kind === 'invitation' ? link.role : 'owner'
}

/** Throws `link_not_found` if the link is unknown, used or expired. */
export async function readLink(db: Queryable, token: string, nowMs: number): Promise<LinkView> {
  const { rows } = await db.query<{ kind: LinkKind; email: string | null; expires_at: Date }>(
    `select l.kind, coalesce(l.email, a.email) as email, l.expires_at
       from sign_in_link l left join account a on a.id = l.account_id
      where l.token_hash = $1 and l.expires_at > $2 and ${IS_VALID}`,
    [hashSecret(token), new Date(nowMs)],
  )
  const row = rows[0]
  if (row === undefined) throw new AppError('link_not_found')
  return { ...row, expires_at: row.expires_at.toISOString() }
}

/**
 * Creates the account, or sets its password and ends its sessions. Concurrent uses: one gets `link_not_found`.
 * `email` counts only if the link has none. The link stays valid after `invalid_field` and `account_exists`.
 */
export async function useLink(
  pool: pg.Pool,
  plans: PlanCatalogue,
  token: string,
  input: { email: string | null; password: string },
  nowMs: number,
): Promise<AccountId> {
  return transaction(pool, async (client) => {
    const { rows } = await client.query<{
      kind: LinkKind
      email: string | null
      plan: string | null
      role: Role
      account_id: AccountId | null
    }>(
      `delete from sign_in_link l where token_hash = $1 and expires_at > $2 and ${IS_VALID}
       returning kind, email, plan, role, account_id`,
      [hashSecret(token), new Date(nowMs)],
    )
    const link = rows[0]
    if (link === undefined) throw new AppError('link_not_found')
    if (link.account_id !== null) {
      await setPassword(client, link.account_id, input.password)
      return link.account_id
    }
    const email = emailOf(link.email ?? input.email ?? '')
    const account = { email, plan: link.plan ?? '', role: link.role, password: input.password }
    return (await addAccount(client, plans, account)).id
  })
}

/** Tells whether an operator can sign in with a password. */
export async function hasOperator(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query(`${OPERATORS} limit 1`)
  return rowCount !== 0
}

/** Returns the account to send a reset link to, or null if there is none or it is suspended. */
export async function findResetAccount(
  db: Queryable,
  email: string,
): Promise<{ id: AccountId; email: string } | null> {
  const { rows } = await db.query<{ id: AccountId; email: string }>(
    'select id, email from account where email = $1 and suspended_at is null',
    [parseEmail(email) ?? ''],
  )
  return rows[0] ?? null
}
