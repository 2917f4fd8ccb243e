import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants } from 'node:zlib'
import type pg from 'pg'
import { countRender } from '../accounts/quota.ts'
import { utcDay, utcMonth } from '../clock.ts'
import type { Queryable } from '../db/transaction.ts'
import type { DomainId, JobId, PagePath } from '../ids.ts'
import { lifetimesOf, RuleBook, USUAL_CATEGORY } from '../rules/rule-book.ts'
import { readDomainSettings } from '../sites/domain-settings.ts'
import { scanHtml } from '../sites/inspection/scan-html.ts'
import type { PageId } from './page-id.ts'

const compress = promisify(brotliCompress)

/** `etag`: without quotes; equal content has an equal etag. */
export type PageBody = {
  bodyBr: Buffer
  bodyHtml: Buffer
  htmlBytes: number
  etag: string
  /** The page links to Markdown of the site's own. */
  ownMarkdown: boolean
}

/**
 * On its own thread. Brotli 5: 231 kB of HTML to 34 kB in 3.4 ms; gzip 6: 41 kB, 3.2 ms; brotli 11: 26 kB, 251 ms.
 */
export async function pageBody(html: string): Promise<PageBody> {
  const bytes = Buffer.from(html, 'utf8')
  const bodyBr = await compress(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 5,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  })
  const ownMarkdown = linksMarkdown(html)
  return { bodyBr, bodyHtml: bytes, htmlBytes: bytes.length, etag: etagOf(bytes), ownMarkdown }
}

function linksMarkdown(html: string): boolean {
  if (!/text\/markdown/i.test(html)) return false
  let isFound = false
  scanHtml(html, {
    ...{ text() {}, close() {}, raw() {} },
    open(tag, attribute) {
      isFound ||=
        tag === 'link' &&
        attribute('rel')?.toLowerCase().split(/\s+/).includes('alternate') === true &&
        /^\s*text\/markdown\s*(?:;|$)/i.test(attribute('type') ?? '')
    },
  })
  return isFound
}

export function etagOf(html: string | Buffer): string {
  return createHash('sha256').update(html).digest('base64url').slice(0, 22)
}

/** `textChars` null: stored by an older version. */
export type LastGood = {
  status: number
  textChars: number | null
  renderedAtMs: number
  refusedAtMs: number | null
  keepMs: number
}

type LastGoodRow = {
  status: number | null
  text_chars: number | null
  rendered_at: Date
  refused_since: Date | null
  settings: unknown
}

function lastGoodOf(row: LastGoodRow | undefined, { path, variant }: PageId): LastGood | null {
  if (row === undefined || row.status === null) return null
  const settings = readDomainSettings(row.settings)
  const rule = new RuleBook(settings.rules).find(path, USUAL_CATEGORY, variant)
  return {
    status: row.status,
    textChars: row.text_chars,
    renderedAtMs: row.rendered_at.getTime(),
    refusedAtMs: row.refused_since?.getTime() ?? null,
    keepMs: lifetimesOf(settings, rule).keepMs,
  }
}

const LAST_GOOD = `select page.status, page.text_chars, page.rendered_at, page.refused_since, domain.settings,
       probe.renew_at::text as probe,
       case when probe.finding->>'kind' = 'soft' and coalesce(domain.settings->>'soft_404', 'refuse') <> 'store'
            then probe.finding end as finding,
       domain.settings->>'soft_404' is not distinct from 'answer' as answers_404
  from domain
  left join page on page.domain_id = domain.id and page.path = $2 and page.variant = $3
  left join probe on probe.domain_id = domain.id
 where domain.id = $1`

/**
 * `finding` null: the owner disabled soft-404 checks. `answers404`: such pages are stored with status 404. `probe`
 * identifies the finding for `keepPage`. null: domain deleted.
 */
export async function readJudgement<Finding>(
  db: Queryable,
  page: PageId,
): Promise<{
  last: LastGood | null
  probe: string | null
  finding: Finding | null
  answers404: boolean
} | null> {
  const { rows } = await db.query<
    LastGoodRow & { probe: string | null; finding: Finding | null; answers_404: boolean }
  >({
    name: 'store-last-good',
    text: LAST_GOOD,
    values: [page.domain, page.path, page.variant],
  })
  const row = rows[0]
  if (row === undefined) return null
  return {
    last: lastGoodOf(row, page),
    probe: row.probe,
    finding: row.finding,
    answers404: row.answers_404,
  }
}

export type NewPage = {
  status: number
  headers: readonly (readonly [name: string, value: string])[]
  body: PageBody
  textChars: number
  application: string | null
  /** What a rule did to it; `changes` as in its render's record. */
  rule?: { effect: string; changes: object | null }
}

type Fence = { id: JobId; node: string; attempts: number }

/** `taken-away`: also after a purge. `judge-again`: there is a newer probe. */
export type KeepResult = 'taken-away' | 'judge-again' | 'over-quota' | 'unchanged' | 'stored'

// Stores a page in one statement, because a crawler waits for it (docs/decisions). All of it succeeds, or the row
// says why not. The job's row is locked first. A later purge waits and deletes the stored page; an earlier one has
// marked the job superseded. `synchronous_commit` is off: after a server crash the page is rendered again.
const KEEP = `with ours as materialized (
  select job.id, job.domain_id, job.path, job.variant, job.superseded, set_config('synchronous_commit', 'off', true),
         (select probe.renew_at::text from probe where probe.domain_id = job.domain_id) is not distinct from $4 as is_judged
    from job
   where job.id = $1 and job.node = $2 and job.attempts = $3 and job.state = 'running'
     for update of job
), allowed as (
  select domain_id from ours where not superseded and is_judged
), ${countRender({ from: 'allowed', month: '$5', limit: '$6', day: '$7' })},
stored as (
  -- A snapshot that is the same as before lengthens the page's life, and nothing else: its bytes are not written again,
  -- and for crawlers it has not changed.
  insert into page as known (domain_id, path, variant, status, headers, body_br, html_bytes, etag, rendered_at, text_chars,
                             changed_at, application, rule_effect, rule_changes, own_markdown)
  select ours.domain_id, ours.path, ours.variant, $8, $9, $10, $11, $12, $13, $14, $13, $15, $16, $17, $18 from ours join counted using (domain_id)
  on conflict (domain_id, path, variant) do update set
    status = excluded.status, headers = excluded.headers,
    body_br = case when known.etag = excluded.etag then known.body_br else excluded.body_br end,
    html_bytes = excluded.html_bytes, etag = excluded.etag, rendered_at = excluded.rendered_at,
    stale_since = null, text_chars = excluded.text_chars, refused_since = null,
    changed_at = case when known.etag = excluded.etag and known.status = excluded.status
                      then coalesce(known.changed_at, known.rendered_at) else excluded.changed_at end,
    own_markdown = excluded.own_markdown, application = excluded.application, rule_effect = excluded.rule_effect, rule_changes = excluded.rule_changes,
    previous_application = case when known.application is distinct from excluded.application
                                then known.application else known.previous_application end
  returning domain_id, path, variant, changed_at < rendered_at as unchanged
), no_longer as (
  delete from redirect using stored
   where (redirect.domain_id, redirect.path, redirect.variant) = (stored.domain_id, stored.path, stored.variant)
), ended as materialized (
  select pg_notify('invalidate', json_build_object('domain', stored.domain_id, 'path', stored.path,
           'variant', stored.variant, 'stored', (extract(epoch from $13::timestamptz) * 1000)::bigint)::text),
         end_job(ours.id, 'done', 'rendered', case when stored.unchanged then 'unchanged' end)
    from ours join stored using (domain_id)
)
select ours.superseded, ours.is_judged, stored.unchanged
  from ours left join stored on true left join ended on true`

/** All or nothing. `limit`: renders per month. */
export async function keepPage(
  pool: pg.Pool,
  job: Fence,
  { status, headers, body, textChars, application, rule }: NewPage,
  { probe, limit, nowMs }: { probe: string | null; limit: number; nowMs: number },
): Promise<KeepResult> {
  const stored = [status, JSON.stringify(headers), body.bodyBr, body.htmlBytes, body.etag, new Date(nowMs)]
  const { rows } = await pool.query<{ superseded: boolean; is_judged: boolean; unchanged: boolean | null }>({
    name: 'store-keep-page',
    text: KEEP,
    values: [
      ...[job.id, job.node, job.attempts, probe, utcMonth(nowMs), limit, utcDay(nowMs)],
      ...[...stored, textChars, application],
      ...[rule?.effect ?? '', rule?.changes ? JSON.stringify(rule.changes) : null],
      body.ownMarkdown,
    ],
  })
  const row = rows[0]
  if (row === undefined || row.superseded) return 'taken-away'
  if (!row.is_judged) return 'judge-again'
  if (row.unchanged === null) return 'over-quota'
  return row.unchanged ? 'unchanged' : 'stored'
}

export async function noteRefusal(client: Queryable, page: PageId, atMs: number): Promise<void> {
  await client.query(
    `update page set refused_since = $4
      where domain_id = $1 and path = $2 and variant = $3 and refused_since is null`,
    [page.domain, page.path, page.variant, new Date(atMs)],
  )
}

/** Temporary redirects (maintenance, sign-in) must not delete good copies. */
export async function keepRedirect(
  client: Queryable,
  page: PageId,
  { status, location }: { status: number; location: string },
  atMs: number,
): Promise<void> {
  await client.query(
    `with redirect as (
       insert into redirect (domain_id, path, variant, status, location, stored_at) values ($1, $2, $6, $3, $4, $5)
       on conflict (domain_id, path, variant) do update set
         status = excluded.status, location = excluded.location, stored_at = excluded.stored_at
     )
     select pg_notify('invalidate', json_build_object('domain', $1::integer, 'path', $2::text,
       'variant', $6::text, 'stored', (extract(epoch from $5::timestamptz) * 1000)::bigint)::text)`,
    [page.domain, page.path, status, location, new Date(atMs), page.variant],
  )
}

export async function forgetPage(client: Queryable, page: PageId): Promise<void> {
  await client.query(
    `with page as (
       delete from page where domain_id = $1 and path = $2 and variant = $3
     ), redirect as (
       delete from redirect where domain_id = $1 and path = $2 and variant = $3
     )
     select pg_notify('invalidate', json_build_object('domain', $1::integer, 'path', $2::text, 'variant', $3::text)::text)`,
    [page.domain, page.path, page.variant],
  )
}

export async function lastRenderedPaths(
  db: Queryable,
  domain: DomainId,
  { htmlBytes, limit }: { htmlBytes: number; limit: number },
): Promise<PagePath[]> {
  const { rows } = await db.query<{ path: PagePath }>(
    `select path from page where domain_id = $1 and status = 200 and path <> '/' and html_bytes <= $2
      order by rendered_at desc limit $3`,
    [domain, htmlBytes, limit],
  )
  return rows.map(({ path }) => path)
}

/** Returns how many it deleted. */
export async function deleteUnchanged(
  db: Queryable,
  domain: DomainId,
  pages: readonly { path: PagePath; etag: string }[],
): Promise<number> {
  const { rowCount } = await db.query(
    `with gone as (
       delete from page using unnest($2::text[], $3::text[]) as bad (path, etag)
        where page.domain_id = $1 and page.path = bad.path and page.etag = bad.etag
       returning page.path)
     select pg_notify('invalidate', json_build_object('domain', $1::integer, 'path', path)::text) from gone`,
    [domain, pages.map(({ path }) => path), pages.map(({ etag }) => etag)],
  )
  return rowCount ?? 0
}
