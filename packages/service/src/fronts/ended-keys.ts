import type { AccountId } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

/**
 * Remembers the hashes of an account's keys and site tokens without the account, so that fronts that still send them open.
 * Call it in the transaction that deletes the account.
 */
export async function keepEndedKeys(client: Queryable, account: AccountId): Promise<void> {
  await client.query(
    `insert into ended_api_key (key_hash, ended_at)
       select key_hash, least(revoked_at, expires_at, clock_timestamp()) from api_key where account_id = $1
     on conflict (key_hash) do nothing`,
    [account],
  )
  await client.query(
    `update site_token set ends_at = least(ends_at, clock_timestamp()), account_id = null, created_by = ''
      where account_id = $1`,
    [account],
  )
}
