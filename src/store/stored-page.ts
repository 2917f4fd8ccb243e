import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import type pg from 'pg'
import type { Queryable } from '../db/transaction.ts'
import type { DomainId, JobId } from '../ids.ts'
import { type PageBody, readJudgement } from './keep-page.ts'
import type { PageId, PageVariant } from './page-id.ts'

/** Times are milliseconds since the Unix epoch. */
export type StoredPage = {
  kind: 'page'
  variant: PageVariant
  status: number
  headers: readonly (readonly [name: string, value: string])[]
  bodyBr: Buffer
  htmlBytes: number
  /** Without quotes; letters, digits, `-` and `_`. */
  etag: string
  renderedAtMs: number
  staleSinceMs: number | null
  /** The page links to Markdown of the site's own. */
  ownMarkdown?: boolean
  /** Absent: when it was rendered. */
  changedAtMs?: number
  /** The uncompressed body, if a crawler waits for this render. */
  bodyHtml?: Buffer | undefined
  /** Names what a rule did to its render; empty: nothing. */
  ruleEffect?: string
  ruleChanges?: unknown
}

export type StoredRedirect = {
  kind: 'redirect'
  variant: PageVariant
  status: number
  location: string
  renderedAtMs: number
  staleSinceMs: null
}

export type StoredEntry = StoredPage | StoredRedirect

type PageRow = {
  headers: unknown
  body_br: Buffer
  html_bytes: number
  etag: string
  rendered_at: Date
  stale_since: Date | null
  changed_at: Date | null
  rule_effect: string
  rule_changes: unknown
  own_markdown: boolean
}

type Row = PageRow & {
  status: number | null
  redirect_status: number | null
  location: string
  stored_at: Date
}

const READ = {
  name: 'stored-page-read',
  text: `select p.status, p.headers, p.body_br, p.html_bytes, p.etag, p.rendered_at, p.stale_since,
                p.changed_at, p.rule_effect, p.rule_changes, p.own_markdown, r.status as redirect_status, r.location, r.stored_at
           from (select $1::integer as domain_id, $2::text as path, $3::text as variant) asked
           left join page p using (domain_id, path, variant)
           left join redirect r using (domain_id, path, variant)`,
}

/** The newer of the redirect and the page, if both exist. */
export async function readStored(db: Queryable, page: PageId): Promise<StoredEntry | null> {
  const { rows } = await (db as { query(q: object): Promise<{ rows: Row[] }> }).query({
    ...READ,
    values: [page.domain, page.path, page.variant],
  })
  const row = rows[0]
  if (row === undefined) return null
  const { variant } = page
  const redirect = row.redirect_status === null ? null : redirectOf(row, variant, row.redirect_status)
  const rendered = row.status === null ? null : pageOf(row, variant, row.status)
  if (redirect === null || rendered === null) return redirect ?? rendered
  return redirect.renderedAtMs >= rendered.renderedAtMs ? redirect : rendered
}

const decompress = promisify(brotliDecompress)

export async function htmlOf(
  { bodyBr }: Pick<StoredPage, 'bodyBr'>,
  limitBytes = HTML_LIMIT_BYTES,
): Promise<string> {
  return String(await decompress(bodyBr, { maxOutputLength: limitBytes }))
}

/** Twice the render limit. */
const HTML_LIMIT_BYTES = 32 * 1024 * 1024

function redirectOf(row: Row, variant: PageVariant, status: number): StoredRedirect {
  const renderedAtMs = row.stored_at.getTime()
  return { kind: 'redirect', variant, status, location: row.location, renderedAtMs, staleSinceMs: null }
}

function pageOf(row: PageRow, variant: PageVariant, status: number): StoredPage {
  return {
    kind: 'page',
    variant,
    status,
    headers: headerPairs(row.headers),
    bodyBr: row.body_br,
    htmlBytes: row.html_bytes,
    etag: row.etag.replace(/^W\//, '').replace(/[^A-Za-z0-9_-]/g, ''),
    renderedAtMs: row.rendered_at.getTime(),
    staleSinceMs: row.stale_since?.getTime() ?? null,
    ownMarkdown: row.own_markdown,
    changedAtMs: (row.changed_at ?? row.rendered_at).getTime(),
    ...(row.rule_effect !== '' && { ruleEffect: row.rule_effect, ruleChanges: row.rule_changes }),
  }
}

function headerPairs(stored: unknown): [string, string][] {
  if (!Array.isArray(stored)) return []
  return stored.filter(
    (pair): pair is [string, string] =>
      Array.isArray(pair) && typeof pair[0] === 'string' && typeof pair[1] === 'string',
  )
}

export type UnstoredPage = {
  status: number
  headers: readonly (readonly [name: string, value: string])[]
  body: PageBody
}

/** At another node the waiting crawler reads it within a few seconds. */
export const UNSTORED_MS = 60_000
export const UNSTORED_A_DOMAIN = 20
/** Compressed. For larger error pages crawlers get the origin's response. */
export const UNSTORED_LIMIT_BYTES = 1024 * 1024

/** Pages are too large for a notification. False: there is a good copy. Call in the transaction that ends the job. */
export async function keepUnstored(
  client: Queryable,
  { id, page }: { id: JobId; page: PageId },
  { status, headers, body }: UnstoredPage,
  nowMs: number,
): Promise<boolean> {
  if (body.bodyBr.length > UNSTORED_LIMIT_BYTES) return false
  const last = (await readJudgement(client, page))?.last ?? null
  if (last !== null && last.status < 400 && nowMs - last.renderedAtMs < last.keepMs) return false
  const columns = [status, JSON.stringify(headers), body.bodyBr, body.htmlBytes, body.etag, body.ownMarkdown]
  // Also deletes expired ones and all but the newest of this domain; skips locked rows.
  await client.query({
    name: 'store-keep-unstored',
    text: `with late as (
       select job_id from unstored_page where made_at < $9 order by made_at limit 100 for update skip locked
     ), many as (
       select job_id from unstored_page where domain_id = $2 order by made_at desc offset $10 - 1 limit 100
          for update skip locked
     ), gone as (
       delete from unstored_page where job_id in (select job_id from late union all select job_id from many)
     )
     insert into unstored_page (job_id, domain_id, status, headers, body_br, html_bytes, etag, own_markdown,
                                made_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $11)
     on conflict (job_id) do nothing`,
    values: [
      ...[id, page.domain, ...columns],
      ...[new Date(nowMs - UNSTORED_MS), UNSTORED_A_DOMAIN, new Date(nowMs)],
    ],
  })
  return true
}

const READ_UNSTORED = {
  name: 'unstored-page-read',
  text: `select status, headers, body_br, html_bytes, etag, made_at as rendered_at, null as stale_since,
                null as changed_at, '' as rule_effect, null as rule_changes, own_markdown
           from unstored_page where job_id = $1 and domain_id = $2`,
}

export async function readUnstored(
  db: Queryable,
  domain: DomainId,
  job: JobId,
  variant: PageVariant = 'desktop',
): Promise<StoredPage | null> {
  const { rows } = await db.query<PageRow & { status: number }>({ ...READ_UNSTORED, values: [job, domain] })
  return rows[0] === undefined ? null : pageOf(rows[0], variant, rows[0].status)
}

/** Returns how many. */
export async function removeOldUnstored(pool: pg.Pool, nowMs: number): Promise<number> {
  const { rowCount } = await pool.query('delete from unstored_page where made_at < $1', [
    new Date(nowMs - UNSTORED_MS),
  ])
  return rowCount ?? 0
}
