import type { Queryable } from './transaction.ts'

/** As PostgreSQL writes it. A million stored pages are deleted in some minutes. */
const WITHIN = '15min'
const WITHIN_MS = 900_000
/** For a lock nobody waits longer than for a usual statement. */
const LOCK_WITHIN_MS = 30_000
/** Transactions of the fleet that may take long at a time: each has a connection of its node's pool. (7230, <slot>). */
export const LONG_AT_ONCE = 4

/**
 * For the rest of this transaction, statements may take a quarter of an hour
 * instead of the half minute after which the pool cuts them off: for those that
 * are right however large a domain is, and must be whole. Gives what to ask by;
 * the client's own patience is longer there, too. While `LONG_AT_ONCE` others
 * take long, the usual limits hold. `client` is inside a transaction.
 */
export async function letTakeLong(client: Queryable): Promise<Pick<Queryable, 'query'>> {
  const { rows } = await client.query<{ already: boolean }>(
    `select current_setting('statement_timeout') = $1 as already`,
    [WITHIN],
  )
  if (!rows[0]!.already) {
    const { rowCount } = await client.query(
      `select set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true)
         from (select slot from generate_series(1, $3::integer) as slot
                where pg_try_advisory_xact_lock(7230, slot) limit 1) free`,
      [WITHIN, String(LOCK_WITHIN_MS), LONG_AT_ONCE],
    )
    if (rowCount === 0) return client
  }
  const query = (text: string, values: unknown[] = []) => {
    const asked = { text, values, query_timeout: WITHIN_MS + 5_000 }
    return client.query(asked)
  }
  return { query: query as Queryable['query'] }
}
