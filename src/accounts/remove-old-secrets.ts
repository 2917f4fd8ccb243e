import type pg from 'pg'

import { removeOld, type Steps } from '../db/remove-old.ts'

/** For how long an owner still sees which keys and tokens there were: as long as the hours of his traffic. */
export const ENDED_SECRETS_KEPT_DAYS = 90

/**
 * Removes API keys that were revoked or expired long ago, and webhook tokens
 * that were revoked. Gives how many. They are refused as before: what nobody
 * knows is answered like what was revoked.
 */
export async function removeOldSecrets(pool: pg.Pool, steps?: Steps): Promise<number> {
  const keptDays = ENDED_SECRETS_KEPT_DAYS
  // One that is revoked after its end is shown as revoked, and kept from then on.
  const keys = { table: 'api_key', at: 'coalesce(revoked_at, expires_at)', keptDays }
  const tokens = { table: 'webhook_token', at: 'revoked_at', keptDays }
  return (await removeOld(pool, keys, steps)) + (await removeOld(pool, tokens, steps))
}
