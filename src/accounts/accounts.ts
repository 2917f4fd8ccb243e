import type pg from 'pg'
import { z } from 'zod'
import { utcMonth } from '../clock.ts'
import { type Queryable, transaction } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { AccountId } from '../ids.ts'
import { announceAccount } from '../store/invalidation.ts'
import type { PlanCatalogue } from './plans.ts'
import { hashPassword, PASSWORD_MAX_CHARS, PASSWORD_MIN_CHARS } from './sign-in/password-hash.ts'

/** `operator`: may see and change all accounts, too. */
export type Role = 'owner' | 'operator'

export type Account = { id: AccountId; email: string; plan: string; role: Role; created_at: string }

type AccountRow = { id: AccountId; email: string; plan: string; role: Role; created_at: Date }

/**
 * Makes an account. Throws `invalid_field` for an e-mail, plan or password
 * that is none, `account_exists` when the e-mail has one already.
 * Without a password nobody can sign in to it until one is set.
 */
export function createAccount(
  db: Queryable,
  plans: PlanCatalogue,
  input: { email: string; plan: string; password: string | null },
): Promise<Account> {
  return insertAccount(db, plans, { ...input, role: 'owner' })
}

/** As `createAccount`, also for operators. */
export async function insertAccount(
  db: Queryable,
  plans: PlanCatalogue,
  input: { email: string; plan: string; role: Role; password: string | null },
): Promise<Account> {
  const email = emailOf(input.email)
  checkPlan(plans, input.plan)
  const hash = input.password === null ? null : await hashPassword(checkedPassword(input.password))
  const { rows } = await db.query<AccountRow>(
    `with made as (
       insert into account (email, plan, role) values ($1, $2, $3)
       on conflict (email) do nothing returning id, email, plan, role, created_at
     ), method as (
       insert into sign_in_method (account_id, provider, provider_account, password)
       select id, 'credential', id::text, $4 from made where $4::text is not null
     )
     select * from made`,
    [email, input.plan, input.role, hash],
  )
  const row = rows[0]
  if (row === undefined) throw new AppError('account_exists')
  return toAccount(row)
}

/** Sets the password of an account and ends all its sessions. Throws `invalid_field`. */
export async function setPassword(db: Queryable, account: AccountId, password: string): Promise<void> {
  await db.query(
    `with ended as (delete from sign_in_session where account_id = $1)
     insert into sign_in_method (account_id, provider, provider_account, password)
     values ($1, 'credential', $1::integer::text, $2)
     on conflict (account_id, provider) do update set password = excluded.password, updated_at = now()`,
    [account, await hashPassword(checkedPassword(password))],
  )
}

/** Makes somebody an operator, or an owner like the others. Throws `account_not_found`. */
export async function setRole(db: Queryable, account: AccountId, role: Role): Promise<Account> {
  const { rows } = await db.query<AccountRow>(
    'update account set role = $2 where id = $1::bigint returning id, email, plan, role, created_at',
    [account, role],
  )
  const row = rows[0]
  if (row === undefined) throw new AppError('account_not_found')
  return toAccount(row)
}

/** All accounts, by e-mail. For the operator only. */
export async function listAccounts(db: Queryable): Promise<Account[]> {
  const { rows } = await db.query<AccountRow>(
    'select id, email, plan, role, created_at from account order by email',
  )
  return rows.map(toAccount)
}

/** An account as an operator sees it in the list. */
export type AccountInList = Account & {
  can_sign_in: boolean
  suspended: boolean
  domains: number
  renders_used: number
}

/** All accounts with what they use, by e-mail. For the operator only. */
export async function listAccountsWithUse(db: Queryable, nowMs: number): Promise<AccountInList[]> {
  const { rows } = await db.query<
    AccountRow & Pick<AccountInList, 'can_sign_in' | 'suspended' | 'domains' | 'renders_used'>
  >(
    `select a.id, a.email, a.plan, a.role, a.created_at,
            exists (select from sign_in_method m where m.account_id = a.id) as can_sign_in,
            a.suspended_at is not null as suspended,
            (select count(*)::int from domain d where d.account_id = a.id) as domains,
            (select coalesce(sum(c.renders), 0)::int from domain d
               join render_count c on c.domain_id = d.id and c.month = $1
              where d.account_id = a.id) as renders_used
       from account a order by a.email`,
    [utcMonth(nowMs)],
  )
  return rows.map((row) => ({ ...row, ...toAccount(row) }))
}

/** Throws `account_not_found`. For the operator only. */
export async function findAccountById(db: Queryable, id: AccountId): Promise<Account> {
  const { rows } = await db.query<AccountRow>(
    'select id, email, plan, role, created_at from account where id = $1::bigint',
    [id],
  )
  const row = rows[0]
  if (row === undefined) throw new AppError('account_not_found')
  return toAccount(row)
}

/** The account of that e-mail, however it is spelt; throws `account_not_found`. For the operator only. */
export async function findAccount(db: Queryable, email: string): Promise<Account> {
  const { rows } = await db.query<AccountRow>(
    'select id, email, plan, role, created_at from account where email = $1',
    [parseEmail(email) ?? ''],
  )
  const row = rows[0]
  if (row === undefined) throw new AppError('account_not_found')
  return toAccount(row)
}

/**
 * Puts the account on another plan. Each later request sees it; what already
 * exists stays, upwards and downwards. Throws `invalid_field` for an unknown plan.
 */
export async function setPlan(
  pool: pg.Pool,
  plans: PlanCatalogue,
  account: AccountId,
  plan: string,
): Promise<Account> {
  checkPlan(plans, plan)
  return transaction(pool, async (client) => {
    const { rows } = await client.query<AccountRow>(
      'update account set plan = $2 where id = $1::bigint returning id, email, plan, role, created_at',
      [account, plan],
    )
    const row = rows[0]
    if (row === undefined) throw new AppError('account_not_found')
    await announceAccount(client, account)
    return toAccount(row)
  })
}

/** As it is stored. Throws `invalid_field`. */
export function emailOf(raw: string): string {
  const email = parseEmail(raw)
  if (email === null) throw new AppError('invalid_field', { word: 'email must be an e-mail address' })
  return email
}

/** Throws `invalid_field`. */
export function checkPlan(plans: PlanCatalogue, plan: string): void {
  if (Object.hasOwn(plans, plan)) return
  throw new AppError('invalid_field', { word: `plan must be one of ${Object.keys(plans).join(', ')}` })
}

/** Throws `invalid_field`. Counted in the form that is hashed, in characters and not in UTF-16 units. */
export function checkedPassword(password: string): string {
  const chars = [...password.normalize('NFKC')].length
  if (PASSWORD_MIN_CHARS <= chars && chars <= PASSWORD_MAX_CHARS) return password
  throw new AppError('invalid_field', {
    word: `password must have ${PASSWORD_MIN_CHARS} to ${PASSWORD_MAX_CHARS} characters`,
  })
}

function toAccount(row: AccountRow): Account {
  const { id, email, plan, role } = row
  return { id, email, plan, role, created_at: row.created_at.toISOString() }
}

const emailSchema = z.email().max(254)

/** An e-mail address in the one spelling that is stored (lower case), or null for what is none. */
export function parseEmail(raw: string): string | null {
  const parsed = emailSchema.safeParse(raw.trim().toLowerCase())
  return parsed.success ? parsed.data : null
}
