import type { Queryable } from '../db/transaction.ts'
import type { DomainId, PagePath } from '../ids.ts'

/**
 * Deletes what is stored under these paths, pages and redirects, as the first
 * half of a refresh; a path under which nothing is stored is no error.
 *
 * `client` is inside a transaction (read committed). As with a purge the
 * running jobs come first, so that no render that began before can bring back
 * what is deleted here. The domain id was obtained through its account.
 */
export async function deletePages(
  client: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
): Promise<void> {
  // Everybody who locks many rows takes them in this order.
  const values = [domain, [...paths].sort()]
  await client.query(
    `update job set superseded = true where domain_id = $1 and path = any($2) and state = 'running'`,
    values,
  )
  await client.query('delete from page where domain_id = $1 and path = any($2)', values)
  await client.query('delete from redirect where domain_id = $1 and path = any($2)', values)
  await client.query(
    `select pg_notify('invalidate', json_build_object('domain', $1::integer, 'path', path)::text)
     from unnest($2::text[]) as path`,
    values,
  )
}
