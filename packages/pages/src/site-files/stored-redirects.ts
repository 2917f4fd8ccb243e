import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import { compile, isOwnHost, type Redirect, RedirectMap } from '@prepaint/contract/site-files/redirects.ts'
import { announceHost } from '@prepaint/postgres/announce.ts'
import { record } from '@prepaint/postgres/audit'
import { BufferedWrites } from '@prepaint/postgres/buffered-writes.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import { etagOf } from '@prepaint/runtime/http/etag.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { forgetVisits } from '../store/last-visits.ts'
import { askToTell } from './page-facts.ts'
import { addVersion, newestContent } from './versions.ts'

/** `external`: it leads to another host. `shadows_page`: a stored page is behind it. */
export type ListedRedirect = Redirect & {
  hits: number
  last_used_at: string | null
  external: boolean
  shadows_page: boolean
}

type Domain = { id: DomainId; name: DomainName }

/** Reads the redirects in the order of the last change. */
async function readRedirects(db: Queryable, domain: DomainId): Promise<Redirect[]> {
  return ((await newestContent(db, domain, 'redirects')) ?? []) as Redirect[]
}

/** Returns null if the domain has no redirects. */
export async function redirectMapOf(db: Queryable, domain: DomainId): Promise<RedirectMap | null> {
  const redirects = await readRedirects(db, domain)
  return redirects.length === 0 ? null : new RedirectMap(redirects)
}

export async function listRedirects(db: Queryable, domain: Domain): Promise<ListedRedirect[]> {
  const redirects = await readRedirects(db, domain.id)
  const covered = redirects.map(nameOf).flatMap(coveredRanges)
  const { rows } = await db.query<{
    name: string
    hits: number
    last_used_at: Date | null
    shadows_page: boolean
  }>(
    `select c.name, coalesce(u.hits, 0)::float8 as hits, u.last_used_at, bool_or(exists (
              select from page where domain_id = $1 and path >= c.low and path < c.high)) as shadows_page
       from json_to_recordset($2) as c (name text, low text collate "C", high text collate "C")
       left join redirect_use u on u.domain_id = $1 and u.path = c.name
      group by c.name, u.hits, u.last_used_at`,
    [domain.id, JSON.stringify(covered)],
  )
  const usedOf = new Map(rows.map(({ name, ...used }) => [name, used]))
  return redirects.map((redirect) => {
    const { hits = 0, last_used_at = null, shadows_page = false } = usedOf.get(nameOf(redirect)) ?? {}
    const external = isExternal(redirect, domain.name)
    return { ...redirect, hits, last_used_at: last_used_at?.toISOString() ?? null, external, shadows_page }
  })
}

function isExternal({ to }: Redirect, name: DomainName): boolean {
  return to !== null && !to.startsWith('/') && !isOwnHost(URL.parse(to), name)
}

function nameOf(redirect: Redirect): string {
  return compile(redirect)?.name ?? ''
}

/** Returns the ETag of the list without its figures, with quotes. */
export function redirectsETag(redirects: readonly Redirect[]): string {
  return `"${etagOf(JSON.stringify(redirects.map(({ from, to, status }) => [from, to, status])))}"`
}

/**
 * Replaces the list. The caller has checked it. `ifMatch`: throws `changed_meanwhile` unless it names the present list. `admit`: reads
 * in the transaction whether the one who asks may still do it, and throws if not.
 */
export async function replaceRedirects(
  pool: pg.Pool,
  domain: Domain,
  redirects: readonly Redirect[],
  {
    author,
    ifMatch,
    admit,
  }: { author: string; ifMatch?: string | undefined; admit?: (client: Queryable) => Promise<void> },
): Promise<void> {
  await retriedTransaction(pool, async (client) => {
    await admit?.(client)
    const { rows } = await client.query<{ account_id: AccountId }>(
      'select account_id from domain where id = $1 for no key update',
      [domain.id],
    )
    if (rows[0] === undefined) throw new AppError('domain_not_found')
    const account = rows[0].account_id
    const before = await readRedirects(client, domain.id)
    if (ifMatch !== undefined && !namesTag(ifMatch, redirectsETag(before))) {
      throw new AppError('changed_meanwhile')
    }
    const content = redirects.map(({ from, to, status }) => ({ from, to, status }))
    if (!(await addVersion(client, domain.id, { kind: 'redirects', content, author, before: [] }))) return
    const details = { redirects: { old: before.length, new: content.length } }
    await record(client, { account, action: 'redirects.changed', domain: domain.name, details })
    const earlier = new Set(before.map(nameOf))
    const now = new Set(redirects.map(nameOf))
    const uses = 'delete from redirect_use where domain_id = $1 and path <> all ($2)'
    await client.query(uses, [domain.id, [...now]])
    await forgetVisits(client, domain.id, [...now].flatMap(coveredRanges))
    const changed = [...new Set([...earlier, ...now])].filter((name) => earlier.has(name) !== now.has(name))
    await noteCovered(client, domain.id, changed.flatMap(coveredRanges))
    await announceHost(client, domain.name)
  })
}

type Covered = { name: string; low: string; high: string }

/**
 * The stored paths that it covers, with any query: from `low`, up to before `high`. Paths are ASCII without spaces and
 * sorted by bytes.
 */
function coveredRanges(name: string): Covered[] {
  const start = name.replace(/\*$/, '')
  if (start !== name) return [{ name, low: start, high: `${start}\x7f` }]
  return [
    { name, low: name, high: `${name} ` },
    { name, low: `${name}?`, high: `${name}@` },
  ]
}

/** A change of redirects tells of so many pages. The others are not told. */
const COVERED_LIMIT = 100_000

/** Tells search engines of listed pages whose redirects appeared or went. */
async function noteCovered(db: Queryable, domain: DomainId, covered: readonly Covered[]): Promise<void> {
  await db.query(
    `with untold as (
     update page_fact set untold_at = now(), is_covered = true
      where domain_id = $1 and path in (
        select f.path from domain d join page_fact f on f.domain_id = d.id and f.is_listed
         where d.id = $1 and d.settings->'indexnow' = 'true'
           and exists (select from json_to_recordset($2) as covered (low text collate "C", high text collate "C")
                        where f.path >= covered.low and f.path < covered.high)
         order by f.path limit ${COVERED_LIMIT} for update of f)
     returning domain_id)
     ${askToTell('untold')}`,
    [domain, JSON.stringify(covered)],
  )
}

/** Whether `If-Match` names the ETag (RFC 9110, section 13.1.1). */
function namesTag(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '*' || ifMatch.split(',').some((tag) => tag.trim() === etag)
}

type Use = { domain: DomainId; name: string; hits: number; last: Date }

/** Counts in memory and writes every few seconds. A batch that cannot be written is lost. */
export class RedirectUses {
  readonly #writes: BufferedWrites<Use>

  constructor(db: Queryable, log: Log) {
    const failed = 'uses of redirects could not be counted'
    this.#writes = new BufferedWrites((uses: readonly Use[]) => addUses(db, uses), { log, failed })
  }

  note(domain: DomainId, name: string, nowMs: number): void {
    const key = `${domain}${name}`
    const hits = (this.#writes.waiting(key)?.hits ?? 0) + 1
    this.#writes.note(key, { domain, name, hits, last: new Date(nowMs) })
  }

  flush(): Promise<void> {
    return this.#writes.flush()
  }
}

/** Writes the uses in key order, to avoid deadlocks. */
async function addUses(db: Queryable, uses: readonly Use[]): Promise<void> {
  await db.query(
    `insert into redirect_use as u (domain_id, path, hits, last_used_at)
     select n.domain, n.name, n.hits, n.last
       from json_to_recordset($1) as n (domain integer, name text collate "C", hits bigint, last timestamptz)
       join domain d on d.id = n.domain
      order by n.domain, n.name
     on conflict (domain_id, path) do update set
       hits = u.hits + excluded.hits, last_used_at = greatest(u.last_used_at, excluded.last_used_at)`,
    [JSON.stringify(uses)],
  )
}
