import type { PagePath } from '@prepaint/contract/ids.ts'
import type { AskedPage } from '@prepaint/contract/page/page-id.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/**
 * Remembers how the last crawler spelt the page's address, for this render and for later refreshes: the origin may
 * depend on the order of parameters. Call before the page's job is claimed.
 */
export async function rememberSpelling(db: Queryable, { domain, path, spelling }: AskedPage): Promise<void> {
  if (spelling === undefined) {
    // Only addresses with a query are often spelt in several ways.
    if (!path.includes('?')) return
    await db.query('delete from page_spelling where domain_id = $1 and path = $2', [domain, path])
    return
  }
  await db.query(
    `insert into page_spelling (domain_id, path, spelling) values ($1, $2, $3)
     on conflict (domain_id, path) do update set spelling = excluded.spelling, asked_at = excluded.asked_at
      where page_spelling.spelling <> excluded.spelling or page_spelling.asked_at < now() - interval '1 day'`,
    [domain, path, spelling satisfies PagePath],
  )
}
