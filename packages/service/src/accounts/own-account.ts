import type { OwnAccountView } from '@prepaint/contract/api/own-account.ts'
import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { record } from '@prepaint/postgres/audit'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { accountNameOf } from './accounts.ts'
import { type Actor, actorNow, checkOwnerRight } from './actor.ts'
import { emailOf } from './email.ts'
import { lockAccount } from './members.ts'
import { readPolicy } from './policy.ts'

type Row = {
  id: AccountId
  name: string
  email: string
  plan: string
  created_at: Date
  requested_at: Date | null
  deletes_at: Date | null
}

/** Reads an account as its members see it. Throws `account_not_found`. */
export async function readAccount(db: Queryable, account: AccountId): Promise<OwnAccountView> {
  const { rows } = await db.query<Row>(
    `select id, coalesce(name, email) as name, email, plan, created_at, deletion_requested_at as requested_at, deletes_at
       from account where id = $1`,
    [account],
  )
  const row = rows[0]
  if (row === undefined) throw new AppError('account_not_found')
  const { id, name, email, plan, created_at: created, requested_at: requested, deletes_at: deletes } = row
  return {
    id,
    name,
    email,
    plan,
    created_at: created.toISOString(),
    policy: await readPolicy(db, account),
    deletion:
      requested === null || deletes === null
        ? null
        : { requested_at: requested.toISOString(), deletes_at: deletes.toISOString() },
  }
}

/**
 * Changes the name or the contact address; what is undefined stays. Throws `invalid_field`, and as `actorNow`: only owners
 * change the address.
 */
export async function changeAccount(
  pool: pg.Pool,
  account: AccountId,
  caller: Actor,
  change: { name?: string | undefined; email?: string | undefined },
): Promise<OwnAccountView> {
  const name = change.name === undefined ? undefined : accountNameOf(change.name)
  const email = change.email === undefined ? undefined : emailOf(change.email)
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    const actor = await actorNow(client, account, caller, 'changeAccount')
    if (email !== undefined) checkOwnerRight(actor, 'owner')
    const before = await readAccount(client, account)
    // An account without a name was called by its address, and keeps being called so.
    await client.query(
      'update account set name = coalesce($2, name, email), email = coalesce($3, email) where id = $1',
      [account, name, email],
    )
    const after = await readAccount(client, account)
    if (before.name !== after.name) {
      const details = { name: { old: before.name, new: after.name } }
      await record(client, { account, action: 'account.renamed', target: after.name, details })
    }
    if (before.email !== after.email) {
      const details = { email: { old: before.email, new: after.email } }
      await record(client, { account, action: 'account.contact_changed', target: after.email, details })
    }
    return after
  })
}
