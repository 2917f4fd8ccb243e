import type { Queryable } from '../db/transaction.ts'
import type { PageId } from './page-id.ts'

/** A stored render as it lies in PostgreSQL. Times are milliseconds since the Unix epoch. */
export type StoredPage = {
  kind: 'page'
  status: number
  headers: readonly (readonly [name: string, value: string])[]
  bodyBr: Buffer
  htmlBytes: number
  /** Without quotes; letters, digits, `-` and `_`. */
  etag: string
  renderedAtMs: number
  staleSinceMs: number | null
  /** When it last read otherwise: a render that brought the same did not change it. Absent: when it was rendered. */
  changedAtMs?: number
  /** As it was before it was compressed, where somebody waits for that very moment's render. */
  bodyHtml?: Buffer | undefined
}

/** An entry of the redirect cache. */
export type StoredRedirect = {
  kind: 'redirect'
  status: number
  location: string
  renderedAtMs: number
  staleSinceMs: null
}

export type StoredEntry = StoredPage | StoredRedirect

type Row = {
  status: number | null
  headers: unknown
  body_br: Buffer
  html_bytes: number
  etag: string
  rendered_at: Date
  stale_since: Date | null
  changed_at: Date | null
  redirect_status: number | null
  location: string
  stored_at: Date
}

// Both caches in one round trip; prepared once for each connection.
const READ = {
  name: 'stored-page-read',
  text: `select p.status, p.headers, p.body_br, p.html_bytes, p.etag, p.rendered_at, p.stale_since,
                p.changed_at, r.status as redirect_status, r.location, r.stored_at
           from (select $1::integer as domain_id, $2::text as path) asked
           left join page p on p.domain_id = asked.domain_id and p.path = asked.path
           left join redirect r on r.domain_id = asked.domain_id and r.path = asked.path`,
}

/**
 * What is stored for a path: its redirect or its page, the newer where both
 * exist (a page that became a redirect and back). The domain id was obtained
 * through its account or its host.
 */
export async function readStored(db: Queryable, page: PageId): Promise<StoredEntry | null> {
  const { rows } = await (db as { query(q: object): Promise<{ rows: Row[] }> }).query({
    ...READ,
    values: [page.domain, page.path],
  })
  const row = rows[0]
  if (row === undefined) return null
  const redirect = row.redirect_status === null ? null : redirectOf(row, row.redirect_status)
  const rendered = row.status === null ? null : pageOf(row, row.status)
  if (redirect === null || rendered === null) return redirect ?? rendered
  return redirect.renderedAtMs >= rendered.renderedAtMs ? redirect : rendered
}

function redirectOf(row: Row, status: number): StoredRedirect {
  const renderedAtMs = row.stored_at.getTime()
  return { kind: 'redirect', status, location: row.location, renderedAtMs, staleSinceMs: null }
}

function pageOf(row: Row, status: number): StoredPage {
  return {
    kind: 'page',
    status,
    headers: headerPairs(row.headers),
    bodyBr: row.body_br,
    htmlBytes: row.html_bytes,
    etag: row.etag.replace(/^W\//, '').replace(/[^A-Za-z0-9_-]/g, ''),
    renderedAtMs: row.rendered_at.getTime(),
    staleSinceMs: row.stale_since?.getTime() ?? null,
    changedAtMs: (row.changed_at ?? row.rendered_at).getTime(),
  }
}

/** As the column `headers` has them; what is none is left out. */
export function headerPairs(stored: unknown): [string, string][] {
  if (!Array.isArray(stored)) return []
  return stored.filter(
    (pair): pair is [string, string] =>
      Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'string',
  )
}
