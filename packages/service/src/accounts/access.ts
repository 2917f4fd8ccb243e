import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { hashSecret, isSecret } from './secrets.ts'

type KeyOwner = {
  keyId: number
  account: AccountId
  plan: string
  suspended: boolean
  lastUsedAt: Date | null
}

export type TokenOwner = {
  tokenId: number
  account: AccountId
  plan: string
  suspended: boolean
  domain: DomainId
  name: DomainName
  isActive: boolean
  settings: unknown
  lastUsedAt: Date | null
}

/** Returns null if the key is unknown, revoked or expired. Never cached, because a cache would outlive a revocation on another node. */
export async function findKeyOwner(db: Queryable, raw: string, nowMs: number): Promise<KeyOwner | null> {
  if (!isSecret('pp_live_', raw)) return null
  const { rows } = await db.query<KeyOwner>({
    name: 'find-key-owner',
    text: `select k.id as "keyId", k.account_id as account, a.plan, a.suspended_at is not null as suspended,
                  k.last_used_at as "lastUsedAt"
           from api_key k join account a on a.id = k.account_id
           where k.key_hash = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > $2)`,
    values: [hashSecret(raw), new Date(nowMs)],
  })
  return rows[0] ?? null
}

/** Returns null if the token is unknown or revoked. */
export async function findTokenOwner(db: Queryable, raw: string): Promise<TokenOwner | null> {
  if (!isSecret('pp_wh_', raw)) return null
  const { rows } = await db.query<TokenOwner>({
    name: 'find-token-owner',
    text: `select t.id as "tokenId", d.account_id as account, a.plan, a.suspended_at is not null as suspended,
                  d.id as domain, d.custom_domain as name, d.is_active as "isActive", d.settings,
                  t.last_used_at as "lastUsedAt"
           from webhook_token t join domain d on d.id = t.domain_id join account a on a.id = d.account_id
           where t.token_hash = $1 and t.revoked_at is null`,
    values: [hashSecret(raw)],
  })
  return rows[0] ?? null
}

/** The session or key (by id) that opened an event stream. `fleet` is true for operators. */
export type OpenAccess = { by: { session: number } | { key: number }; fleet: boolean }

type Standing = { plan: string; role: string }

/** Returns a function that tells whether a stream is still allowed: its session or key is valid, its account is active, and an operator is one still. */
export async function stillAllowed(
  db: Queryable,
  plans: PlanCatalogue,
  opened: readonly OpenAccess[],
  nowMs: number,
): Promise<(access: OpenAccess) => boolean> {
  const sessions = await standings(
    db,
    `select s.id, a.plan, a.role from sign_in_session s join account a on a.id = s.account_id
      where s.id = any ($1::integer[]) and s.expires_at > $2 and a.suspended_at is null`,
    opened.map(({ by }) => ('session' in by ? by.session : null)).filter((id) => id !== null),
    nowMs,
  )
  const keys = await standings(
    db,
    `select k.id, a.plan, a.role from api_key k join account a on a.id = k.account_id
      where k.id = any ($1::integer[]) and k.revoked_at is null and a.suspended_at is null
        and (k.expires_at is null or k.expires_at > $2)`,
    opened.map(({ by }) => ('key' in by ? by.key : null)).filter((id) => id !== null),
    nowMs,
  )
  return ({ by, fleet }) => {
    if ('session' in by) {
      const standing = sessions.get(by.session)
      return standing !== undefined && (!fleet || standing.role === 'operator')
    }
    const standing = keys.get(by.key)
    return standing !== undefined && planNamed(plans, standing.plan).api_keys
  }
}

async function standings(
  db: Queryable,
  sql: string,
  ids: readonly number[],
  nowMs: number,
): Promise<Map<number, Standing>> {
  if (ids.length === 0) return new Map()
  const { rows } = await db.query<Standing & { id: number }>(sql, [ids, new Date(nowMs)])
  return new Map(rows.map(({ id, ...standing }) => [id, standing]))
}
