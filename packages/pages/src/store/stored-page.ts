import { promisify } from 'node:util'
import { brotliCompress, brotliCompressSync, brotliDecompress, constants } from 'node:zlib'
import type { DomainId, JobId } from '@prepaint/contract/ids.ts'
import type { PageId, PageVariant } from '@prepaint/contract/page/page-id.ts'
import type { PageVersion, StoredEntry, StoredPage, StoredRedirect } from '@prepaint/contract/page/stored.ts'
import { headerLinks } from '@prepaint/contract/reading/link-header.ts'
import type { PageReading } from '@prepaint/contract/reading/page-reading.ts'
import { joined } from '@prepaint/postgres/joined.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { BodyUnavailable } from '@prepaint/runtime/body-unavailable.ts'
import { etagOf } from '@prepaint/runtime/http/etag.ts'
import type pg from 'pg'
import type { BodyStore, LocatedBody } from './bodies/body-store.ts'
import { deletePageWithBody } from './purge.ts'

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
  body_br: Buffer | null
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
  body_key: string | null
  body_bytes: number | null
  body_sum: Buffer | null
  status: number | null
  redirect_status: number | null
  location: string
  stored_at: Date
}

const COLUMNS = `p.status, p.headers, p.body_br, p.body_key, p.body_bytes, p.body_sum, p.html_bytes, p.etag, p.rendered_at,
                p.stale_since, p.changed_at, p.rule_effect, p.rule_changes, p.own_markdown, r.status as redirect_status, r.location, r.stored_at`

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

/** What a row says, before its body is read. */
type FoundEntry = {
  entry: StoredEntry
  /** Is null for a redirect, and for a page whose body is in its row or known. */
  body: LocatedBody | null
}

/**
 * Reads the redirect or the page, or the newer one if both exist. Rejects with BodyUnavailable if the page's body is in the
 * object store, which does not answer.
 */
export async function readStored(
  db: Queryable,
  page: PageId,
  bodies: BodyStore,
): Promise<StoredEntry | null> {
  return withBody(db, bodies, page, await readRow(db, page))
}

async function readRow(db: Queryable, page: PageId): Promise<FoundEntry | null> {
  const { rows } = await db.query<Row>({ ...READ, values: [page.domain, page.path, page.variant] })
  return rows[0] === undefined ? null : entryOf(rows[0], page)
}

function entryOf(row: Row, { variant }: PageId): FoundEntry | null {
  const redirect = row.redirect_status === null ? null : redirectOf(row, variant, row.redirect_status)
  const rendered = row.status === null ? null : pageOf(row, variant, row.status)
  if (rendered === null) return redirect === null ? null : { entry: redirect, body: null }
  if (redirect !== null && redirect.renderedAtMs >= rendered.renderedAtMs)
    return { entry: redirect, body: null }
  return { entry: rendered, body: locatedBody(row) }
}

/** Returns null if the row itself has the body, also if a node of 0.2.0 has put it there beside an older key. */
export function locatedBody(row: {
  body_br: Buffer | null
  body_key: string | null
  body_bytes: number | null
  body_sum: Buffer | null
}): LocatedBody | null {
  const { body_br: inRow, body_key: key, body_bytes: bytes, body_sum: sum } = row
  return inRow !== null || key === null || bytes === null || sum === null ? null : { key, bytes, sum }
}

/** A body that is missing may have been moved, or its page rendered again, since the row was read. */
const BODY_TRIES = 3

/** Reads the body. A page whose body is missing or damaged in the store is deleted: it is rendered again. */
async function withBody(
  db: Queryable,
  bodies: BodyStore,
  page: PageId,
  first: FoundEntry | null,
): Promise<StoredEntry | null> {
  let found = first
  for (let tries = 1; tries <= BODY_TRIES; tries++) {
    if (found === null || found.entry.kind === 'redirect') return found?.entry ?? null
    const { entry, body } = found
    if (body === null) {
      bodies.noteRowRead()
      return entry
    }
    const bodyBr = await bodies.read(body)
    if (bodyBr !== null) return { ...entry, bodyBr }
    if (await deletePageWithBody(db, page, body.key)) bodies.noteMissing(body.key)
    found = await readRow(db, page)
  }
  throw new BodyUnavailable('the body of a page changes faster than it is read')
}

/** The most pages of one statement, which bounds the bodies in memory. */
const MOST_AT_ONCE = 16

/** More statements at once would only wait for each other, and for the connections of reads. */
const READING = 4

/** Says when a read begins whether a client still waits for it. */
type IsWanted = () => boolean

/**
 * Reads that wait share a statement: a quarter of the processor time of one for each. Domains take turns, so that misses of
 * one hold up no other. The result rejects with Abandoned if a read is not wanted any more when its turn comes.
 */
export function createStoredReader(
  db: Queryable,
  bodies: BodyStore,
): (page: PageId, isWanted?: IsWanted) => Promise<StoredEntry | null> {
  const read = joined(
    (asked: readonly { page: PageId; isWanted: IsWanted }[]) => {
      return readMany(
        db,
        asked.map(({ page }) => page),
      )
    },
    {
      most: MOST_AT_ONCE,
      underWay: READING,
      turnOf: ({ page }) => page.domain,
      isWanted: ({ isWanted }) => isWanted(),
    },
  )
  return async (page, isWanted = () => true) => withBody(db, bodies, page, await read({ page, isWanted }))
}

async function readMany(db: Queryable, pages: readonly PageId[]): Promise<(FoundEntry | null)[]> {
  if (pages.length === 1) return [await readRow(db, pages[0]!)]
  const { rows } = await db.query<Row & { at: number }>({
    ...READ_MANY,
    values: [
      pages.map(({ domain }) => domain),
      pages.map(({ path }) => path),
      pages.map(({ variant }) => variant),
    ],
  })
  const entries = pages.map((): FoundEntry | null => null)
  for (const row of rows) entries[row.at - 1] = entryOf(row, pages[row.at - 1]!)
  return entries
}

/** Compares what a node has in memory. The body is read only if its etag is another one. */
const COMPARE = {
  name: 'stored-pages-compare',
  text: `select asked.at::integer, compared.is_same,
                p.status, p.headers, case when p.etag = asked.etag then null else p.body_br end as body_br,
                case when p.etag = asked.etag then null else p.body_key end as body_key, p.body_bytes, p.body_sum, p.html_bytes, p.etag, p.rendered_at, p.stale_since, p.changed_at, p.rule_effect, p.rule_changes,
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

type KnownPage = { page: PageId; known: PageVersion; isWanted: IsWanted }

/** As `createStoredReader`, for what is stored now if it is not the known version. Statements are of up to 100 pages. */
export function createStoredComparer(
  db: Queryable,
  bodies: BodyStore,
): (page: PageId, known: PageVersion, isWanted?: IsWanted) => Promise<StoredEntry | 'same' | null> {
  const compare = joined((pages: readonly KnownPage[]) => compareMany(db, pages), {
    most: MOST_COMPARED,
    underWay: READING,
    turnOf: ({ page }) => page.domain,
    isWanted: ({ isWanted }) => isWanted(),
  })
  return async (page, known, isWanted = () => true) => {
    const found = await compare({ page, known, isWanted })
    return found === 'same' ? found : withBody(db, bodies, page, found)
  }
}

async function compareMany(
  db: Queryable,
  pages: readonly KnownPage[],
): Promise<(FoundEntry | 'same' | null)[]> {
  const { rows } = await db.query<Row & { at: number; is_same: boolean }>({
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
  const entries = pages.map((): FoundEntry | 'same' | null => null)
  for (const row of rows) {
    const { page, known } = pages[row.at - 1]!
    // The row has neither where the known body is that of the page.
    const body = row.body_br ?? (row.body_key === null ? known.bodyBr : null)
    entries[row.at - 1] = row.is_same ? 'same' : entryOf({ ...row, body_br: body }, page)
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

const NO_BODY = Buffer.alloc(0)

function pageOf(row: PageRow, variant: PageVariant, status: number): StoredPage {
  const page: StoredPage = {
    kind: 'page',
    variant,
    status,
    headers: headerPairs(row.headers),
    // Where the row has none, it is read afterwards.
    bodyBr: row.body_br ?? NO_BODY,
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
