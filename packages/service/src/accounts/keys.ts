import { AppError, type ErrorCode, invalidField } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, DomainName, PersonId, Scope } from '@prepaint/contract/ids.ts'
import { RIGHTS, type Right } from '@prepaint/contract/roles.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import { record, SECRET } from '@prepaint/postgres/audit'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { type Changer, checkReach, rightsNow, roleNow } from './actor.ts'
import { createSecret, parseSecretName } from './secrets.ts'

// API keys of accounts and webhook tokens of domains share one implementation.

export const ACTIVE_KEY_LIMIT = 5
export const ACTIVE_TOKEN_LIMIT = 5

/** `owner` is the column that the limit counts by; `limits` are further columns that are shown; `ofAccount` is a condition on rows `s` with the account as $1 and the ids of domains as $3. */
const KINDS = {
  api_key: {
    owner: 'account_id',
    expiresAt: 's.expires_at',
    limits: `s.created_by, s.rights, case when s.domains is not null then array(
      select d.custom_domain from domain d where d.account_id = s.account_id and d.id = any (s.domains)
       order by d.custom_domain) end as domains`,
    ofAccount: 's.account_id = $1 and $3::integer[] is null',
    domainName: 'null::text',
    action: 'revokeKey',
    revoked: 'key.revoked',
    most: ACTIVE_KEY_LIMIT,
    limitReached: 'api_key_limit',
    notFound: 'api_key_not_found',
  },
  webhook_token: {
    owner: 'domain_id',
    expiresAt: 'null::timestamptz',
    limits: 'null::text as created_by',
    ofAccount:
      's.domain_id in (select id from domain where account_id = $1 and ($3::integer[] is null or id = any ($3)))',
    domainName: '(select custom_domain from domain where id = s.domain_id)',
    action: 'revokeToken',
    revoked: 'token.revoked',
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
  /** An address. */
  created_by: string | null
  rights: Right[]
  /** Names; null: all domains of the account. */
  domains: string[] | null
}

type NewKey = {
  name: string
  /** The key never expires if it is null. */
  expiresAt: Date | null
  /** The member who makes it. Null: the command line. */
  author?: { member: number; person: PersonId; email: string } | null
  /** Default: all. */
  rights?: readonly Right[] | undefined
  /** Names. Null or undefined: all domains of the account, later ones too. */
  domains?: readonly string[] | null | undefined
}

/** Throws `invalid_field`, `account_not_found`, `role_forbidden`, `plan_without_api`, `api_key_limit`. */
export async function createKey(
  pool: pg.Pool,
  account: AccountId,
  { name: rawName, expiresAt, author = null, rights: asked = RIGHTS, domains: names = null }: NewKey,
  { plans, nowMs }: { plans: PlanCatalogue; nowMs: number },
): Promise<{ id: number; name: string; key: string; rights: Right[]; domains: string[] | null }> {
  const name = parseSecretName(rawName)
  const { raw, hash, hint } = createSecret('pp_live_')
  if (expiresAt !== null && !(expiresAt.getTime() > nowMs)) {
    throw invalidField(['expires_at'], 'must be a time in the future')
  }
  const rights = RIGHTS.filter((right) => asked.includes(right))
  return transaction(pool, async (client) => {
    // Locked, so that concurrent requests cannot exceed the limit.
    const { rows } = await client.query<{ plan: string }>(
      'select plan from account where id = $1 for no key update',
      [account],
    )
    if (rows[0] === undefined) throw new AppError('account_not_found')
    if (author !== null) await roleNow(client, account, author.member, 'createKey')
    if (!planNamed(plans, rows[0].plan).api_keys) throw new AppError('plan_without_api')
    await checkLimit(client, 'api_key', account, nowMs)
    const domains = names === null ? null : await ownDomains(client, account, names)
    const { rows: made } = await client.query<{ id: number }>(
      `insert into api_key (account_id, name, key_hash, hint, expires_at, created_by, person_id, rights, domains)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9) returning id`,
      [
        account,
        name,
        hash,
        hint,
        expiresAt,
        author?.email ?? null, // $6
        author?.person ?? null,
        rights,
        domains?.map(({ id }) => id) ?? null,
      ],
    )
    const shownDomains = domains?.map((each) => each.name) ?? null
    const details = {
      rights,
      domains: shownDomains,
      expires_at: expiresAt?.toISOString() ?? null,
      key: SECRET,
    }
    await record(client, { account, action: 'key.created', target: name, details })
    return { id: made[0]!.id, name, key: raw, rights, domains: shownDomains }
  })
}

/** Returns the domains with these names, by name. Throws `invalid_field` for a name that the account lacks. */
async function ownDomains(
  client: Queryable,
  account: AccountId,
  raw: readonly string[],
): Promise<{ id: DomainId; name: string }[]> {
  const names = new Set<string>()
  for (const each of raw) {
    const parsed = parseDomainName(each)
    if (!parsed.ok) throw invalidField(['domains'], NOT_OWN)
    names.add(parsed.name)
  }
  const { rows } = await client.query<{ id: DomainId; name: string }>(
    `select id, custom_domain as name from domain where account_id = $1 and custom_domain = any ($2::text[])
      order by custom_domain`,
    [account, [...names]],
  )
  if (rows.length === 0 || rows.length < names.size) throw invalidField(['domains'], NOT_OWN)
  return rows
}

const NOT_OWN = 'must name domains of this account'

/**
 * `token` is shown only here. Throws `invalid_field`, `domain_not_found`, `plan_without_webhooks`,
 * `webhook_token_limit`, and as `rightsNow`.
 */
export async function createToken(
  pool: pg.Pool,
  account: AccountId,
  domain: DomainName,
  rawName: string,
  plans: PlanCatalogue,
  by: Changer = null,
): Promise<{ id: number; name: string; token: string }> {
  const name = parseSecretName(rawName)
  const { raw, hash, hint } = createSecret('pp_wh_')
  return transaction(pool, async (client) => {
    const within = await rightsNow(client, account, by, 'createToken')
    const { rows } = await client.query<{ id: DomainId; plan: string }>(
      `select d.id, a.plan from domain d join account a on a.id = d.account_id
       where d.account_id = $1 and d.custom_domain = $2 for no key update of d`,
      [account, domain],
    )
    if (rows[0] === undefined) throw new AppError('domain_not_found')
    checkReach(within, rows[0].id)
    if (!planNamed(plans, rows[0].plan).webhooks) throw new AppError('plan_without_webhooks')
    const owner = rows[0].id
    await checkLimit(client, 'webhook_token', owner, 0)
    const { rows: made } = await client.query<{ id: number }>(
      'insert into webhook_token (domain_id, name, token_hash, hint) values ($1, $2, $3, $4) returning id',
      [owner, name, hash, hint],
    )
    await record(client, {
      account,
      action: 'token.created',
      domain,
      target: name,
      details: { token: SECRET },
    })
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
    created_by: row.created_by,
    rights: row.rights,
    domains: row.domains,
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
  created_by: string | null
  rights: Right[]
  domains: string[] | null
}

async function list(db: Queryable, kind: Kind, owner: AccountId | DomainId): Promise<Row[]> {
  const { rows } = await db.query<Row>(
    `select s.id, s.name, s.hint, s.created_at, ${KINDS[kind].expiresAt} as expires_at, s.last_used_at, s.revoked_at,
            ${KINDS[kind].limits}
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

/** Applies to the next request on every node. Idempotent. Throws `api_key_not_found` and as `rightsNow`. */
export function revokeKey(
  pool: pg.Pool,
  account: AccountId,
  id: number,
  nowMs: number,
  by: Changer = null,
): Promise<void> {
  return revoke(pool, 'api_key', { account, domains: null }, id, { nowMs, by })
}

/** Applies to the next request on every node. Idempotent. Throws `webhook_token_not_found` and as `rightsNow`. */
export function revokeToken(
  pool: pg.Pool,
  scope: Scope,
  id: number,
  nowMs: number,
  by: Changer = null,
): Promise<void> {
  return revoke(pool, 'webhook_token', scope, id, { nowMs, by })
}

async function revoke(
  pool: pg.Pool,
  kind: Kind,
  { account, domains }: Scope,
  id: number,
  { nowMs, by }: { nowMs: number; by: Changer },
): Promise<void> {
  const { action, ofAccount, notFound, domainName, revoked } = KINDS[kind]
  await transaction(pool, async (client) => {
    const within = await rightsNow(client, account, by, action)
    const { rows } = await client.query<{ name: string; domain: string | null; ended: boolean }>(
      `select s.name, ${domainName} as domain, s.revoked_at is not null as ended
         from ${kind} s where ${ofAccount} and s.id = $2::bigint for update of s`,
      [account, id, by === null ? domains : within],
    )
    const secret = rows[0]
    if (secret === undefined) throw new AppError(notFound)
    if (secret.ended) return
    await client.query(`update ${kind} set revoked_at = $2 where id = $1`, [id, new Date(nowMs)])
    await record(client, { account, action: revoked, domain: secret.domain, target: secret.name })
  })
}

/** Revokes the keys that the person made in the account. */
export async function revokeKeysOf(
  client: Queryable,
  account: AccountId,
  person: PersonId,
  nowMs: number,
): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'update api_key set revoked_at = $3 where account_id = $1 and person_id = $2 and revoked_at is null returning name',
    [account, person, new Date(nowMs)],
  )
  for (const { name } of rows) await record(client, { account, action: 'key.revoked', target: name })
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
