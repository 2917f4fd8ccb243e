import type { ShareLinkView } from '@prepaint/contract/api/share-links.ts'
import { AppError, invalidField } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, Scope } from '@prepaint/contract/ids.ts'
import { parseDomainName } from '@prepaint/contract/settings/domain-name.ts'
import { DEFAULT_SHARE_PARTS, SHARE_PARTS, type SharePart } from '@prepaint/contract/share-parts.ts'
import { record, SECRET } from '@prepaint/postgres/audit'
import { removeOld, type Steps } from '@prepaint/postgres/remove-old.ts'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { type Actor, actorNow, domainsNow } from './actor.ts'
import { lockAccount } from './members.ts'
import { createSecret, hashSecret, isSecret, parseSecretName } from './secrets.ts'

const SHARE_LINK_LIMIT = 100
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const SHORTEST_MS = HOUR_MS
const LONGEST_DAYS = 400
const DEFAULT_DAYS = 90
/** Expired links are listed for so long. */
const EXPIRED_KEPT_DAYS = 30

type Row = Omit<ShareLinkView, 'created_at' | 'expires_at' | 'last_used_at'> & {
  created_at: Date
  expires_at: Date
  last_used_at: Date | null
}

/** $1: the account, $2: the domains that the reader may see. Links that show others do not exist for such a reader. */
const SELECT = `select s.id, s.name, s.parts, s.created_at, s.expires_at, s.last_used_at, s.created_by,
    array(select d.custom_domain from domain d where d.account_id = s.account_id and d.id = any (s.domains)
           order by d.custom_domain) as domains
  from share_link s where s.account_id = $1 and ($2::integer[] is null or s.domains <@ $2)`

/** Lists share links, oldest first. Expired ones are among them for 30 days. */
export async function listShareLinks(db: Queryable, { account, domains }: Scope): Promise<ShareLinkView[]> {
  const { rows } = await db.query<Row>(`${SELECT} order by s.id`, [account, domains])
  return rows.map(toView)
}

type NewShareLink = {
  name: string
  /** Names. */
  domains: readonly string[]
  /** Default: all but `pages`. */
  parts?: readonly SharePart[] | undefined
  /** Default: in 90 days. */
  expiresAt?: Date | undefined
  /** An address. Null: the command line. */
  author: string | null
}

/**
 * `token` is shown only here. Throws `invalid_field`, `domain_not_found` for a domain that is not within the scope,
 * `share_link_limit`, and as `actorNow`.
 */
export async function createShareLink(
  pool: pg.Pool,
  { account, domains: within }: Scope,
  actor: Actor,
  {
    name: rawName,
    domains: names,
    parts: asked = DEFAULT_SHARE_PARTS,
    expiresAt: given,
    author,
  }: NewShareLink,
  nowMs: number,
): Promise<{ shareLink: ShareLinkView; token: string }> {
  const name = parseSecretName(rawName)
  const expiresAt = given ?? new Date(nowMs + DEFAULT_DAYS * DAY_MS)
  checkExpiry(expiresAt, nowMs)
  const parts = SHARE_PARTS.filter((part) => asked.includes(part))
  const { raw, hash } = createSecret('pp_sh_')
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    await actorNow(client, account, actor, 'createShareLink')
    await checkLimit(client, account, nowMs)
    const domains = await domainIdsWithin(client, { account, domains: within }, names)
    const mayShow = await domainsNow(client, account, actor)
    if (mayShow !== null && domains.some((id) => !mayShow.includes(id)))
      throw new AppError('domain_not_found')
    const { rows } = await client.query<{ id: number }>(
      `insert into share_link (account_id, name, token_hash, domains, parts, created_at, expires_at, created_by)
       values ($1, $2, $3, $4, $5, $6, $7, $8) returning id`,
      [account, name, hash, domains, parts, new Date(nowMs), expiresAt, author],
    )
    const { rows: made } = await client.query<Row>(`${SELECT} and s.id = $3`, [account, null, rows[0]!.id])
    const shareLink = toView(made[0]!)
    const details = { domains: shareLink.domains, parts, expires_at: shareLink.expires_at, token: SECRET }
    await record(client, { account, action: 'share_link.created', target: name, details })
    return { shareLink, token: raw }
  })
}

function checkExpiry(expiresAt: Date, nowMs: number): void {
  const inMs = expiresAt.getTime() - nowMs
  if (inMs >= SHORTEST_MS && inMs <= LONGEST_DAYS * DAY_MS) return
  throw invalidField(['expires_at'], `must be in 1 hour to ${LONGEST_DAYS} days`)
}

/** Throws `share_link_limit`. The caller has locked the account. */
async function checkLimit(client: Queryable, account: AccountId, nowMs: number): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    'select count(*)::int as count from share_link where account_id = $1 and expires_at > $2',
    [account, new Date(nowMs)],
  )
  if (rows[0]!.count >= SHARE_LINK_LIMIT) throw new AppError('share_link_limit')
}

/** Throws `domain_not_found`. */
async function domainIdsWithin(
  client: Queryable,
  { account, domains }: Scope,
  raw: readonly string[],
): Promise<DomainId[]> {
  if (raw.length === 0) throw invalidField(['domains'], 'must name at least one domain')
  const names = new Set<string>()
  for (const each of raw) {
    const parsed = parseDomainName(each)
    if (!parsed.ok) throw new AppError('domain_not_found')
    names.add(parsed.name)
  }
  const { rows } = await client.query<{ id: DomainId }>(
    `select id from domain where account_id = $1 and custom_domain = any ($2::text[])
        and ($3::integer[] is null or id = any ($3)) order by id`,
    [account, [...names], domains],
  )
  if (rows.length < names.size) throw new AppError('domain_not_found')
  return rows.map(({ id }) => id)
}

/** Ends a link at once, on every node. Throws `share_link_not_found` and as `actorNow`. */
export async function revokeShareLink(
  pool: pg.Pool,
  { account, domains }: Scope,
  actor: Actor,
  id: number,
): Promise<{ id: number; name: string }> {
  return transaction(pool, async (client) => {
    await lockAccount(client, account)
    await actorNow(client, account, actor, 'revokeShareLink')
    const within = actor.member === null ? domains : await domainsNow(client, account, actor)
    const { rows } = await client.query<{ id: number; name: string }>(
      `delete from share_link where account_id = $1 and ($2::integer[] is null or domains <@ $2) and id = $3::bigint
       returning id, name`,
      [account, within, id],
    )
    if (rows[0] === undefined) throw new AppError('share_link_not_found')
    await record(client, { account, action: 'share_link.revoked', target: rows[0].name })
    return rows[0]
  })
}

/** Who holds a share link. */
export type Shared = {
  shareId: number
  account: AccountId
  accountName: string
  plan: string
  suspended: boolean
  domains: DomainId[]
  parts: SharePart[]
  expiresAt: Date
  lastUsedAt: Date | null
}

/** Returns null if the link is unknown, revoked or expired. Never cached. */
export async function findShared(db: Queryable, raw: string, nowMs: number): Promise<Shared | null> {
  if (!isSecret('pp_sh_', raw)) return null
  const { rows } = await db.query<Shared>({
    name: 'find-shared',
    text: `select s.id as "shareId", s.account_id as account, coalesce(a.name, a.email) as "accountName", a.plan,
                  a.suspended_at is not null as suspended, s.domains, s.parts, s.expires_at as "expiresAt",
                  s.last_used_at as "lastUsedAt"
             from share_link s join account a on a.id = s.account_id
            where s.token_hash = $1 and s.expires_at > $2`,
    values: [hashSecret(raw), new Date(nowMs)],
  })
  return rows[0] ?? null
}

/** Returns whose link this was, if it has expired, so that the screen can say who to ask; else null. */
export async function findExpired(
  db: Queryable,
  raw: string,
  nowMs: number,
): Promise<{ account: AccountId; accountName: string } | null> {
  if (!isSecret('pp_sh_', raw)) return null
  const { rows } = await db.query<{ account: AccountId; accountName: string }>(
    `select s.account_id as account, coalesce(a.name, a.email) as "accountName"
       from share_link s join account a on a.id = s.account_id
      where s.token_hash = $1 and s.expires_at <= $2`,
    [hashSecret(raw), new Date(nowMs)],
  )
  return rows[0] ?? null
}

function toView({
  created_at: created,
  expires_at: expires,
  last_used_at: used,
  ...row
}: Row): ShareLinkView {
  return {
    ...row,
    created_at: created.toISOString(),
    expires_at: expires.toISOString(),
    last_used_at: used?.toISOString() ?? null,
  }
}

export function removeOldShareLinks(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOld(pool, { table: 'share_link', at: 'expires_at', keptDays: EXPIRED_KEPT_DAYS }, steps)
}
