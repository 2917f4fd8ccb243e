import type pg from 'pg'

import { type Queryable, transaction } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { AccountId, DomainId, DomainName } from '../ids.ts'
import { type PlanCatalogue, planNamed } from './plans.ts'
import { createSecret, parseSecretName } from './secrets.ts'

export const ACTIVE_TOKEN_LIMIT = 5

/** A webhook token as its owner may see it: never with its hash. Times are ISO 8601 UTC. */
export type WebhookToken = {
  id: number
  name: string
  /** Its first characters, to tell it from the others. */
  hint: string
  state: 'active' | 'revoked'
  created_at: string
  last_used_at: string | null
  revoked_at: string | null
}

/** The only time that a raw token is seen. */
type CreatedToken = { id: number; name: string; token: string }

/**
 * Makes a webhook token for one domain of the account. The domain's row is
 * locked meanwhile, so that the limit also holds for many that come at once.
 * Throws `invalid_field`, `domain_not_found`, `plan_without_webhooks` and `webhook_token_limit`.
 */
export async function createToken(
  pool: pg.Pool,
  account: AccountId,
  domain: DomainName,
  rawName: string,
  plans: PlanCatalogue,
): Promise<CreatedToken> {
  const name = parseSecretName(rawName)
  const secret = createSecret('pp_wh_')
  return transaction(pool, async (client) => {
    const { rows: owned } = await client.query<{ id: DomainId; plan: string }>(
      `select d.id, a.plan from domain d join account a on a.id = d.account_id
       where d.account_id = $1 and d.custom_domain = $2 for no key update of d`,
      [account, domain],
    )
    const owner = owned[0]
    if (owner === undefined) throw new AppError('domain_not_found')
    if (!planNamed(plans, owner.plan).webhooks) throw new AppError('plan_without_webhooks')

    const { rows: active } = await client.query<{ count: number }>(
      'select count(*)::int as count from webhook_token where domain_id = $1 and revoked_at is null',
      [owner.id],
    )
    if (active[0]!.count >= ACTIVE_TOKEN_LIMIT) throw new AppError('webhook_token_limit')

    const { rows } = await client.query<{ id: number }>(
      'insert into webhook_token (domain_id, name, token_hash, hint) values ($1, $2, $3, $4) returning id',
      [owner.id, name, secret.hash, secret.hint],
    )
    return { id: rows[0]!.id, name, token: secret.raw }
  })
}

/** The tokens of the domain, oldest first; revoked ones as `remove-old-secrets.ts` keeps them. Throws `domain_not_found`. */
export async function listTokens(
  db: Queryable,
  account: AccountId,
  domain: DomainName,
): Promise<WebhookToken[]> {
  const { rows: owned } = await db.query<{ id: DomainId }>(
    'select id from domain where account_id = $1 and custom_domain = $2',
    [account, domain],
  )
  if (owned[0] === undefined) throw new AppError('domain_not_found')
  const { rows } = await db.query<TokenRow>(
    `select id, name, hint, created_at, last_used_at, revoked_at
     from webhook_token where domain_id = $1 order by id`,
    [owned[0].id],
  )
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    hint: row.hint,
    state: row.revoked_at === null ? 'active' : 'revoked',
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
  }))
}

/** Ends a token: the next request with it is refused, on every node. Again is no error. Throws `webhook_token_not_found`. */
export async function revokeToken(
  db: Queryable,
  account: AccountId,
  tokenId: number,
  nowMs: number,
): Promise<void> {
  const { rowCount } = await db.query(
    `update webhook_token t set revoked_at = coalesce(t.revoked_at, $3)
     from domain d where d.id = t.domain_id and d.account_id = $1 and t.id = $2::bigint`,
    [account, tokenId, new Date(nowMs)],
  )
  if (rowCount === 0) throw new AppError('webhook_token_not_found')
}

/** Whose token that is; throws `webhook_token_not_found`. For the operator only. */
export async function ownerOfToken(db: Queryable, tokenId: number): Promise<AccountId> {
  const { rows } = await db.query<{ account_id: AccountId }>(
    'select d.account_id from webhook_token t join domain d on d.id = t.domain_id where t.id = $1::bigint',
    [tokenId],
  )
  const owner = rows[0]?.account_id
  if (owner === undefined) throw new AppError('webhook_token_not_found')
  return owner
}

/** Whose domain that is; throws `domain_not_found`. For the operator only. */
export async function ownerOfDomain(db: Queryable, domain: DomainName): Promise<AccountId> {
  const { rows } = await db.query<{ account_id: AccountId }>(
    'select account_id from domain where custom_domain = $1',
    [domain],
  )
  const owner = rows[0]?.account_id
  if (owner === undefined) throw new AppError('domain_not_found')
  return owner
}

type TokenRow = {
  id: number
  name: string
  hint: string
  created_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
}
