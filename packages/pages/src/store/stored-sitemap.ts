import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import type { StoredSitemap } from '@prepaint/contract/site-files/stored-sitemap.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'

type Row = {
  /** Older versions left some out. */
  headers: { contentType?: string; gzipFile?: boolean; etag?: string; names?: StoredSitemap['names'] }
  body: Buffer
  fetched_at: Date
}

export async function readSitemap(db: Queryable, page: PageId): Promise<StoredSitemap | null> {
  const { rows } = await db.query<Row>(
    'select headers, body, fetched_at from sitemap where domain_id = $1 and path = $2',
    [page.domain, page.path],
  )
  const row = rows[0]
  if (row === undefined) return null
  const { contentType = 'application/xml', gzipFile = false, etag = '', names = [] } = row.headers
  return { contentType, gzipFile, etag, names, bodyGzip: row.body, fetchedAtMs: row.fetched_at.getTime() }
}

/** Does nothing if the domain was deleted meanwhile. */
export async function storeSitemap(
  db: Queryable,
  page: PageId,
  { bodyGzip, fetchedAtMs, ...headers }: StoredSitemap,
): Promise<void> {
  await db.query(
    `insert into sitemap (domain_id, path, headers, body, fetched_at)
     select id, $2, $3, $4, $5 from domain where id = $1
     on conflict (domain_id, path) do update
       set headers = excluded.headers, body = excluded.body, fetched_at = excluded.fetched_at`,
    [page.domain, page.path, JSON.stringify(headers), bodyGzip, new Date(fetchedAtMs)],
  )
}

/** Deletes a sitemap, but only if it is still the one that was fetched at that time. */
export async function dropSitemap(db: Queryable, page: PageId, fetchedAtMs: number): Promise<void> {
  await db.query('delete from sitemap where domain_id = $1 and path = $2 and fetched_at = $3', [
    page.domain,
    page.path,
    new Date(fetchedAtMs),
  ])
}

export async function namedInIndexes(db: Queryable, domain: DomainId): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    `select distinct jsonb_array_elements_text(headers -> 'names') as name
       from sitemap where domain_id = $1 limit 50000`,
    [domain],
  )
  return rows.map(({ name }) => name)
}

export async function storedSitemapPaths(
  db: Queryable,
  domain: DomainId,
  limit: number,
): Promise<PagePath[]> {
  const { rows } = await db.query<{ path: PagePath }>(
    'select path from sitemap where domain_id = $1 limit $2',
    [domain, limit],
  )
  return rows.map(({ path }) => path)
}
