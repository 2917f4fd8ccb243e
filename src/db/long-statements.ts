import type { Queryable } from './transaction.ts'

/** A million stored pages are deleted in some minutes. */
const WITHIN_MS = 900_000

/**
 * For the rest of this transaction, statements may take a quarter of an hour instead of
 * the half minute after which the pool cuts them off: for those that are right
 * however large a domain is, and must be whole. Gives what to ask by; the
 * client's own patience is longer there, too. `client` is inside a transaction.
 */
export async function letTakeLong(client: Queryable): Promise<Pick<Queryable, 'query'>> {
  await client.query(`select set_config('statement_timeout', $1, true)`, [String(WITHIN_MS)])
  const query = (text: string, values: unknown[] = []) => {
    const asked = { text, values, query_timeout: WITHIN_MS + 5_000 }
    return client.query(asked)
  }
  return { query: query as Queryable['query'] }
}
