import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { record, SECRET } from '@prepaint/postgres/audit'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { type Changer, checkReach, rightsNow } from '../accounts/actor.ts'
import { createSecret } from '../accounts/secrets.ts'

/** A replaced token stays valid for this time, in which fronts get the new one. */
const REPLACED_FOR_MS = 7 * 86_400_000

export type SiteToken = {
  created_at: string
  last_used_at: string | null
  /** The token before this one is valid until then; null if there is none. */
  replaces_until: string | null
  created_by: string
}

type Row = { id: number; created_at: Date; last_used_at: Date | null; created_by: string }

/**
 * Creates the token of a domain. `token` is shown only here. The one before stays valid for seven days. Throws
 * `domain_not_found` and as `rightsNow`.
 */
export async function createSiteToken(
  pool: pg.Pool,
  account: AccountId,
  domain: DomainName,
  { author, nowMs, by = null }: { author: string; nowMs: number; by?: Changer },
): Promise<{ token: string; replaces_until: string | null }> {
  const { raw, hash } = createSecret('pp_site_')
  return transaction(pool, async (client) => {
    const within = await rightsNow(client, account, by, 'createSiteToken')
    const id = await lockedDomain(client, account, domain)
    checkReach(within, id)
    const now = new Date(nowMs)
    // One token before the newest: an older one that still runs ends now.
    await client.query(
      'update site_token set ends_at = $3 where account_id = $1 and domain_id = $2 and ends_at > $3',
      [account, id, now],
    )
    const { rows } = await client.query<{ ends_at: Date }>(
      `update site_token set ends_at = $3 where account_id = $1 and domain_id = $2 and ends_at is null returning ends_at`,
      [account, id, new Date(nowMs + REPLACED_FOR_MS)],
    )
    await client.query(
      `insert into site_token (account_id, domain_id, token_hash, created_at, created_by) values ($1, $2, $3, $4, $5)`,
      [account, id, hash, now, author],
    )
    await record(client, { account, action: 'site_token.created', domain, details: { token: SECRET } })
    return { token: raw, replaces_until: rows[0]?.ends_at.toISOString() ?? null }
  })
}

/** Returns null if the domain has no valid token. Throws `domain_not_found`. */
export async function findSiteToken(
  db: Queryable,
  account: AccountId,
  domain: DomainName,
  nowMs: number,
): Promise<SiteToken | null> {
  const { rows: owned } = await db.query<{ id: DomainId }>(
    'select id from domain where account_id = $1 and custom_domain = $2',
    [account, domain],
  )
  const id = owned[0]?.id
  if (id === undefined) throw new AppError('domain_not_found')
  const { rows } = await db.query<Row & { replaces_until: Date | null }>(
    `select id, created_at, last_used_at, created_by,
            (select max(ends_at) from site_token where account_id = $1 and domain_id = $2 and ends_at > $3) as replaces_until
       from site_token where account_id = $1 and domain_id = $2 and ends_at is null`,
    [account, id, new Date(nowMs)],
  )
  const row = rows[0]
  if (row === undefined) return null
  return {
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    replaces_until: row.replaces_until?.toISOString() ?? null,
    created_by: row.created_by,
  }
}

/** Ends the domain's token, and the one that it replaced. Idempotent. Throws `domain_not_found` and as `rightsNow`. */
export async function revokeSiteToken(
  pool: pg.Pool,
  account: AccountId,
  domain: DomainName,
  nowMs: number,
  by: Changer = null,
): Promise<void> {
  await transaction(pool, async (client) => {
    const within = await rightsNow(client, account, by, 'deleteSiteToken')
    const id = await lockedDomain(client, account, domain)
    checkReach(within, id)
    const ended = await endSiteTokens(client, account, id, nowMs)
    if (ended > 0) await record(client, { account, action: 'site_token.revoked', domain })
  })
}

/** Call it in the transaction that deletes or moves the domain. `nowMs` null: the database's time. Returns how many tokens were valid. */
export async function endSiteTokens(
  client: Queryable,
  account: AccountId,
  domain: DomainId,
  nowMs: number | null = null,
): Promise<number> {
  const at = nowMs === null ? null : new Date(nowMs)
  const { rowCount } = await client.query(
    `update site_token set ends_at = coalesce($3, clock_timestamp())
      where account_id = $1 and domain_id = $2 and (ends_at is null or ends_at > coalesce($3, clock_timestamp()))`,
    [account, domain, at],
  )
  return rowCount ?? 0
}

async function lockedDomain(client: Queryable, account: AccountId, domain: DomainName): Promise<DomainId> {
  const { rows } = await client.query<{ id: DomainId }>(
    'select id from domain where account_id = $1 and custom_domain = $2 for no key update',
    [account, domain],
  )
  if (rows[0] === undefined) throw new AppError('domain_not_found')
  return rows[0].id
}
