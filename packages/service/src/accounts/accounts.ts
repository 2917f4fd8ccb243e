import { utcMonth } from '@prepaint/contract/dates.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import type { PlanCatalogue } from '@prepaint/contract/settings/plans.ts'
import { cancelJobs } from '@prepaint/pages/queue/jobs/cancel.ts'
import { cancelWarm } from '@prepaint/pages/queue/warm/warm.ts'
import { announceAccount } from '@prepaint/postgres/announce.ts'
import { type Queryable, retriedTransaction, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { addOwnAddress } from '../notifications/delivery/addresses.ts'
import { emailOf, parseEmail } from './email.ts'
import { hashPassword } from './sign-in/passwords.ts'
import { endSessions } from './sign-in/sessions.ts'

export type Role = 'owner' | 'operator'

export type Account = { id: AccountId; email: string; plan: string; role: Role; created_at: string }

type AccountRow = { id: AccountId; email: string; plan: string; role: Role; created_at: Date }

const FIELDS = 'id, email, plan, role, created_at'

type NewAccount = { email: string; plan: string; password: string | null; role?: Role }

/** Without a password there is no dashboard access until one is set. Throws `invalid_field` or `account_exists`. */
export function createAccount(pool: pg.Pool, plans: PlanCatalogue, input: NewAccount): Promise<Account> {
  return transaction(pool, (client) => addAccount(client, plans, input))
}

/** Does what `createAccount` does in the transaction of `client`. */
export async function addAccount(
  client: pg.PoolClient,
  plans: PlanCatalogue,
  input: NewAccount,
): Promise<Account> {
  const email = emailOf(input.email)
  checkPlan(plans, input.plan)
  const hash = input.password === null ? null : await hashPassword(input.password)
  const { rows } = await client.query<AccountRow>(
    `insert into account (email, plan, role, password_hash) values ($1, $2, $3, $4)
     on conflict (email) do nothing returning ${FIELDS}`,
    [email, input.plan, input.role ?? 'owner', hash],
  )
  if (rows[0] === undefined) throw new AppError('account_exists')
  await addOwnAddress(client, rows[0].id, email)
  return toAccount(rows[0])
}

/** Throws `account_not_found`. */
export async function setRole(db: Queryable, account: AccountId, role: Role): Promise<Account> {
  const { rows } = await db.query<AccountRow>(
    `update account set role = $2 where id = $1::bigint returning ${FIELDS}`,
    [account, role],
  )
  return found(rows)
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
    const { rows } = await client.query<AccountRow>(
      `update account set plan = $2 where id = $1::bigint returning ${FIELDS}`,
      [account, plan],
    )
    const changed = found(rows)
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
    const { rowCount } = await client.query(
      `update account set suspended_at = case when $2 then coalesce(suspended_at, $3) end where id = $1::bigint`,
      [account, suspended, new Date(nowMs)],
    )
    if (rowCount === 0) throw new AppError('account_not_found')
    if (suspended) await endSessions(client, account)
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
  const { rows } = await db.query<AccountRow>(`select ${FIELDS} from account order by email`)
  return rows.map(toAccount)
}

type AccountUse = { can_sign_in: boolean; suspended: boolean; domains: number; renders_used: number }

/** Lists all accounts by e-mail address, with what they use in this UTC month. For operators only. */
export async function listAccountsWithUse(db: Queryable, nowMs: number): Promise<(Account & AccountUse)[]> {
  const { rows } = await db.query<AccountRow & AccountUse>(
    `select a.id, a.email, a.plan, a.role, a.created_at,
            a.password_hash is not null as can_sign_in,
            a.suspended_at is not null as suspended,
            (select count(*)::int from domain d where d.account_id = a.id) as domains,
            (select coalesce(sum(c.renders), 0)::int from domain d
               join render_count c on c.domain_id = d.id and c.month = $1
              where d.account_id = a.id) as renders_used
       from account a order by a.email`,
    [utcMonth(nowMs)],
  )
  return rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() }))
}

/** Throws `account_not_found`. For operators only. */
export async function findAccountById(db: Queryable, id: AccountId): Promise<Account> {
  const { rows } = await db.query<AccountRow>(`select ${FIELDS} from account where id = $1::bigint`, [id])
  return found(rows)
}

/** Ignores the e-mail's spelling. Throws `account_not_found`. For operators only. */
export async function findAccount(db: Queryable, email: string): Promise<Account> {
  const { rows } = await db.query<AccountRow>(`select ${FIELDS} from account where email = $1`, [
    parseEmail(email) ?? '',
  ])
  return found(rows)
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

function toAccount({ id, email, plan, role, created_at }: AccountRow): Account {
  return { id, email, plan, role, created_at: created_at.toISOString() }
}
