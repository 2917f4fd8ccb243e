import { AppError, type ErrorCode, invalidField } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { createSecret, parseSecretName } from './secrets.ts'

// API keys of accounts and webhook tokens of domains share one implementation.

export const ACTIVE_KEY_LIMIT = 5
export const ACTIVE_TOKEN_LIMIT = 5

/** `owner` is the column that the limit counts by; `ofAccount` is a condition on rows `s` with the account as $1. */
const KINDS = {
  api_key: {
    owner: 'account_id',
    expiresAt: 's.expires_at',
    ofAccount: 's.account_id = $1',
    most: ACTIVE_KEY_LIMIT,
    limitReached: 'api_key_limit',
    notFound: 'api_key_not_found',
  },
  webhook_token: {
    owner: 'domain_id',
    expiresAt: 'null::timestamptz',
    ofAccount: 's.domain_id in (select id from domain where account_id = $1)',
    most: ACTIVE_TOKEN_LIMIT,
    limitReached: 'webhook_token_limit',
    notFound: 'webhook_token_not_found',
  },
} as const

type Kind = keyof typeof KINDS

/** What owners see of a secret, which is not its hash. Times are ISO 8601 UTC. */
type ShownSecret = {
  id: number
  name: string
  hint: string
  created_at: string
  last_used_at: string | null
  revoked_at: string | null
}

export type WebhookToken = ShownSecret & { state: 'active' | 'revoked' }

export type ApiKey = ShownSecret & {
  state: 'active' | 'expired' | 'revoked'
  expires_at: string | null
}

/** Returns the name of the key, which names changes that were made with it. */
export async function keyName(db: Queryable, account: AccountId, id: number): Promise<string> {
  const { rows } = await db.query<{ name: string }>(
    'select name from api_key where account_id = $1 and id = $2',
    [account, id],
  )
  return rows[0]?.name ?? `${id}`
}

/** The key never expires if `expiresAt` is null. Throws `invalid_field`, `account_not_found`, `plan_without_api`, `api_key_limit`. */
export async function createKey(
  pool: pg.Pool,
  account: AccountId,
  { name: rawName, expiresAt }: { name: string; expiresAt: Date | null },
  { plans, nowMs }: { plans: PlanCatalogue; nowMs: number },
): Promise<{ id: number; name: string; key: string }> {
  const name = parseSecretName(rawName)
  const { raw, hash, hint } = createSecret('pp_live_')
  if (expiresAt !== null && !(expiresAt.getTime() > nowMs)) {
    throw invalidField(['expires_at'], 'must be a time in the future')
  }
  return transaction(pool, async (client) => {
    // Locked, so that concurrent requests cannot exceed the limit.
    const { rows } = await client.query<{ plan: string }>(
      'select plan from account where id = $1 for no key update',
      [account],
    )
    if (rows[0] === undefined) throw new AppError('account_not_found')
    if (!planNamed(plans, rows[0].plan).api_keys) throw new AppError('plan_without_api')
    await checkLimit(client, 'api_key', account, nowMs)
    const { rows: made } = await client.query<{ id: number }>(
      'insert into api_key (account_id, name, key_hash, hint, expires_at) values ($1, $2, $3, $4, $5) returning id',
      [account, name, hash, hint, expiresAt],
    )
    return { id: made[0]!.id, name, key: raw }
  })
}

/**
 * `token` is shown only here. Throws `invalid_field`, `domain_not_found`, `plan_without_webhooks`,
 * `webhook_token_limit`.
 */
export async function createToken(
  pool: pg.Pool,
  account: AccountId,
  domain: DomainName,
  rawName: string,
  plans: PlanCatalogue,
): Promise<{ id: number; name: string; token: string }> {
  const name = parseSecretName(rawName)
  const { raw, hash, hint } = createSecret('pp_wh_')
  return transaction(pool, async (client) => {
    const { rows } = await client.query<{ id: DomainId; plan: string }>(
      `select d.id, a.plan from domain d join account a on a.id = d.account_id
       where d.account_id = $1 and d.custom_domain = $2 for no key update of d`,
      [account, domain],
    )
    if (rows[0] === undefined) throw new AppError('domain_not_found')
    if (!planNamed(plans, rows[0].plan).webhooks) throw new AppError('plan_without_webhooks')
    const owner = rows[0].id
    await checkLimit(client, 'webhook_token', owner, 0)
    const { rows: made } = await client.query<{ id: number }>(
      'insert into webhook_token (domain_id, name, token_hash, hint) values ($1, $2, $3, $4) returning id',
      [owner, name, hash, hint],
    )
    return { id: made[0]!.id, name, token: raw }
  })
}

/** The caller has locked the owner's row. Throws `api_key_limit` or `webhook_token_limit`. */
async function checkLimit(
  client: Queryable,
  kind: Kind,
  owner: AccountId | DomainId,
  nowMs: number,
): Promise<void> {
  const { owner: ownerColumn, expiresAt, most, limitReached } = KINDS[kind]
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from ${kind} s
      where s.${ownerColumn} = $1 and s.revoked_at is null and (${expiresAt} is null or ${expiresAt} > $2)`,
    [owner, new Date(nowMs)],
  )
  if (rows[0]!.count >= most) throw new AppError(limitReached)
}

/** Lists the keys of an account, the oldest first. Ended ones are among them until `retention.ts` removes them. */
export async function listKeys(db: Queryable, account: AccountId, nowMs: number): Promise<ApiKey[]> {
  const rows = await list(db, 'api_key', account)
  return rows.map((row) => ({
    ...shown(row),
    state: keyState(row, nowMs),
    expires_at: row.expires_at?.toISOString() ?? null,
  }))
}

function keyState({ revoked_at, expires_at }: Row, nowMs: number): ApiKey['state'] {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && expires_at.getTime() <= nowMs ? 'expired' : 'active'
}

/** Lists the tokens of a domain, the oldest first. Revoked ones are among them until they are removed. Throws `domain_not_found`. */
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
  const rows = await list(db, 'webhook_token', owned[0].id)
  return rows.map((row) => ({ ...shown(row), state: row.revoked_at === null ? 'active' : 'revoked' }))
}

type Row = {
  id: number
  name: string
  hint: string
  created_at: Date
  expires_at: Date | null
  last_used_at: Date | null
  revoked_at: Date | null
}

async function list(db: Queryable, kind: Kind, owner: AccountId | DomainId): Promise<Row[]> {
  const { rows } = await db.query<Row>(
    `select s.id, s.name, s.hint, s.created_at, ${KINDS[kind].expiresAt} as expires_at, s.last_used_at, s.revoked_at
       from ${kind} s where s.${KINDS[kind].owner} = $1 order by s.id`,
    [owner],
  )
  return rows
}

function shown({ id, name, hint, created_at, last_used_at, revoked_at }: Row): ShownSecret {
  return {
    id,
    name,
    hint,
    created_at: created_at.toISOString(),
    last_used_at: last_used_at?.toISOString() ?? null,
    revoked_at: revoked_at?.toISOString() ?? null,
  }
}

/** Applies to the next request on every node. Idempotent. Throws `api_key_not_found`. */
export function revokeKey(db: Queryable, account: AccountId, id: number, nowMs: number): Promise<void> {
  return revoke(db, 'api_key', account, id, nowMs)
}

/** Applies to the next request on every node. Idempotent. Throws `webhook_token_not_found`. */
export function revokeToken(db: Queryable, account: AccountId, id: number, nowMs: number): Promise<void> {
  return revoke(db, 'webhook_token', account, id, nowMs)
}

async function revoke(
  db: Queryable,
  kind: Kind,
  account: AccountId,
  id: number,
  nowMs: number,
): Promise<void> {
  const { ofAccount, notFound } = KINDS[kind]
  const { rowCount } = await db.query(
    `update ${kind} s set revoked_at = coalesce(s.revoked_at, $3) where ${ofAccount} and s.id = $2::bigint`,
    [account, id, new Date(nowMs)],
  )
  if (rowCount === 0) throw new AppError(notFound)
}

/** Returns the account of a key. Throws `api_key_not_found`. For operators only. */
export function ownerOfKey(db: Queryable, id: number): Promise<AccountId> {
  return readOwner(db, 'select account_id from api_key where id = $1::bigint', id, 'api_key_not_found')
}

/** Returns the account of a token. Throws `webhook_token_not_found`. For operators only. */
export function ownerOfToken(db: Queryable, id: number): Promise<AccountId> {
  const sql =
    'select account_id from webhook_token t join domain d on d.id = t.domain_id where t.id = $1::bigint'
  return readOwner(db, sql, id, 'webhook_token_not_found')
}

/** Returns the account of a domain. Throws `domain_not_found`. For operators only. */
export function ownerOfDomain(db: Queryable, name: DomainName): Promise<AccountId> {
  return readOwner(db, 'select account_id from domain where custom_domain = $1', name, 'domain_not_found')
}

async function readOwner(
  db: Queryable,
  sql: string,
  subject: number | string,
  notFound: ErrorCode,
): Promise<AccountId> {
  const { rows } = await db.query<{ account_id: AccountId }>(sql, [subject])
  if (rows[0] === undefined) throw new AppError(notFound)
  return rows[0].account_id
}
