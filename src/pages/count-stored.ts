import type { Queryable } from '../db/transaction.ts'
import type { AccountId } from '../ids.ts'

/**
 * What is stored for an account: its domains, and the entries that a purge of
 * all of them would delete now (pages, redirects, sitemaps).
 */
export async function countStored(
  db: Queryable,
  account: AccountId,
): Promise<{ domains: number; entries: number }> {
  const { rows } = await db.query<{ domains: number; entries: string }>(
    `select count(*)::int as domains,
            coalesce(sum((select count(*) from page where domain_id = d.id)
                       + (select count(*) from redirect where domain_id = d.id)
                       + (select count(*) from sitemap where domain_id = d.id)), 0) as entries
     from domain d where d.account_id = $1`,
    [account],
  )
  const { domains, entries } = rows[0]!
  return { domains, entries: Number(entries) }
}
