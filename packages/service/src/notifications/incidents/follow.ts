import type { DomainId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/** Incidents are looked for in a new domain. Call in the transaction that creates it. */
export async function followDomain(client: Queryable, domain: DomainId): Promise<void> {
  await client.query('insert into health (domain_id) values ($1) on conflict (domain_id) do nothing', [
    domain,
  ])
}

/** Resolves the open incidents of a domain that is switched off. Call in the transaction that switches it off. */
export async function stopFollowing(client: Queryable, domain: DomainId): Promise<void> {
  await client.query('select stop_following($1)', [domain])
}
