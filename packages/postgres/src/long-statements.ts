import type { Queryable } from './transaction.ts'

/** The time limit in PostgreSQL's syntax. Deleting a million pages takes minutes. */
const LIMIT = '15min'
const LIMIT_MS = 900_000
const LOCK_LIMIT_MS = 30_000
/** The most long transactions in the fleet, because each uses a pool connection. Each holds the advisory lock (7230, <slot>). */
export const LONG_AT_ONCE = 4

/** Allows 15 minutes per statement, unless `LONG_AT_ONCE` run already. The returned object has a longer timeout. */
export async function letTakeLong(client: Queryable): Promise<Queryable> {
  const { rows } = await client.query<{ already: boolean }>(
    `select current_setting('statement_timeout') = $1 as already`,
    [LIMIT],
  )
  if (!rows[0]!.already) {
    const { rowCount } = await client.query(
      `select set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true)
         from (select slot from generate_series(1, $3::integer) as slot
                where pg_try_advisory_xact_lock(7230, slot) limit 1) free`,
      [LIMIT, String(LOCK_LIMIT_MS), LONG_AT_ONCE],
    )
    if (rowCount === 0) return client
  }
  const query = (text: string, values: unknown[] = []) => {
    const config = { text, values, query_timeout: LIMIT_MS + 5_000 }
    return client.query(config)
  }
  return { query: query as Queryable['query'] }
}
