import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { hashSecret, isSecret } from '../accounts/secrets.ts'

/**
 * What a site's front shows: an API key, or the site token of one domain. A dead one worked once: it was revoked, replaced
 * or has expired, its domain was deleted, or its account is suspended.
 */
export type FrontKey =
  | { state: 'dead'; account: AccountId | null; isSuspended: boolean }
  | {
      state: 'working'
      account: AccountId
      plan: string
      kind: 'api_key' | 'site_token'
      id: number
      lastUsedAt: Date | null
      /** A site token is good for this domain only. */
      domain: DomainName | null
      /** Whether it has the right `refresh`, because asking for a page may render it. */
      mayRefresh: boolean
      /** Ids of the domains that an API key is limited to; null: all of the account. */
      domains: DomainId[] | null
    }

type Row = {
  id: number
  account: AccountId | null
  plan: string | null
  is_dead: boolean | null
  is_suspended: boolean
  last_used_at: Date | null
  domain: DomainName | null
  may_refresh: boolean
  domains: DomainId[] | null
}

const API_KEY = `
  select k.id, k.account_id as account, a.plan, k.last_used_at, null as domain, 'refresh' = any (k.rights) as may_refresh, k.domains,
         k.revoked_at is not null or k.expires_at <= $2 as is_dead, a.suspended_at is not null as is_suspended
    from api_key k join account a on a.id = k.account_id
   where k.key_hash = $1
  union all
  select 0, null, null, null, null, true, null, true, false from ended_api_key where key_hash = $1`

const SITE_TOKEN = `
  select t.id, t.account_id as account, a.plan, t.last_used_at, d.custom_domain as domain, true as may_refresh, null as domains,
         t.ends_at <= $2 or d.id is null as is_dead, a.suspended_at is not null as is_suspended
    from site_token t left join account a on a.id = t.account_id left join domain d on d.id = t.domain_id
   where t.token_hash = $1`

/** Returns null for what never was one of ours, or ended too long ago. Never cached, because a cache would outlive a revocation. */
export async function findFrontKey(db: Queryable, raw: string, nowMs: number): Promise<FrontKey | null> {
  const isKey = isSecret('pp_live_', raw)
  if (!isKey && !isSecret('pp_site_', raw)) return null
  const { rows } = await db.query<Row>({
    name: isKey ? 'find-front-key' : 'find-front-token',
    text: isKey ? API_KEY : SITE_TOKEN,
    values: [hashSecret(raw), new Date(nowMs)],
  })
  const row = rows[0]
  if (row === undefined) return null
  const { id, account, plan, last_used_at: lastUsedAt, domain } = row
  const hasEnded = row.is_dead === true
  if (hasEnded || row.is_suspended || account === null || plan === null) {
    return { state: 'dead', account, isSuspended: !hasEnded && row.is_suspended }
  }
  return {
    state: 'working',
    account,
    plan,
    kind: isKey ? 'api_key' : 'site_token',
    id,
    lastUsedAt,
    domain,
    mayRefresh: row.may_refresh,
    domains: row.domains,
  }
}
