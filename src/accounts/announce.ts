import type { Queryable } from '../db/transaction.ts'
import type { AccountId, DomainName } from '../ids.ts'

/** Tells every node to forget what it knows of this host: the domain, its settings, or that there is none. */
export async function announceHost(db: Queryable, host: DomainName): Promise<void> {
  await db.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ host })])
}

/** Tells every node that the plan of this account has changed. */
export async function announceAccount(db: Queryable, account: AccountId): Promise<void> {
  await db.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ account })])
}
