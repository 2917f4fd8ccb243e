import { createHash } from 'node:crypto'
import type pg from 'pg'
import type { Queryable } from '../db/transaction.ts'
import { retriedTransaction } from '../db/transaction.ts'
import { AppError } from '../errors.ts'
import type { DomainId, DomainName } from '../ids.ts'
import { announceHost } from '../store/invalidation.ts'
import { forgetVisits } from '../store/last-visits.ts'
import { barePath, type Redirect, RedirectMap } from './redirects.ts'
import { addVersion, newestContent } from './versions.ts'

/** `external`: it leads to another host. `shadows_page`: a stored page is behind it. */
export type ListedRedirect = Redirect & {
  hits: number
  last_used_at: string | null
  external: boolean
  shadows_page: boolean
}

type Domain = { id: DomainId; name: DomainName }

/** In the order of the last change. */
export async function readRedirects(db: Queryable, domain: DomainId): Promise<Redirect[]> {
  return ((await newestContent(db, domain, 'redirects')) ?? []) as Redirect[]
}

/** null: the domain has none. */
export async function redirectMapOf(db: Queryable, domain: DomainId): Promise<RedirectMap | null> {
  const redirects = await readRedirects(db, domain)
  return redirects.length === 0 ? null : new RedirectMap(redirects)
}

export async function listRedirects(db: Queryable, domain: Domain): Promise<ListedRedirect[]> {
  const redirects = await readRedirects(db, domain.id)
  const paths = redirects.map(({ from }) => pathOf(from))
  const { rows } = await db.query<{ hits: string | null; last_used_at: Date | null; shadows_page: boolean }>(
    // Paths are ASCII and sorted by bytes: what begins with a text lies between it and the text with a last byte.
    `select u.hits, u.last_used_at,
            case when asked.is_wildcard
                 then exists (select from page where domain_id = $1 and path >= asked.path and path < asked.path || chr(127))
                 else exists (select from page where domain_id = $1 and path = asked.path)
                   or exists (select from page where domain_id = $1
                               and path > asked.path || '?' and path < asked.path || '@') end as shadows_page
       from unnest($2::text[], $3::boolean[]) with ordinality as asked (path, is_wildcard, at)
       left join redirect_use u on u.domain_id = $1
        and u.path = asked.path || case when asked.is_wildcard then '*' else '' end
      order by asked.at`,
    [domain.id, paths, redirects.map(({ from }) => from.endsWith('*'))],
  )
  return redirects.map((redirect, at) => {
    const { hits, last_used_at, shadows_page } = rows[at]!
    const used = { hits: Number(hits ?? 0), last_used_at: last_used_at?.toISOString() ?? null }
    return { ...redirect, ...used, external: isExternal(redirect, domain.name), shadows_page }
  })
}

function isExternal({ to }: Redirect, name: DomainName): boolean {
  return to !== null && !to.startsWith('/') && URL.parse(to)?.host !== name
}

function pathOf(from: string): string {
  return barePath(from.replace(/\*$/, '')) ?? ''
}

function nameOf({ from }: Redirect): string {
  return useName({ path: pathOf(from), isWildcard: from.endsWith('*') })
}

/** Under this name uses are counted; a wildcard and an exact entry may have the same path. */
export function useName({ path, isWildcard }: { path: string; isWildcard: boolean }): string {
  return isWildcard ? `${path}*` : path
}

/** With quotes; of the list without its figures. */
export function redirectsETag(redirects: readonly Redirect[]): string {
  const fields = redirects.map(({ from, to, status }) => [from, to, status])
  return `"${createHash('sha256').update(JSON.stringify(fields)).digest('base64url').slice(0, 22)}"`
}

/** Replaces the list. The caller has checked it. `ifMatch`: throws `changed_meanwhile` unless it names the present list. */
export async function replaceRedirects(
  pool: pg.Pool,
  domain: Domain,
  redirects: readonly Redirect[],
  { author, ifMatch }: { author: string; ifMatch?: string | undefined },
): Promise<void> {
  await retriedTransaction(pool, async (client) => {
    const { rowCount } = await client.query('select from domain where id = $1 for no key update', [domain.id])
    if (rowCount === 0) throw new AppError('domain_not_found')
    const before = await readRedirects(client, domain.id)
    if (ifMatch !== undefined && !namesTag(ifMatch, redirectsETag(before))) {
      throw new AppError('changed_meanwhile')
    }
    const content = redirects.map(({ from, to, status }) => ({ from, to, status }))
    if (!(await addVersion(client, domain.id, { kind: 'redirects', content, author, before: [] }))) return
    const names = redirects.map(nameOf)
    await client.query('delete from redirect_use where domain_id = $1 and path <> all ($2)', [
      domain.id,
      names,
    ])
    await forgetVisits(client, domain.id, names.flatMap(coveredRanges))
    const [earlier, now] = [new Set(before.map(nameOf)), new Set(names)]
    const changed = [...new Set([...earlier, ...now])].filter((name) => earlier.has(name) !== now.has(name))
    await noteCovered(client, domain.id, changed.flatMap(coveredRanges))
    await announceHost(client, domain.name)
  })
}

/** The stored paths that it covers, with any query: from the first, up to before the second. */
function coveredRanges(name: string): [from: string, before: string][] {
  if (name.endsWith('*')) return [[name.slice(0, -1), `${name.slice(0, -1)}\x7f`]]
  return [
    [name, `${name} `],
    [`${name}?`, `${name}@`],
  ]
}

/** Of a change of redirects; the others are not told. */
const COVERED_LIMIT = 100_000

/** Tells search engines of listed pages whose redirects appeared or went. */
async function noteCovered(
  db: Queryable,
  domain: DomainId,
  ranges: readonly (readonly [from: string, before: string])[],
): Promise<void> {
  await db.query(
    `insert into indexnow_url (domain_id, path, changed_at, is_covered)
     select f.domain_id, f.path, now(), true
       from domain d join page_fact f on f.domain_id = d.id and f.is_listed
      where d.id = $1 and d.settings->'indexnow' = 'true'
        and exists (select from unnest($2::text[], $3::text[]) as covered (low, high)
                     where f.path >= covered.low and f.path < covered.high)
      limit ${COVERED_LIMIT}
     on conflict (domain_id, path) do update set changed_at = excluded.changed_at, is_covered = true`,
    [domain, ranges.map(([low]) => low), ranges.map(([, high]) => high)],
  )
}

/** RFC 9110, section 13.1.1 */
function namesTag(ifMatch: string, etag: string): boolean {
  return ifMatch.trim() === '*' || ifMatch.split(',').some((tag) => tag.trim() === etag)
}

export type RedirectUse = { domain: DomainId; name: string; hits: number; lastMs: number }

export async function addRedirectUses(db: Queryable, uses: readonly RedirectUse[]): Promise<void> {
  const rows = uses.toSorted((a, b) => a.domain - b.domain || (a.name < b.name ? -1 : 1))
  await db.query(
    `insert into redirect_use as u (domain_id, path, hits, last_used_at)
     select n.domain_id, n.path, n.hits, n.last_used_at
       from unnest($1::integer[], $2::text[], $3::bigint[], $4::timestamptz[]) as n (domain_id, path, hits, last_used_at)
       join domain d on d.id = n.domain_id
     on conflict (domain_id, path) do update set
       hits = u.hits + excluded.hits, last_used_at = greatest(u.last_used_at, excluded.last_used_at)`,
    [
      rows.map(({ domain }) => domain),
      rows.map(({ name }) => name),
      rows.map(({ hits }) => hits),
      rows.map(({ lastMs }) => new Date(lastMs)),
    ],
  )
}
