import type { Queryable } from '../db/transaction.ts'
import type { DomainId, PagePath } from '../ids.ts'

const BATCH = 1_000

/**
 * The paths of all stored pages of a domain, byte by byte in order, in batches
 * that are never empty. Each batch is one short query that goes on after the
 * last path, so that neither a connection nor a snapshot of the database is
 * held for a reader who takes his time. The domain id was obtained through its
 * account.
 */
export async function* listStoredPaths(
  db: Queryable,
  domain: DomainId,
): AsyncGenerator<readonly PagePath[], void> {
  let after = ''
  for (;;) {
    const { rows } = await db.query<[PagePath]>({
      name: 'stored-paths',
      rowMode: 'array',
      text: 'select path from page where domain_id = $1 and path > $2 order by path limit $3',
      values: [domain, after, BATCH],
    })
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map(([path]) => path)
    if (rows.length < BATCH) return
    after = last[0]
  }
}
