import { promisify } from 'node:util'
import { brotliCompress, brotliCompressSync, brotliDecompress, constants } from 'node:zlib'
import type { DomainId, JobId } from '@prepaint/contract/ids.ts'
import type { PageId, PageVariant } from '@prepaint/contract/page/page-id.ts'
import type { PageVersion, StoredEntry, StoredPage, StoredRedirect } from '@prepaint/contract/page/stored.ts'
import { headerLinks } from '@prepaint/contract/reading/link-header.ts'
import type { PageReading } from '@prepaint/contract/reading/page-reading.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { etagOf } from '@prepaint/runtime/http/etag.ts'
import type pg from 'pg'

const compress = promisify(brotliCompress)

/** `etag` is without quotes; equal content has an equal etag. */
export type PageBody = {
  bodyBr: Buffer
  bodyHtml: Buffer
  htmlBytes: number
  etag: string
  /** The page links to Markdown of the site's own. */
  ownMarkdown: boolean
}

/** Compressing this much takes a tenth of a millisecond; handing it to another thread takes twice as long. */
const SMALL_BYTES = 16 * 1024

/** Compresses with brotli. Level 5: 231 kB of HTML to 34 kB in 3.4 ms; gzip 6: 41 kB, 3.2 ms; brotli 11: 26 kB, 251 ms. */
export async function packText(bytes: Buffer): Promise<Buffer> {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 5,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  }
  const packed =
    bytes.length <= SMALL_BYTES ? brotliCompressSync(bytes, { params }) : await compress(bytes, { params })
  // A copy: each of zlib's results keeps 64 KiB alive, and those of pages stay in memory.
  return Buffer.from(new Uint8Array(packed).buffer)
}

export async function pageBody(html: string, { ownMarkdown = false } = {}): Promise<PageBody> {
  const bytes = Buffer.from(html, 'utf8')
  const bodyBr = await packText(bytes)
  return { bodyBr, bodyHtml: bytes, htmlBytes: bytes.length, etag: etagOf(bytes), ownMarkdown }
}

/** Whether a page links to Markdown of the site's own, in its HTML or its headers. */
export function hasOwnMarkdown(reading: PageReading, headers: StoredPage['headers']): boolean {
  const isLinked = headerLinks(headers).some(
    ({ rels, type }) => rels.includes('alternate') && type === 'text/markdown',
  )
  return isLinked || reading.hasOwnMarkdown
}

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

const COLUMNS = `p.status, p.headers, p.body_br, p.html_bytes, p.etag, p.rendered_at, p.stale_since,
                p.changed_at, p.rule_effect, p.rule_changes, p.own_markdown, r.status as redirect_status, r.location, r.stored_at`

const READ = {
  name: 'stored-page-read',
  text: `select ${COLUMNS}
           from (select $1::integer as domain_id, $2::text as path, $3::text as variant) asked
           left join page p using (domain_id, path, variant)
           left join redirect r using (domain_id, path, variant)`,
}

const READ_MANY = {
  name: 'stored-pages-read',
  text: `select asked.at::integer, ${COLUMNS}
           from unnest($1::integer[], $2::text[], $3::text[]) with ordinality as asked (domain_id, path, variant, at)
           left join page p using (domain_id, path, variant)
           left join redirect r using (domain_id, path, variant)`,
}

/** Reads the redirect or the page, or the newer one if both exist. */
export async function readStored(db: Queryable, page: PageId): Promise<StoredEntry | null> {
  const { rows } = await db.query<Row>({ ...READ, values: [page.domain, page.path, page.variant] })
  return rows[0] === undefined ? null : entryOf(rows[0], page)
}

function entryOf(row: Row, { variant }: PageId): StoredEntry | null {
  const redirect = row.redirect_status === null ? null : redirectOf(row, variant, row.redirect_status)
  const rendered = row.status === null ? null : pageOf(row, variant, row.status)
  if (redirect === null || rendered === null) return redirect ?? rendered
  return redirect.renderedAtMs >= rendered.renderedAtMs ? redirect : rendered
}

/** The most pages of one statement, which bounds the bodies in memory. */
const MOST_AT_ONCE = 16

/** Reads of one turn of the event loop share a statement: a quarter of the processor time of one for each. */
export function createStoredReader(db: Queryable): (page: PageId) => Promise<StoredEntry | null> {
  return joined((pages) => readMany(db, pages), { most: MOST_AT_ONCE })
}

async function readMany(db: Queryable, pages: readonly PageId[]): Promise<(StoredEntry | null)[]> {
  if (pages.length === 1) return [await readStored(db, pages[0]!)]
  const { rows } = await db.query<Row & { at: number }>({
    ...READ_MANY,
    values: [
      pages.map(({ domain }) => domain),
      pages.map(({ path }) => path),
      pages.map(({ variant }) => variant),
    ],
  })
  const entries = pages.map((): StoredEntry | null => null)
  for (const row of rows) entries[row.at - 1] = entryOf(row, pages[row.at - 1]!)
  return entries
}

/** Compares what a node has in memory. The body is read only if its etag is another one. */
const COMPARE = {
  name: 'stored-pages-compare',
  text: `select asked.at::integer, compared.is_same,
                p.status, p.headers, case when p.etag = asked.etag then null else p.body_br end as body_br,
                p.html_bytes, p.etag, p.rendered_at, p.stale_since, p.changed_at, p.rule_effect, p.rule_changes,
                p.own_markdown, r.status as redirect_status, r.location, r.stored_at
           from unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::timestamptz[], $7::text[])
                with ordinality as asked (domain_id, path, variant, etag, rendered_at, stale_since, rule_effect, at)
          cross join lateral (
                select coalesce(case when asked.etag is null
                  then date_trunc('milliseconds', r.stored_at) = asked.rendered_at
                       and (p.status is null or r.stored_at >= p.rendered_at)
                  else p.etag = asked.etag and date_trunc('milliseconds', p.rendered_at) = asked.rendered_at
                       and date_trunc('milliseconds', p.stale_since) is not distinct from asked.stale_since
                       and p.rule_effect = asked.rule_effect and (r.status is null or r.stored_at < p.rendered_at)
                  end, false) as is_same
                  from (select asked.domain_id, asked.path, asked.variant) this
                  left join page p using (domain_id, path, variant)
                  left join redirect r using (domain_id, path, variant)) compared
           left join page p on not compared.is_same
                and (p.domain_id, p.path, p.variant) = (asked.domain_id, asked.path, asked.variant)
           left join redirect r on not compared.is_same
                and (r.domain_id, r.path, r.variant) = (asked.domain_id, asked.path, asked.variant)`,
}

/** The most pages that are compared at once. A row without a body has some 400 bytes, one of a page that is the same 60. */
const MOST_COMPARED = 100
/** More statements at once would only wait for each other. */
const COMPARING = 4

type KnownPage = { page: PageId; known: PageVersion }

/** Reads what is stored now if it is not the known version. Calls share statements of up to 100 pages. */
export function createStoredComparer(
  db: Queryable,
): (page: PageId, known: PageVersion) => Promise<StoredEntry | 'same' | null> {
  const compare = joined((pages: readonly KnownPage[]) => compareMany(db, pages), {
    most: MOST_COMPARED,
    underWay: COMPARING,
  })
  return (page, known) => compare({ page, known })
}

async function compareMany(
  db: Queryable,
  pages: readonly KnownPage[],
): Promise<(StoredEntry | 'same' | null)[]> {
  const { rows } = await db.query<
    Omit<Row, 'body_br'> & { at: number; is_same: boolean; body_br: Buffer | null }
  >({
    ...COMPARE,
    values: [
      pages.map(({ page }) => page.domain),
      pages.map(({ page }) => page.path),
      pages.map(({ page }) => page.variant),
      pages.map(({ known }) => known.etag),
      pages.map(({ known }) => new Date(known.renderedAtMs)),
      pages.map(({ known }) => (known.staleSinceMs === null ? null : new Date(known.staleSinceMs))),
      pages.map(({ known }) => known.ruleEffect),
    ],
  })
  const entries = pages.map((): StoredEntry | 'same' | null => null)
  for (const row of rows) {
    const { page, known } = pages[row.at - 1]!
    const body = row.body_br ?? known.bodyBr
    entries[row.at - 1] = row.is_same ? 'same' : entryOf({ ...row, body_br: body ?? Buffer.alloc(0) }, page)
  }
  return entries
}

const decompress = promisify(brotliDecompress)

export async function htmlOf({ bodyBr }: { bodyBr: Buffer }, limitBytes = HTML_LIMIT_BYTES): Promise<string> {
  return String(await decompress(bodyBr, { maxOutputLength: limitBytes }))
}

/** Twice the limit of a render. A larger page is an error. */
const HTML_LIMIT_BYTES = 32 * 1024 * 1024

function redirectOf(row: Row, variant: PageVariant, status: number): StoredRedirect {
  const renderedAtMs = row.stored_at.getTime()
  return { kind: 'redirect', variant, status, location: row.location, renderedAtMs, staleSinceMs: null }
}

function pageOf(row: PageRow, variant: PageVariant, status: number): StoredPage {
  const page: StoredPage = {
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
  }
  if (row.rule_effect !== '') {
    page.ruleEffect = row.rule_effect
    page.ruleChanges = row.rule_changes
  }
  return page
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
/** The limit of a compressed error page. For larger ones crawlers get the origin's response. */
export const UNSTORED_LIMIT_BYTES = 1024 * 1024

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

/** Returns how many were removed. */
export async function removeOldUnstored(pool: pg.Pool, nowMs: number): Promise<number> {
  const { rowCount } = await pool.query('delete from unstored_page where made_at < $1', [
    new Date(nowMs - UNSTORED_MS),
  ])
  return rowCount ?? 0
}
