import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import type { Queryable } from './transaction.ts'

/** The time limit in PostgreSQL's syntax. Deleting a million pages takes minutes. */
const LIMIT = '15min'
const LIMIT_MS = 900_000
const LOCK_LIMIT_MS = 30_000
/** The most long transactions in the fleet, because each uses a pool connection. Each holds the advisory lock (7230, <slot>). */
export const LONG_AT_ONCE = 4
/** Of one account, so that others have room. Each holds the advisory lock (7232, 2 * <account> + <place>). */
export const LONG_OF_ACCOUNT = 2

/** Whose work it is. */
type LongOwner = { account: AccountId } | { domain: DomainId }

/** A slot is taken only where the account has a place. The remainder keeps the number within an integer of PostgreSQL. */
const TAKE = `
  select set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true)
    from (select place from generate_series(0, $4::integer - 1) place
           where pg_try_advisory_xact_lock(7232, 2 * (coalesce($5::integer, (select account_id from domain where id = $6::integer), 0) % 1000000000) + place)
           limit 1) own
   cross join lateral (select slot from generate_series(1, $3::integer) slot
           where own.place is not null and pg_try_advisory_xact_lock(7230, slot) limit 1) free`

/**
 * Allows 15 minutes per statement, unless `LONG_AT_ONCE` run already, or `LONG_OF_ACCOUNT` of this account. The returned object has
 * a longer timeout.
 */
export async function letTakeLong(client: Queryable, owner: LongOwner): Promise<Queryable> {
  const { rows } = await client.query<{ already: boolean }>(
    `select current_setting('statement_timeout') = $1 as already`,
    [LIMIT],
  )
  if (!rows[0]!.already) {
    const { rowCount } = await client.query(TAKE, [
      LIMIT,
      String(LOCK_LIMIT_MS),
      LONG_AT_ONCE,
      LONG_OF_ACCOUNT,
      'account' in owner ? owner.account : null,
      'domain' in owner ? owner.domain : null,
    ])
    if (rowCount === 0) return client
  }
  const query = (text: string, values: unknown[] = []) => {
    const config = { text, values, query_timeout: LIMIT_MS + 5_000 }
    return client.query(config)
  }
  return { query: query as Queryable['query'] }
}
