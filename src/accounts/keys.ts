import type pg from 'pg'

import { type Queryable, transaction } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { AccountId } from '../ids.ts'
import { type PlanCatalogue, planNamed } from './plans.ts'
import { createSecret, parseSecretName } from './secrets.ts'

export const ACTIVE_KEY_LIMIT = 5

/** A key as its owner may see it: never with its hash. Times are ISO 8601 UTC. */
export type ApiKey = {
  id: number
  name: string
  /** Its first characters, to tell it from the others. */
  hint: string
  state: 'active' | 'expired' | 'revoked'
  created_at: string
  expires_at: string | null
  last_used_at: string | null
  revoked_at: string | null
}

/** The only time that a raw key is seen. */
type CreatedKey = { id: number; name: string; key: string }

/**
 * Makes an API key. `expiresAt` null: it never ends by itself.
 * The account's row is locked meanwhile, so that the limit of active keys also
 * holds for many that come at once. Throws `invalid_field`, `account_not_found`,
 * `plan_without_api` and `api_key_limit`.
 */
export async function createKey(
  pool: pg.Pool,
  account: AccountId,
  input: { name: string; expiresAt: Date | null },
  now: { plans: PlanCatalogue; nowMs: number },
): Promise<CreatedKey> {
  const name = parseSecretName(input.name)
  if (input.expiresAt !== null && !(input.expiresAt.getTime() > now.nowMs)) {
    throw new AppError('invalid_field', { word: 'expires must be a time in the future' })
  }
  const secret = createSecret('pp_live_')
  return transaction(pool, async (client) => {
    const { rows: accounts } = await client.query<{ plan: string }>(
      'select plan from account where id = $1 for no key update',
      [account],
    )
    const plan = accounts[0]?.plan
    if (plan === undefined) throw new AppError('account_not_found')
    if (!planNamed(now.plans, plan).api_keys) throw new AppError('plan_without_api')

    const { rows: active } = await client.query<{ count: number }>(
      `select count(*)::int as count from api_key
       where account_id = $1 and revoked_at is null and (expires_at is null or expires_at > $2)`,
      [account, new Date(now.nowMs)],
    )
    if (active[0]!.count >= ACTIVE_KEY_LIMIT) throw new AppError('api_key_limit')

    const { rows } = await client.query<{ id: number }>(
      `insert into api_key (account_id, name, key_hash, hint, expires_at) values ($1, $2, $3, $4, $5) returning id`,
      [account, name, secret.hash, secret.hint, input.expiresAt],
    )
    return { id: rows[0]!.id, name, key: secret.raw }
  })
}

/** The keys of the account, oldest first; of those that have ended, those of `remove-old-secrets.ts`. */
export async function listKeys(db: Queryable, account: AccountId, nowMs: number): Promise<ApiKey[]> {
  const { rows } = await db.query<KeyRow>(
    `select id, name, hint, created_at, expires_at, last_used_at, revoked_at
     from api_key where account_id = $1 order by id`,
    [account],
  )
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    hint: row.hint,
    state: row.revoked_at !== null ? 'revoked' : expired(row, nowMs) ? 'expired' : 'active',
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    last_used_at: row.last_used_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
  }))
}

/** Ends a key: the next request with it is refused, on every node. Again is no error. Throws `api_key_not_found`. */
export async function revokeKey(
  db: Queryable,
  account: AccountId,
  keyId: number,
  nowMs: number,
): Promise<void> {
  const { rowCount } = await db.query(
    'update api_key set revoked_at = coalesce(revoked_at, $3) where account_id = $1 and id = $2::bigint',
    [account, keyId, new Date(nowMs)],
  )
  if (rowCount === 0) throw new AppError('api_key_not_found')
}

/** Whose key that is; throws `api_key_not_found`. For the operator only. */
export async function ownerOfKey(db: Queryable, keyId: number): Promise<AccountId> {
  const { rows } = await db.query<{ account_id: AccountId }>(
    'select account_id from api_key where id = $1::bigint',
    [keyId],
  )
  const owner = rows[0]?.account_id
  if (owner === undefined) throw new AppError('api_key_not_found')
  return owner
}

type KeyRow = {
  id: number
  name: string
  hint: string
  created_at: Date
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
}

function expired(row: KeyRow, nowMs: number): boolean {
  return row.expires_at !== null && row.expires_at.getTime() <= nowMs
}
