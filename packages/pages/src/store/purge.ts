import { setTimeout as sleep } from 'node:timers/promises'
import type { DomainId, PagePath, Scope } from '@prepaint/contract/ids.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { recordEach } from '@prepaint/postgres/audit'
import { letTakeLong } from '@prepaint/postgres/long-statements.ts'
import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { matchCondition, type PageMatch } from './list-pages.ts'

/** What a purge may delete. */
export type PurgeWhat =
  | { kind: 'all' }
  | { kind: 'path'; path: PagePath }
  | { kind: 'paths'; paths: readonly PagePath[] }
  | { kind: 'matching'; match: PageMatch }
  | { kind: 'prefix'; prefix: string }

/** `page`: one variant. `unchanged`: pages that still have this ETag. Everything else: both variants. */
export type DeletedPages =
  | PurgeWhat
  | { kind: 'page'; page: PageId }
  | { kind: 'unchanged'; pages: readonly { path: PagePath; etag: string }[] }
  | { kind: 'mobile' }

export type DeletionReason =
  | 'purge'
  | 'domain-deleted'
  | 'refresh'
  | 'must-not-be-stored'
  | 'soft-404'
  | 'one-device'

type Deletion = {
  /** Renders that run store nothing. A completing job holds its row, so the deletion sees its page. */
  supersedesRenders: boolean
  redirects: 'of the domain' | 'of the pages' | 'stay'
  sitemaps: boolean
  derived: readonly Derived[]
  /** The paths stay known, so that a warm renders them again. */
  staysKnown: boolean
  /** It may be about a whole domain. */
  mayTakeLong: boolean
}

/**
 * What is kept for a path beside its page and redirect, and is not found through the page's row. Derived forms are: they go
 * with the row. Facts for the sitemap (`page_fact`) and visits belong to the path, which stays known: they end by age.
 */
const DELETE_DERIVED = {
  digests: 'delete from page_digest where',
  inspections: 'delete from inspection where',
  refusals: 'delete from refused_page where',
} as const

type Derived = keyof typeof DELETE_DERIVED
const ALL_DERIVED: readonly Derived[] = ['digests', 'inspections', 'refusals']

/** All reasons for which pages are deleted before their time. Those that are too old: `remove-expired.ts`. */
const DELETIONS: Record<DeletionReason, Deletion> = {
  // The owner wants nothing of it any more. Sitemaps and redirects of the domain too, as the interface promises.
  purge: {
    supersedesRenders: true,
    redirects: 'of the domain',
    sitemaps: true,
    derived: ALL_DERIVED,
    staysKnown: true,
    mayTakeLong: true,
  },
  'domain-deleted': {
    supersedesRenders: true,
    redirects: 'of the domain',
    sitemaps: true,
    derived: ALL_DERIVED,
    staysKnown: false,
    mayTakeLong: true,
  },
  // The page is rendered again at once: its history goes on, and what was found in it stays to be compared.
  refresh: {
    supersedesRenders: true,
    redirects: 'of the pages',
    sitemaps: false,
    derived: ['refusals'],
    staysKnown: true,
    mayTakeLong: false,
  },
  // Nothing that is taken from the page stays, but for inspections: the owner asked for those, and they end after a day.
  // The render that found it is the one that runs.
  'must-not-be-stored': {
    supersedesRenders: false,
    redirects: 'of the pages',
    sitemaps: false,
    derived: ['digests'],
    staysKnown: false,
    mayTakeLong: false,
  },
  // A page that says "not found" with status 200 was a mistake of ours; the path may have a redirect by now.
  'soft-404': {
    supersedesRenders: false,
    redirects: 'stay',
    sitemaps: false,
    derived: [],
    staysKnown: false,
    mayTakeLong: false,
  },
  // Nothing serves the pages for phones any more; the paths are known by their desktop pages.
  'one-device': {
    supersedesRenders: true,
    redirects: 'of the pages',
    sitemaps: false,
    derived: ALL_DERIVED,
    staysKnown: false,
    mayTakeLong: true,
  },
}

/**
 * The only way to delete stored pages before their time. Every node drops them from memory at the commit. Returns how many
 * pages, redirects and sitemaps were deleted. Needs a read-committed transaction: running jobs are superseded first, so
 * that a render that ends later stores nothing.
 */
export async function deletePages(
  client: Queryable,
  domain: DomainId,
  which: DeletedPages,
  why: DeletionReason,
): Promise<number> {
  const deletion = DELETIONS[why]
  const { where, values } = condition(domain, which)
  const db = deletion.mayTakeLong ? await letTakeLong(client, { domain }) : client
  if (deletion.supersedesRenders) {
    await db.query(`update job set superseded = true where state = 'running' and ${where}`, values)
  }
  const remembered = deletion.staysKnown ? `, ${REMEMBER_GONE}` : ''
  const { rows } = await db.query<{ pages: number; paths: PagePath[] }>(
    `with gone as (delete from page where ${where} returning domain_id, path, status)${remembered}
     select count(*)::integer as pages, ${which.kind === 'unchanged' ? `coalesce(array_agg(path), '{}')` : `'{}'::text[]`} as paths
       from gone`,
    values,
  )
  let deleted = rows[0]!.pages
  if (deletion.redirects === 'of the domain') {
    const { rowCount } = await db.query('delete from redirect where domain_id = $1', [domain])
    deleted += rowCount ?? 0
  } else if (deletion.redirects === 'of the pages') {
    const { rowCount } = await db.query(`delete from redirect where ${where}`, values)
    deleted += rowCount ?? 0
  }
  if (deletion.sitemaps) {
    const { rowCount } = await db.query('delete from sitemap where domain_id = $1', [domain])
    deleted += rowCount ?? 0
  }
  for (const derived of deletion.derived) await db.query(`${DELETE_DERIVED[derived]} ${where}`, values)
  const payloads = invalidations(domain, which, rows[0]!.paths, deletion.redirects === 'of the domain')
  await db.query(`select pg_notify('invalidate', payload) from unnest($1::text[]) as payload`, [
    payloads.map((payload) => JSON.stringify(payload)),
  ])
  return deleted
}

/** Deleted pages stay known, so that a warm renders them again. */
const REMEMBER_GONE = `remembered as (
  insert into known_path (domain_id, path, source, seen_at)
  select distinct domain_id, path, 'crawler', now() from gone where status < 400 order by domain_id, path
  on conflict (domain_id, path, source) do update set seen_at = excluded.seen_at
    where known_path.seen_at < excluded.seen_at - interval '1 day')`

/** The condition holds for `page`, `redirect`, `job` and what is derived; `unchanged` for `page` only. */
function condition(domain: DomainId, which: DeletedPages): { where: string; values: unknown[] } {
  switch (which.kind) {
    case 'all':
      return { where: 'domain_id = $1', values: [domain] }
    case 'path':
      return { where: 'domain_id = $1 and path = $2', values: [domain, which.path] }
    case 'paths':
      // All statements that lock many rows take them in this order.
      return { where: 'domain_id = $1 and path = any($2)', values: [domain, [...which.paths].sort()] }
    case 'prefix':
      return { where: 'domain_id = $1 and starts_with(path, $2)', values: [domain, which.prefix] }
    case 'matching': {
      const values: unknown[] = [domain]
      const matching = matchCondition(which.match, 'path', (value) => `$${values.push(value)}`)
      return { where: `domain_id = $1 ${matching}`, values }
    }
    case 'page':
      return {
        where: 'domain_id = $1 and path = $2 and variant = $3',
        values: [domain, which.page.path, which.page.variant],
      }
    case 'unchanged':
      return {
        where: 'domain_id = $1 and (path, etag) in (select * from unnest($2::text[], $3::text[]))',
        values: [domain, which.pages.map(({ path }) => path), which.pages.map(({ etag }) => etag)],
      }
    case 'mobile':
      return { where: `domain_id = $1 and variant = 'mobile'`, values: [domain] }
  }
}

/** More paths than this are not named one by one: nodes drop the whole domain. */
const NAMED_IN_NOTICES = 10_000

/** What nodes drop from memory. With `purged`, redirects and sitemaps of the whole domain are deleted too. */
function invalidations(
  domain: DomainId,
  which: DeletedPages,
  deletedPaths: readonly PagePath[],
  purged: boolean,
): object[] {
  const ofPath = (path: PagePath): object => (purged ? { domain, path, purged } : { domain, path })
  switch (which.kind) {
    case 'all':
    case 'mobile':
    // Nodes cannot match this in memory: they drop the whole domain.
    case 'matching':
      return [{ domain }]
    case 'path':
      return [ofPath(which.path)]
    case 'page':
      return [ofPath(which.page.path)]
    case 'paths':
      return which.paths.length > NAMED_IN_NOTICES ? [{ domain }] : which.paths.map(ofPath)
    case 'unchanged':
      return deletedPaths.map(ofPath)
    case 'prefix':
      return [{ domain, prefix: which.prefix, purged: true }]
  }
}

/**
 * Deletes a page whose body is missing in the object store, if it still has that body. Returns whether it had. What other nodes
 * have in memory is whole, and stays.
 */
export async function deletePageWithBody(db: Queryable, page: PageId, bodyKey: string): Promise<boolean> {
  const { rows } = await db.query<{ pages: number }>({
    name: 'store-delete-bodiless',
    text: `with gone as (
             delete from page where domain_id = $1 and path = $2 and variant = $3 and body_key = $4 and body_br is null
             returning domain_id, path, status), ${REMEMBER_GONE}
           select count(*)::integer as pages from gone`,
    values: [page.domain, page.path, page.variant, bodyKey],
  })
  return rows[0]!.pages > 0
}

type PurgeReason = Extract<DeletionReason, 'purge' | 'domain-deleted'>

/** A purge deletes up to this many pages in its own transaction (at most one second). */
export const AHEAD_FROM = 5_000
const STEP = 1_000
const REST_MS = 20

const deleteStep = (why: PurgeReason) => `
  with piece as materialized (
    select path, variant from page where domain_id = $1 and starts_with(path, $2) and (path, variant) > ($3, $5)
     order by path, variant limit $4 for update skip locked),
  gone as (
    delete from page using piece where page.domain_id = $1 and page.path = piece.path and page.variant = piece.variant
    returning page.domain_id, page.path, page.status)${DELETIONS[why].staysKnown ? `, ${REMEMBER_GONE}` : ''}
  select (select count(*) from gone)::integer as deleted, last.path, last.variant
    from (select) always left join (select * from piece order by path desc, variant desc limit 1) last on true`

/**
 * Deletes the pages of a large purge in steps, because a million pages in one transaction would block the domain's renders for
 * minutes. Call `deletePages` next: until then nodes serve cached pages. Returns how many pages were deleted.
 */
export async function purgeAhead(
  db: Queryable,
  domain: DomainId,
  what: PurgeWhat,
  why: PurgeReason = 'purge',
): Promise<number> {
  if (what.kind !== 'all' && what.kind !== 'prefix') return 0
  const prefix = what.kind === 'prefix' ? what.prefix : ''
  const { rowCount: isLarge } = await db.query(
    'select from page where domain_id = $1 and starts_with(path, $2) offset $3 limit 1',
    [domain, prefix, AHEAD_FROM],
  )
  if (isLarge === 0) return 0
  let deleted = 0
  let after = { path: '', variant: '' }
  for (;;) {
    const values = [domain, prefix, after.path, STEP, after.variant]
    const { rows } = await db.query<{ deleted: number; path: string | null; variant: string }>(
      deleteStep(why),
      values,
    )
    const { deleted: inStep, path, variant } = rows[0]!
    deleted += inStep
    await sleep(REST_MS)
    if (path === null) return deleted
    after = { path, variant }
  }
}

/** Deletes what is stored of the domains, many pages in steps. Returns how many entries were deleted. */
export async function purgeDomains(
  pool: pg.Pool,
  domains: readonly DomainId[],
  what: PurgeWhat,
): Promise<number> {
  let ahead = 0
  for (const domain of domains) ahead += await purgeAhead(pool, domain, what)
  return retriedTransaction(pool, async (client) => {
    let deleted = ahead
    for (const domain of domains) deleted += await deletePages(client, domain, what, 'purge')
    if (what.kind === 'all' && deleted > 0) await recordPurge(client, domains, deleted)
    return deleted
  })
}

/** One entry for each account: several domains are counted. */
async function recordPurge(client: Queryable, domains: readonly DomainId[], entries: number): Promise<void> {
  await recordEach(
    client,
    {
      action: 'cache.purged',
      details: { domains: domains.length, entries },
      share: `domain ${domains[0]}`,
    },
    `select account_id, case when count(*) = 1 then min(custom_domain) end as domain
       from domain where id = any ($1) group by account_id`,
    [domains],
  )
}

/** The entries are those that a purge of all domains would delete now. */
export async function countStored(
  db: Queryable,
  { account, domains: within }: Scope,
): Promise<{ domains: number; entries: number }> {
  const { rows } = await db.query<{ domains: number; entries: string }>(
    `select count(*)::int as domains,
            coalesce(sum((select count(*) from page where domain_id = d.id)
                       + (select count(*) from redirect where domain_id = d.id)
                       + (select count(*) from sitemap where domain_id = d.id)), 0) as entries
     from domain d where d.account_id = $1 and ($2::integer[] is null or d.id = any ($2))`,
    [account, within],
  )
  const { domains, entries } = rows[0]!
  return { domains, entries: Number(entries) }
}
