import { utcMonth } from '@prepaint/contract/dates.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, PersonId } from '@prepaint/contract/ids.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { cancelJobs } from '@prepaint/pages/queue/jobs/cancel.ts'
import { cancelWarm } from '@prepaint/pages/queue/warm/warm.ts'
import { announceAccount } from '@prepaint/postgres/announce.ts'
import { record } from '@prepaint/postgres/audit'
import { type Queryable, retriedTransaction, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { addOwnAddress } from '../notifications/delivery/addresses.ts'
import { emailOf, parseEmail } from './email.ts'
import { addMember } from './members.ts'
import { addPerson, HAS_SSO } from './persons.ts'
import { endSessionsOfSuspended } from './sign-in/sessions.ts'

export type Account = { id: AccountId; name: string; email: string; plan: string; created_at: string }

type AccountRow = { id: AccountId; name: string; email: string; plan: string; created_at: Date }

const FIELDS = 'id, coalesce(name, email) as name, email, plan, created_at'

type NewAccount = {
  email: string
  plan: string
  /** Default: the e-mail address. */
  name?: string | null | undefined
  /** Of the person, if the address has no login yet. Null: no sign-in until one is set. */
  password: string | null
  isOperator?: boolean
}

/**
 * Creates an account, and makes the person of the address its owner. A person that exists gets the password only if it has none.
 * Throws `invalid_field`, `account_exists` if the address has an account of the same name, and `person_not_proven`.
 */
export function createAccount(pool: pg.Pool, plans: PlanCatalogue, input: NewAccount): Promise<Account> {
  return transaction(pool, async (client) => {
    const email = emailOf(input.email)
    accountNameOf(input.name ?? email)
    checkPlan(plans, input.plan)
    const person = await addPerson(client, { ...input, email })
    return addAccountOf(client, plans, person, { ...input, email })
  })
}

/** Makes an account of a person, whose row the caller has locked. Throws as `createAccount`. */
export async function addAccountOf(
  client: Queryable,
  plans: PlanCatalogue,
  owner: PersonId,
  input: { email: string; plan: string; name?: string | null | undefined },
): Promise<Account> {
  const email = emailOf(input.email)
  const name = accountNameOf(input.name ?? email)
  checkPlan(plans, input.plan)
  if (await hasAccount(client, email, name)) throw new AppError('account_exists')
  const { rows } = await client.query<AccountRow>(
    `insert into account (email, plan, name) values ($1, $2, $3) returning ${FIELDS}`,
    [email, input.plan, name],
  )
  const account = found(rows)
  await addMember(client, account.id, owner, { role: 'owner', domains: null })
  await addOwnAddress(client, account.id, email)
  const details = { email, plan: input.plan }
  await record(client, { account: account.id, action: 'account.created', target: name, details })
  return account
}

/** Tells whether the address has an account of this name. For operators only. */
export async function hasAccount(db: Queryable, email: string, name: string): Promise<boolean> {
  const { rowCount } = await db.query('select from account where email = $1 and coalesce(name, email) = $2', [
    email,
    name,
  ])
  return rowCount !== 0
}

/** Tells whether the installation is in use. */
export async function hasAnyAccount(db: Queryable): Promise<boolean> {
  const { rowCount } = await db.query('select from account limit 1')
  return rowCount !== 0
}

const NAME_LIMIT_CHARS = 80
const CONTROL_OR_DIRECTION = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]/u

/** Trims the name. Throws `invalid_field`. */
export function accountNameOf(raw: string): string {
  const name = raw.trim()
  if (name === '') throw invalidField(['name'], 'is required')
  if (CONTROL_OR_DIRECTION.test(name) || !name.isWellFormed()) {
    throw invalidField(['name'], 'must not contain control or direction characters')
  }
  if ([...name].length > NAME_LIMIT_CHARS) {
    throw invalidField(['name'], `must have at most ${NAME_LIMIT_CHARS} characters`)
  }
  return name
}

/** Applies from the next request on; existing resources stay. Throws `invalid_field` or `account_not_found`. */
export async function setPlan(
  pool: pg.Pool,
  plans: PlanCatalogue,
  account: AccountId,
  plan: string,
): Promise<Account> {
  checkPlan(plans, plan)
  return transaction(pool, async (client) => {
    const { rows: before } = await client.query<{ plan: string }>(
      'select plan from account where id = $1::bigint for no key update',
      [account],
    )
    const { rows } = await client.query<AccountRow>(
      `update account set plan = $2 where id = $1::bigint returning ${FIELDS}`,
      [account, plan],
    )
    const changed = found(rows)
    const old = before[0]?.plan
    if (old !== plan) {
      const details = { plan: { old, new: plan } }
      await record(client, { account, action: 'account.plan_changed', details })
    }
    await announceAccount(client, account)
    return changed
  })
}

/**
 * Suspension refuses sign-in, keys and tokens, sends crawlers to the origin, cancels queued jobs and ends sessions.
 * Stored pages stay. Throws `account_not_found`.
 */
export async function setSuspended(
  pool: pg.Pool,
  account: AccountId,
  suspended: boolean,
  nowMs: number,
): Promise<void> {
  await retriedTransaction(pool, async (client) => {
    const { rows } = await client.query<{ suspended: boolean }>(
      'select suspended_at is not null as suspended from account where id = $1::bigint for no key update',
      [account],
    )
    if (rows[0] === undefined) throw new AppError('account_not_found')
    await client.query(
      `update account set suspended_at = case when $2 then coalesce(suspended_at, $3) end where id = $1::bigint`,
      [account, suspended, new Date(nowMs)],
    )
    if (rows[0].suspended !== suspended) {
      await record(client, { account, action: suspended ? 'account.suspended' : 'account.restored' })
    }
    if (suspended) await endSessionsOfSuspended(client, account)
    await announceAccount(client, account)
  })
  if (suspended) await cancelWork(pool, account)
}

/** One transaction per domain, because an account may have thousands. Nothing new can be queued by now. */
async function cancelWork(pool: pg.Pool, account: AccountId): Promise<void> {
  const { rows } = await pool.query<{ id: DomainId }>(
    `select id from domain d
      where account_id = $1
        and (exists (select from job j where j.domain_id = d.id and j.state in ('queued', 'running'))
             or exists (select from warm w where w.domain_id = d.id and w.ended_at is null))
      order by id`,
    [account],
  )
  for (const { id } of rows) {
    await retriedTransaction(pool, async (client) => {
      await cancelWarm(client, id, 'the account is suspended')
      await cancelJobs(client, id)
    })
  }
}

/** Lists all accounts by e-mail address. For operators only. */
export async function listAccounts(db: Queryable): Promise<Account[]> {
  const { rows } = await db.query<AccountRow>(`select ${FIELDS} from account order by email, id`)
  return rows.map(toAccount)
}

type AccountUse = {
  can_sign_in: boolean
  suspended: boolean
  members: number
  domains: number
  renders_used: number
}

/** Lists all accounts by e-mail address, with what they use in this UTC month. For operators only. */
export async function listAccountsWithUse(db: Queryable, nowMs: number): Promise<(Account & AccountUse)[]> {
  const { rows } = await db.query<AccountRow & AccountUse>(
    `select a.id, coalesce(a.name, a.email) as name, a.email, a.plan, a.created_at,
            exists (select from member m join person p on p.id = m.person_id
                     where m.account_id = a.id and (p.password_hash is not null or ${HAS_SSO})) as can_sign_in,
            (select count(*)::int from member m where m.account_id = a.id) as members,
            a.suspended_at is not null as suspended,
            (select count(*)::int from domain d where d.account_id = a.id) as domains,
            (select coalesce(sum(c.renders), 0)::int from domain d
               join render_count c on c.domain_id = d.id and c.month = $1
              where d.account_id = a.id) as renders_used
       from account a order by a.email, a.id`,
    [utcMonth(nowMs)],
  )
  return rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() }))
}

/** Throws `account_not_found`. For operators only. */
export async function findAccountById(db: Queryable, id: AccountId): Promise<Account> {
  const { rows } = await db.query<AccountRow>(`select ${FIELDS} from account where id = $1::bigint`, [id])
  return found(rows)
}

/** Lists the accounts with a contact address, oldest first, ignoring its spelling. For operators only. */
export async function findAccountsByEmail(db: Queryable, email: string): Promise<Account[]> {
  const { rows } = await db.query<AccountRow>(`select ${FIELDS} from account where email = $1 order by id`, [
    parseEmail(email) ?? '',
  ])
  return rows.map(toAccount)
}

/** Throws `invalid_field`. */
export function checkPlan(plans: PlanCatalogue, plan: string): void {
  if (Object.hasOwn(plans, plan)) return
  throw invalidField(['plan'], `must be one of ${Object.keys(plans).join(', ')}`)
}

function found(rows: readonly AccountRow[]): Account {
  if (rows[0] === undefined) throw new AppError('account_not_found')
  return toAccount(rows[0])
}

function toAccount({ id, name, email, plan, created_at }: AccountRow): Account {
  return { id, name, email, plan, created_at: created_at.toISOString() }
}
