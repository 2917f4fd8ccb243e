import type pg from 'pg'
import { type Queryable, transaction } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { AccountId } from '../ids.ts'
import { announceAccount } from './announce.ts'
import { parseEmail } from './email.ts'
import { hashPassword, PASSWORD_MAX_CHARS, PASSWORD_MIN_CHARS } from './password-hash.ts'
import type { PlanCatalogue } from './plans.ts'

export type Account = { id: AccountId; email: string; plan: string; created_at: string }

type AccountRow = { id: AccountId; email: string; plan: string; created_at: Date }

/**
 * Makes an account. Throws `invalid_field` for an e-mail, plan or password
 * that is none, `account_exists` when the e-mail has one already.
 * Without a password nobody can sign in to it until one is set.
 */
export async function createAccount(
  db: Queryable,
  plans: PlanCatalogue,
  input: { email: string; plan: string; password: string | null },
): Promise<Account> {
  const email = emailOf(input.email)
  checkPlan(plans, input.plan)
  const hash = input.password === null ? null : await hashPassword(checkedPassword(input.password))
  const { rows } = await db.query<AccountRow>(
    `insert into account (email, plan, password_hash) values ($1, $2, $3)
     on conflict (email) do nothing returning id, email, plan, created_at`,
    [email, input.plan, hash],
  )
  const row = rows[0]
  if (row === undefined) throw new AppError('account_exists')
  return toAccount(row)
}

/** All accounts, by e-mail. For the operator only. */
export async function listAccounts(db: Queryable): Promise<Account[]> {
  const { rows } = await db.query<AccountRow>(
    'select id, email, plan, created_at from account order by email',
  )
  return rows.map(toAccount)
}

/** The account of that e-mail, however it is spelt; throws `account_not_found`. For the operator only. */
export async function findAccount(db: Queryable, email: string): Promise<Account> {
  const { rows } = await db.query<AccountRow>(
    'select id, email, plan, created_at from account where email = $1',
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
      'update account set plan = $2 where id = $1 returning id, email, plan, created_at',
      [account, plan],
    )
    const row = rows[0]
    if (row === undefined) throw new AppError('account_not_found')
    await announceAccount(client, account)
    return toAccount(row)
  })
}

function emailOf(raw: string): string {
  const email = parseEmail(raw)
  if (email === null) throw new AppError('invalid_field', { word: 'email must be an e-mail address' })
  return email
}

function checkPlan(plans: PlanCatalogue, plan: string): void {
  if (Object.hasOwn(plans, plan)) return
  throw new AppError('invalid_field', { word: `plan must be one of ${Object.keys(plans).join(', ')}` })
}

/** Counted in the form that is hashed, in characters and not in UTF-16 units. */
function checkedPassword(password: string): string {
  const chars = [...password.normalize('NFKC')].length
  if (PASSWORD_MIN_CHARS <= chars && chars <= PASSWORD_MAX_CHARS) return password
  throw new AppError('invalid_field', {
    word: `password must have ${PASSWORD_MIN_CHARS} to ${PASSWORD_MAX_CHARS} characters`,
  })
}

function toAccount(row: AccountRow): Account {
  return { ...row, created_at: row.created_at.toISOString() }
}
