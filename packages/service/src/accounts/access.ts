import { isDeepStrictEqual } from 'node:util'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import type { Right, Role } from '@prepaint/contract/roles.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import type { SharePart } from '@prepaint/contract/share-parts.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { hashSecret, isSecret } from './secrets.ts'
import { entriesAt } from './sign-in/sessions.ts'

type KeyOwner = {
  keyId: number
  name: string
  account: AccountId
  plan: string
  suspended: boolean
  lastUsedAt: Date | null
  rights: Right[]
  /** Ids of the domains that the key is limited to; null: all of the account. */
  domains: DomainId[] | null
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
    text: `select k.id as "keyId", k.name, k.account_id as account, a.plan, a.suspended_at is not null as suspended,
                  k.last_used_at as "lastUsedAt", k.rights, k.domains
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

/** What opened an event stream, and what it was opened for. `fleet` is true for operators, whose `account` may be null. */
export type OpenAccess = {
  account: AccountId | null
  domains: readonly DomainId[] | null
  by:
    | { session: number; role: Role | null }
    | { key: number }
    | { share: number; parts: readonly SharePart[]; endsAtMs: number }
  fleet: boolean
}

type SessionStanding = {
  id: number
  is_operator: boolean
  account: AccountId | null
  role: Role
  domains: DomainId[] | null
}

/**
 * Returns a function that tells whether a stream is still allowed: its session, key or share link is valid, its account is active, an
 * operator is one still, and the member has the same role and domains as when the stream was opened.
 */
export async function stillAllowed(
  db: Queryable,
  plans: PlanCatalogue,
  opened: readonly OpenAccess[],
  nowMs: number,
): Promise<(access: OpenAccess) => boolean> {
  const ids = opened.map(({ by }) => ('session' in by ? by.session : null)).filter((id) => id !== null)
  const keys = await keyPlans(
    db,
    opened.map(({ by }) => ('key' in by ? by.key : null)).filter((id) => id !== null),
    nowMs,
  )
  const shares = await validShares(
    db,
    opened.map(({ by }) => ('share' in by ? by.share : null)).filter((id) => id !== null),
    nowMs,
  )
  const sessions = Map.groupBy(await sessionStandings(db, ids, nowMs), ({ id }) => id)
  return ({ account, domains, by, fleet }) => {
    if ('key' in by) {
      const plan = keys.get(by.key)
      return plan !== undefined && planNamed(plans, plan).api_keys
    }
    if ('share' in by) return shares.has(by.share)
    const standings = sessions.get(by.session)
    if (standings === undefined) return false
    if (fleet && !standings.some(({ is_operator }) => is_operator)) return false
    if (account === null) return true
    const standing = standings.find((each) => each.account === account)
    return standing?.role === by.role && isDeepStrictEqual(standing.domains, domains)
  }
}

/** Valid sessions, once for each account that they can enter, or once without an account. */
async function sessionStandings(
  db: Queryable,
  ids: readonly number[],
  nowMs: number,
): Promise<SessionStanding[]> {
  if (ids.length === 0) return []
  const { rows } = await db.query<SessionStanding>(
    `select s.id, p.is_operator, e.account, e.role, e.domains
       from session s join person p on p.id = s.person_id
       left join lateral (${entriesAt('$2')}) e on not e.suspended and not e.ended and not e."lacksFactor"
      where s.id = any ($1::integer[]) and s.expires_at > $2`,
    [ids, new Date(nowMs)],
  )
  return rows
}

async function validShares(db: Queryable, ids: readonly number[], nowMs: number): Promise<Set<number>> {
  if (ids.length === 0) return new Set()
  const { rows } = await db.query<{ id: number }>(
    `select s.id from share_link s join account a on a.id = s.account_id
      where s.id = any ($1::integer[]) and s.expires_at > $2 and a.suspended_at is null`,
    [ids, new Date(nowMs)],
  )
  return new Set(rows.map(({ id }) => id))
}

async function keyPlans(db: Queryable, ids: readonly number[], nowMs: number): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map()
  const { rows } = await db.query<{ id: number; plan: string }>(
    `select k.id, a.plan from api_key k join account a on a.id = k.account_id
      where k.id = any ($1::integer[]) and k.revoked_at is null and a.suspended_at is null
        and (k.expires_at is null or k.expires_at > $2)`,
    [ids, new Date(nowMs)],
  )
  return new Map(rows.map(({ id, plan }) => [id, plan]))
}
