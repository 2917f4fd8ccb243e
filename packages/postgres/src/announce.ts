import type { AccountId, DomainName } from '@prepaint/contract/ids.ts'
import type { Queryable } from './transaction.ts'

/** Makes every node read this domain again, also where it remembers that there is none. */
export async function announceHost(db: Queryable, host: DomainName): Promise<void> {
  await db.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ host })])
}

/** Makes every node read the account's plan and domains again. */
export async function announceAccount(db: Queryable, account: AccountId): Promise<void> {
  await db.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ account })])
}
