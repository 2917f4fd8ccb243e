import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { normalisePath, type QueryRule } from '@prepaint/contract/page/path.ts'
import { headerLinks } from '@prepaint/contract/reading/link-header.ts'
import type { PageReading } from '@prepaint/contract/reading/page-reading.ts'
import { mayBeIndexed } from '@prepaint/contract/reading/robots.ts'
import { deleteInSteps } from '@prepaint/postgres/remove-old.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'

type Headers = readonly (readonly [name: string, value: string])[]

/** What a sitemap needs to know of a render. `textHash` is that of its reading. */
export type SitemapFacts = { textHash: string; isIndexable: boolean }

type Address = { name: string; path: string; query: QueryRule }

export function factsForSitemap(reading: PageReading, headers: Headers, address: Address): SitemapFacts {
  const linked = headerLinks(headers).find(({ rels }) => rels.includes('canonical'))
  const canonical = reading.canonical ?? linked?.target ?? null
  const isIndexable =
    mayBeIndexed(reading.robots, headers) && (canonical === null || isOwn(canonical, address))
  return { textHash: reading.textHash, isIndexable }
}

/** http and https of the domain are the same page. */
function isOwn(canonical: string, { name, path, query }: Address): boolean {
  const url = URL.parse(canonical, `https://${name}${path}`)
  return url !== null && url.host === name && normalisePath(`${url.pathname}${url.search}`, query) === path
}

/** Whether the owner wants search engines to be told. */
const IS_TOLD = `(select settings->'indexnow' = 'true' from domain where id = known.domain_id)`

export const INDEXNOW_TASK = 'indexnow'

/**
 * Asks for the task that tells search engines, in the statement that notes changed pages: `noted` has their `domain_id`.
 * Changes of ten seconds are told together.
 */
export const askToTell = (noted: string) =>
  `select ask_task('${INDEXNOW_TASK}', d.id::text, d.account_id, clock_timestamp() + interval '10 seconds')
     from domain d where d.id in (select domain_id from ${noted})`

export type NotedPage = { page: PageId; facts: SitemapFacts; nowMs: number }

/** Notes pages after they were stored. A page with another status than 200 is not listed. */
export async function notePages(db: Queryable, all: readonly NotedPage[]): Promise<void> {
  // A statement writes a row once.
  const noted = new Map(all.map((one) => [one.page.key, one])).values()
  const rows = [...noted].map(({ page: { domain: domain_id, path }, facts, nowMs }) => ({
    domain_id,
    path,
    changed_at: new Date(nowMs),
    hash: facts.textHash,
    is_indexable: facts.isIndexable,
  }))
  await db.query({
    name: 'page-facts-note',
    text: `with given as (
       select domain.id as domain_id, asked.path, changed_at, decode(hash, 'hex') as text_hash,
              is_indexable and not exists (
                select from page where page.domain_id = domain.id and page.path = asked.path and status <> 200) as is_listed,
              settings->'indexnow' = 'true' as is_told
         from json_to_recordset($1)
           as asked (domain_id integer, path text, changed_at timestamptz, hash text, is_indexable boolean)
         join domain on domain.id = asked.domain_id
     ), noted as (
     insert into page_fact as known (domain_id, path, text_hash, changed_at, rendered_at, is_listed, untold_at)
     select domain_id, path, text_hash, changed_at, changed_at, is_listed, case when is_listed and is_told then changed_at end
       from given order by domain_id, path
     on conflict (domain_id, path) do update set
       changed_at = case when known.text_hash = excluded.text_hash then known.changed_at else excluded.changed_at end,
       untold_at = case when (known.is_listed or excluded.is_listed)
                          and (known.is_listed, known.text_hash) <> (excluded.is_listed, excluded.text_hash)
                          and ${IS_TOLD} then excluded.rendered_at else known.untold_at end,
       text_hash = excluded.text_hash, rendered_at = excluded.rendered_at, is_listed = excluded.is_listed
     returning domain_id, untold_at, rendered_at
     ), untold as (select domain_id from noted where untold_at = rendered_at)
     ${askToTell('untold')}`,
    values: [JSON.stringify(rows)],
  })
}

/** Notes that a path is no page any more, after a redirect. */
export async function notePageGone(db: Queryable, page: PageId, nowMs: number): Promise<void> {
  await db.query(
    `with gone as (
       update page_fact known
          set is_listed = false, untold_at = case when ${IS_TOLD} then $3 else untold_at end
        where domain_id = $1 and path = $2 and is_listed
       returning domain_id, untold_at
     ), untold as (select domain_id from gone where untold_at = $3)
     ${askToTell('untold')}`,
    [page.domain, page.path, new Date(nowMs)],
  )
}

/**
 * Removes facts of pages that were not rendered for the domain's `keep_seconds`. Returns how many.
 */
export function removeOldFacts(pool: pg.Pool, signal: AbortSignal): Promise<number> {
  return deleteInSteps(
    pool,
    `with old as materialized (
       select f.domain_id, f.path from page_fact f join domain d on d.id = f.domain_id
        where f.rendered_at < now() - make_interval(secs => coalesce((d.settings->>'keep_seconds')::float8, 2592000))
        limit $1)
     delete from page_fact f using old where (f.domain_id, f.path) = (old.domain_id, old.path)`,
    [],
    { signal },
  )
}
