import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainName, PersonId } from '@prepaint/contract/ids.ts'
import { announceAccount } from '@prepaint/postgres/announce.ts'
import { record } from '@prepaint/postgres/audit'
import { letTakeLong } from '@prepaint/postgres/long-statements.ts'
import { askTask, type Task, type TaskKind } from '@prepaint/postgres/tasks'
import { type Queryable, retriedTransaction, transaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type pg from 'pg'
import { keepEndedKeys } from '../fronts/ended-keys.ts'
import { deleteDomain } from '../sites/domain-changes.ts'
import { type Actor, actorNow } from './actor.ts'
import { endInvitationsBy, lockAccount } from './members.ts'
import { readAccount } from './own-account.ts'

const DAY_MS = 86_400_000
const RETURN_MS = 7 * DAY_MS

const TASK = 'account deletion'

export type Deletion = { requested_at: string; deletes_at: string }

/**
 * Everything of the account is deleted in 7 days (divided by `speed`), unless the request is cancelled. Asked again, the first
 * request counts. `name` must be the account's: throws `invalid_field`, and as `actorNow`. Returns whom to tell.
 */
export async function requestDeletion(
  pool: pg.Pool,
  account: AccountId,
  caller: Actor,
  { name, nowMs, speed }: { name: string; nowMs: number; speed: number },
): Promise<{ deletion: Deletion; owners: string[] }> {
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    await actorNow(client, account, caller, 'requestDeletion')
    const before = await readAccount(client, account)
    if (before.name !== name) {
      const problems = [{ path: ['name'], message: 'does not match' }]
      throw new AppError('invalid_field', { word: 'name does not match', problems })
    }
    const owners = await ownersOf(client, account)
    if (before.deletion !== null) return { deletion: before.deletion, owners: [] }
    const afterMs = RETURN_MS / speed
    await client.query('update account set deletion_requested_at = $2, deletes_at = $3 where id = $1', [
      account,
      new Date(nowMs),
      new Date(nowMs + afterMs),
    ])
    await askTask(client, { kind: TASK, key: account, accountId: account, afterMs })
    const { deletion } = await readAccount(client, account)
    await record(client, { account, action: 'account.deletion_requested', details: { ...deletion } })
    return { deletion: deletion!, owners }
  })
}

/** Lists the addresses of the owners. */
async function ownersOf(db: Queryable, account: AccountId): Promise<string[]> {
  const { rows } = await db.query<{ email: string }>(
    `select p.email from member m join person p on p.id = m.person_id
      where m.account_id = $1 and m.role = 'owner' order by p.email`,
    [account],
  )
  return rows.map(({ email }) => email)
}

/** The account stays. Throws `no_deletion`, also when it is due, and as `actorNow`. */
export async function cancelDeletion(
  pool: pg.Pool,
  account: AccountId,
  caller: Actor,
  nowMs: number,
): Promise<void> {
  await transaction(pool, async (client) => {
    await lockAccount(client, account)
    await actorNow(client, account, caller, 'cancelDeletion')
    const { deletion } = await readAccount(client, account)
    // Once it is due, it is under way.
    if (deletion === null || Date.parse(deletion.deletes_at) <= nowMs) throw new AppError('no_deletion')
    await client.query('update account set deletion_requested_at = null, deletes_at = null where id = $1', [
      account,
    ])
    await record(client, { account, action: 'account.deletion_cancelled' })
  })
}

/** Deletes accounts whose seven days are over. Any node does it; what another run has begun is gone on with. */
export class AccountDeletion implements TaskKind {
  readonly name = TASK
  readonly slots = 1
  readonly perAccount = 1
  readonly faultMessage = 'an account could not be deleted; trying again'
  readonly subjects =
    'select id::text as key, id as account_id, deletes_at as due_at from account where deletes_at is not null'
  readonly #pool: pg.Pool
  readonly #clock: Clock

  constructor(pool: pg.Pool, clock: Clock) {
    this.#pool = pool
    this.#clock = clock
  }

  async run({ key }: Task, signal: AbortSignal): Promise<number | null> {
    const account = Number(key) as AccountId
    const { rows } = await this.#pool.query<{ deletes_at: Date | null }>(
      'select deletes_at from account where id = $1',
      [account],
    )
    const deletesAt = rows[0]?.deletes_at ?? null
    if (deletesAt === null) return null
    const waitMs = deletesAt.getTime() - this.#clock.nowMs()
    if (waitMs > 0) return waitMs
    await deleteAccount(this.#pool, account, signal)
    return null
  }
}

/** Domains go first, one after another: their pages are many. */
async function deleteAccount(pool: pg.Pool, account: AccountId, signal: AbortSignal): Promise<void> {
  const { rows } = await pool.query<{ name: DomainName }>(
    'select custom_domain as name from domain where account_id = $1 order by id',
    [account],
  )
  for (const { name } of rows) {
    signal.throwIfAborted()
    await deleteDomain(pool, account, name)
  }
  await retriedTransaction(pool, async (client) => {
    const patient = await letTakeLong(client, { account })
    const { rows: due } = await patient.query(
      'select from account where id = $1 and deletes_at is not null for update',
      [account],
    )
    // Another node was faster.
    if (due.length === 0) return
    const { rows: members } = await patient.query<{ person_id: PersonId }>(
      'select person_id from member where account_id = $1',
      [account],
    )
    const persons = members.map(({ person_id: id }) => id)
    await keepEndedKeys(patient, account)
    await patient.query('delete from account where id = $1', [account])
    // A person who joins another account just now has its row locked: the next statement sees that it is a member.
    await patient.query('select from person where id = any ($1) order by id for update', [persons])
    await patient.query(
      `delete from person p where p.id = any ($1) and not p.is_operator
          and not exists (select from member m where m.person_id = p.id)`,
      [persons],
    )
    await announceAccount(patient, account)
  })
}

/** A person joins an account while it is deleted. */
const JOINED_LIMIT = 5

/** Deletes a person, who leaves all accounts. Throws `last_owner` if one of them would have no owner. */
export async function deletePerson(
  pool: pg.Pool,
  person: PersonId,
): Promise<{ id: PersonId; email: string }> {
  for (let tries = 1; ; tries++) {
    const deleted = await deleteFromAccounts(pool, person)
    if (deleted !== null) return deleted
    if (tries === JOINED_LIMIT) throw new Error('the person joined accounts all the time')
  }
}

/** Returns null if the person has joined another account meanwhile. */
async function deleteFromAccounts(
  pool: pg.Pool,
  person: PersonId,
): Promise<{ id: PersonId; email: string } | null> {
  return retriedTransaction(pool, async (client) => {
    const { rows: accounts } = await client.query<{ id: AccountId; role: string }>(
      `select a.id, m.role from account a join member m on m.account_id = a.id where m.person_id = $1
        order by a.id for no key update of a`,
      [person],
    )
    const { rows: left } = await client.query<{ email: string }>(
      'select email from person where id = $1 for update',
      [person],
    )
    const { rows: others } = await client.query(
      'select from member where person_id = $1 and account_id <> all ($2)',
      [person, accounts.map(({ id }) => id)],
    )
    if (others.length > 0) return null
    const email = left[0]?.email
    if (email === undefined) throw new AppError('person_not_found')
    for (const { id: account } of accounts) {
      const { rows } = await client.query<{ role: string; others: number }>(
        `select m.role, (select count(*)::int from member o where o.account_id = $1 and o.role = 'owner' and o.person_id <> $2) as others
           from member m where m.account_id = $1 and m.person_id = $2`,
        [account, person],
      )
      const { role, others = 0 } = rows[0] ?? {}
      if (role === 'owner' && others === 0) throw new AppError('last_owner')
      if (role === undefined) continue
      await record(client, { account, action: 'member.left', target: email, details: { role } })
      await endInvitationsBy(client, account, email, null)
    }
    await client.query('delete from person where id = $1', [person])
    return { id: person, email }
  })
}
