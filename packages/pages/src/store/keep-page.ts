import { utcDay, utcMonth } from '@prepaint/contract/dates.ts'
import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { type DomainSettings, readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { lifetimesOf, RuleBook, USUAL_CATEGORY } from '@prepaint/runtime/rule-book.ts'
import type pg from 'pg'
import { countRender } from '../quota.ts'
import type { NewBody } from './bodies/body-store.ts'
import {
  type PageBody,
  UNSTORED_A_DOMAIN,
  UNSTORED_LIMIT_BYTES,
  UNSTORED_MS,
  type UnstoredPage,
} from './stored-page.ts'

/** The last good copy of a page. `textChars` is null if an older version stored it. */
export type LastGood = {
  etag: string
  status: number
  textChars: number | null
  renderedAtMs: number
  refusedAtMs: number | null
  keepMs: number
}

type LastGoodRow = {
  etag: string
  status: number | null
  text_chars: number | null
  rendered_at: Date
  refused_since: Date | null
  settings: unknown
}

function lastGoodOf(row: LastGoodRow, { path, variant }: PageId, settings: DomainSettings): LastGood | null {
  if (row.status === null) return null
  const { rule = null } = new RuleBook(settings.rules).chosen(path, USUAL_CATEGORY, variant) ?? {}
  return {
    etag: row.etag,
    status: row.status,
    textChars: row.text_chars,
    renderedAtMs: row.rendered_at.getTime(),
    refusedAtMs: row.refused_since?.getTime() ?? null,
    keepMs: lifetimesOf(settings, rule).keepMs,
  }
}

const LAST_GOOD = `select page.etag, page.status, page.text_chars, page.rendered_at, page.refused_since,
       case when asked.at = 1 then domain.settings end as settings, probe.renew_at::text as probe,
       case when asked.at = 1 and probe.finding->>'kind' = 'soft' and coalesce(domain.settings->>'soft_404', 'answer') <> 'store'
            then probe.finding end as finding,
       coalesce(domain.settings->>'soft_404', 'answer') = 'answer' as answers_404
  from unnest($2::text[], $3::text[]) with ordinality as asked (path, variant, at)
  join domain on domain.id = $1
  left join page on page.domain_id = $1 and page.path = asked.path and page.variant = asked.variant
  left join probe on probe.domain_id = domain.id
 order by asked.at`

/**
 * `finding` is null if the owner disabled soft-404 checks. With `answers404`, such pages are stored with status 404. `probe`
 * identifies the finding for `keepPages`.
 */
export type KnownOfPage<Finding> = {
  last: LastGood | null
  probe: string | null
  finding: Finding | null
  answers404: boolean
}

/** Reads what pages of one domain are judged by, in their order. An entry is null if the domain was deleted. */
export async function readJudgements<Finding>(
  db: Queryable,
  pages: readonly PageId[],
): Promise<(KnownOfPage<Finding> | null)[]> {
  const { rows } = await db.query<
    LastGoodRow & { probe: string | null; finding: Finding | null; answers_404: boolean }
  >({
    name: 'store-last-good',
    text: LAST_GOOD,
    values: [pages[0]!.domain, pages.map(({ path }) => path), pages.map(({ variant }) => variant)],
  })
  const settings = readDomainSettings(rows[0]?.settings)
  return pages.map((page, at) => {
    const row = rows[at]
    if (row === undefined) return null
    return {
      last: lastGoodOf(row, page, settings),
      probe: row.probe,
      finding: rows[0]!.finding,
      answers404: row.answers_404,
    }
  })
}

export type NewPage = {
  status: number
  headers: readonly (readonly [name: string, value: string])[]
  body: PageBody
  /** The packed reading of the page as it is stored. */
  readingBr: Buffer
  /** The text of the page as it was judged. */
  textChars: number
  application: string | null
  /** The outcome of the job. */
  outcome: 'rendered' | 'static'
  /** What a rule did to it, with `changes` as in its render's record. */
  rule?: { effect: string; changes: object | null }
}

type Fence = { id: JobId; node: string; attempts: number }

/**
 * `taken-away` is also the result after a purge. With `judge-again` there is a newer probe; with `body-gone` the body's key is
 * not reserved any more.
 */
export type KeepResult = 'taken-away' | 'judge-again' | 'body-gone' | 'over-quota' | 'unchanged' | 'stored'

// An object that was written all the same replaces the known one, so that no statement leaves a reserved key behind.
const IS_SAME_BODY = 'known.etag = excluded.etag and excluded.body_key is null'

// Stores pages of one domain in one statement, because crawlers wait for them (docs/decisions). All of it succeeds for
// a page, or its row says why not. The jobs' rows are locked first. A later purge waits and deletes the stored pages;
// an earlier one has marked the jobs superseded. `synchronous_commit` is off: after a server crash they are rendered again.
const KEEP = `with given as (
  -- All bodies in one parameter, because an array of them would be sent as text.
  select g.*, case when g.body_key is null
                   then substr($8::bytea, 1 + (sum(g.br_bytes) over (order by g.at) - g.br_bytes)::integer, g.br_bytes)
              end as body_br
    from unnest($1::uuid[], $2::text[], $3::integer[], $9::integer[], $10::smallint[], $11::text[], $12::integer[], $13::text[],
                $14::integer[], $15::text[], $16::text[], $17::text[], $18::boolean[], $19::text[], $20::timestamptz[],
                $21::text[], $22::text[], $23::integer[], $24::text[], $25::boolean[]) with ordinality
      as g (id, node, attempts, br_bytes, status, headers, html_bytes, etag, text_chars, application,
            rule_effect, rule_changes, own_markdown, outcome, made_at, reading_br, body_key, body_bytes, body_sum, is_late, at)
), ours as materialized (
  select given.*, held.*, set_config('synchronous_commit', 'off', true),
         (select probe.renew_at::text from probe where probe.domain_id = held.domain_id) is not distinct from $4 as is_judged
    from given cross join lateral (
      select job.domain_id, job.path, job.variant, job.superseded from job
       where job.id = given.id and job.node = given.node and job.attempts = given.attempts and job.state = 'running'
         for update of job) held
), reserved as materialized (
  -- A sweep passes over locked rows, and over those whose time has not come: it takes none of these.
  select body_gone.key from body_gone join ours on ours.body_key = body_gone.key
   where body_gone.at > clock_timestamp() for update of body_gone
), allowed as (
  select * from ours
   where not superseded and is_judged and (body_key is null or body_key in (select key from reserved))
), ${countRender({ from: 'allowed', month: '$5', limit: '$6', day: '$7' })},
stored as (
  -- A snapshot that is the same as before lengthens the page's life, and nothing else: its bytes are not written again,
  -- and for crawlers it has not changed.
  insert into page as known (domain_id, path, variant, status, headers, body_br, html_bytes, etag, rendered_at, text_chars,
                             changed_at, application, rule_effect, rule_changes, own_markdown, reading_br,
                             body_key, body_bytes, body_sum, body_late_at)
  select domain_id, path, variant, status, headers::jsonb, body_br, html_bytes, etag, made_at, text_chars,
         made_at, application, rule_effect, rule_changes::jsonb, own_markdown, decode(reading_br, 'base64'),
         body_key, body_bytes, decode(body_sum, 'hex'), case when is_late then clock_timestamp() end
    from allowed join counted using (domain_id)
  on conflict (domain_id, path, variant) do update set
    status = excluded.status, headers = excluded.headers,
    body_br = case when ${IS_SAME_BODY} then known.body_br else excluded.body_br end,
    body_key = case when ${IS_SAME_BODY} then known.body_key else excluded.body_key end,
    body_bytes = case when ${IS_SAME_BODY} then known.body_bytes else excluded.body_bytes end,
    body_sum = case when ${IS_SAME_BODY} then known.body_sum else excluded.body_sum end,
    body_foreign = ${IS_SAME_BODY} and known.body_foreign,
    body_late_at = case when ${IS_SAME_BODY} then known.body_late_at else excluded.body_late_at end,
    html_bytes = excluded.html_bytes, etag = excluded.etag, rendered_at = excluded.rendered_at,
    stale_since = null, text_chars = excluded.text_chars, refused_since = null,
    changed_at = case when known.etag = excluded.etag and known.status = excluded.status
                      then coalesce(known.changed_at, known.rendered_at) else excluded.changed_at end,
    own_markdown = excluded.own_markdown, reading_br = excluded.reading_br, application = excluded.application,
    rule_effect = excluded.rule_effect, rule_changes = excluded.rule_changes,
    previous_application = case when known.application is distinct from excluded.application
                                then known.application else known.previous_application end
  returning domain_id, path, variant, rule_effect, body_key, changed_at < rendered_at as unchanged
), taken as (
  delete from body_gone using stored where body_gone.key = stored.body_key
), no_longer as (
  delete from redirect using stored
   where (redirect.domain_id, redirect.path, redirect.variant) = (stored.domain_id, stored.path, stored.variant)
), no_longer_refused as (
  delete from refused_page using stored
   where (refused_page.domain_id, refused_page.path, refused_page.variant, refused_page.rule_effect)
       = (stored.domain_id, stored.path, stored.variant, stored.rule_effect)
), ended as materialized (
  select ours.id, stored.path, finish_job(ours.id, 'done', ours.outcome, case when stored.unchanged then 'unchanged' end) as waiters
    from ours join stored using (domain_id, path, variant)
)
select ours.id, ours.superseded, ours.is_judged, stored.unchanged, ended.path, ended.waiters,
       ours.body_key is not null and ours.body_key not in (select key from reserved) as is_body_gone
  from ours left join stored using (domain_id, path, variant) left join ended using (id)`

export type Keeping = {
  job: Fence
  domain: DomainId
  page: NewPage
  /** Where the body of the page is, or goes. */
  body: NewBody
  /** `limit`: renders per month. */
  terms: { probe: string | null; limit: number; nowMs: number }
}

/** What was stored, and how many edges wait for it. Call after the commit. */
export type TellKept = (kept: {
  job: JobId
  page: { domain: DomainId; path: PagePath }
  storedMs: number
  waiters: number
}) => void

const NO_BODY = Buffer.alloc(0)

/**
 * Stores pages of one domain that were judged alike, each as a whole or not at all. The results are in their order. `tell` is
 * called for each stored page after the commit.
 */
export async function keepPages(
  pool: pg.Pool,
  all: readonly Keeping[],
  tell: TellKept,
): Promise<KeepResult[]> {
  const { probe, limit, nowMs } = all[0]!.terms
  // Locked in the same order everywhere.
  const sorted = all.toSorted((one, other) => (one.job.id < other.job.id ? -1 : 1))
  const jobs = sorted.map(({ job }) => job)
  const pages = sorted.map(({ page }) => page)
  const bodies = sorted.map(({ body }) => body)
  const stored = bodies.map((body) => (body.at === 'store' ? body : null))
  const inRows = sorted.map(({ page, body }) => (body.at === 'store' ? NO_BODY : page.body.bodyBr))
  const { rows } = await pool.query<{
    id: JobId
    superseded: boolean
    is_judged: boolean
    unchanged: boolean | null
    path: PagePath | null
    waiters: number | null
    is_body_gone: boolean
  }>({
    name: 'store-keep-pages',
    text: KEEP,
    values: [
      jobs.map(({ id }) => id), // $1 id
      jobs.map(({ node }) => node), // $2 node
      jobs.map(({ attempts }) => attempts), // $3 attempts
      probe, // $4
      utcMonth(nowMs), // $5
      limit, // $6
      utcDay(nowMs), // $7
      Buffer.concat(inRows), // $8 all bodies
      inRows.map(({ length }) => length), // $9 br_bytes
      pages.map(({ status }) => status), // $10 status
      pages.map(({ headers }) => JSON.stringify(headers)), // $11 headers
      pages.map(({ body }) => body.htmlBytes), // $12 html_bytes
      pages.map(({ body }) => body.etag), // $13 etag
      pages.map(({ textChars }) => textChars), // $14 text_chars
      pages.map(({ application }) => application), // $15 application
      pages.map(({ rule }) => rule?.effect ?? ''), // $16 rule_effect
      pages.map(({ rule }) => (rule?.changes ? JSON.stringify(rule.changes) : null)), // $17 rule_changes
      pages.map(({ body }) => body.ownMarkdown), // $18 own_markdown
      pages.map(({ outcome }) => outcome), // $19 outcome
      sorted.map(({ terms }) => new Date(terms.nowMs)), // $20 made_at
      pages.map(({ readingBr }) => readingBr.toString('base64')), // $21 reading_br
      stored.map((body) => body?.key ?? null), // $22 body_key
      stored.map((body) => body?.bytes ?? null), // $23 body_bytes
      stored.map((body) => body?.sum.toString('hex') ?? null), // $24 body_sum
      bodies.map(({ at }) => at === 'late'), // $25 is_late
    ],
  })
  const madeAtMs = new Map(sorted.map(({ job, terms: { nowMs: atMs } }) => [job.id, atMs]))
  for (const { id, path, waiters } of rows) {
    if (path === null || waiters === null) continue
    tell({ job: id, page: { domain: all[0]!.domain, path }, storedMs: madeAtMs.get(id)!, waiters })
  }
  const results = new Map(rows.map((row) => [row.id, resultOf(row)]))
  const kept: KeepResult[] = []
  for (const one of all) {
    const result = results.get(one.job.id) ?? 'taken-away'
    // The quota has no room for all: maybe for some.
    const isAlone = all.length === 1
    if (result !== 'over-quota' || isAlone) kept.push(result)
    else kept.push(await keepPage(pool, one, tell))
  }
  return kept
}

async function keepPage(pool: pg.Pool, page: Keeping, tell: TellKept): Promise<KeepResult> {
  const [result] = await keepPages(pool, [page], tell)
  return result!
}

function resultOf(row: {
  superseded: boolean
  is_judged: boolean
  is_body_gone: boolean
  unchanged: boolean | null
}): KeepResult {
  if (row.superseded) return 'taken-away'
  if (!row.is_judged) return 'judge-again'
  if (row.is_body_gone) return 'body-gone'
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

/**
 * Keeps a page for the crawlers that wait for it, because pages are too large for a notification. Returns false if it is too large
 * to be kept, or if there is a good copy. Call in the transaction that ends the job.
 */
export async function keepUnstored(
  client: Queryable,
  { id, page }: { id: JobId; page: PageId },
  { status, headers, body }: UnstoredPage,
  nowMs: number,
): Promise<boolean> {
  if (body.bodyBr.length > UNSTORED_LIMIT_BYTES) return false
  const last = (await readJudgements(client, [page]))[0]?.last ?? null
  if (last !== null && last.status < 400 && nowMs - last.renderedAtMs < last.keepMs) return false
  // Also deletes expired ones and all but the newest of this domain; skips locked rows.
  await client.query({
    name: 'store-keep-unstored',
    text: `with late as (
       select job_id from unstored_page where made_at < $9 order by made_at limit 100 for update skip locked
     ), many as (
       select job_id from unstored_page where domain_id = $2 order by made_at desc offset $10 - 1 limit 100
          for update skip locked
     ), gone as (
       delete from unstored_page where job_id in (select * from late union all select * from many)
     )
     insert into unstored_page (job_id, domain_id, status, headers, body_br, html_bytes, etag, own_markdown, made_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $11)
     on conflict (job_id) do nothing`,
    values: [
      id,
      page.domain,
      status,
      JSON.stringify(headers),
      body.bodyBr,
      body.htmlBytes,
      body.etag,
      body.ownMarkdown,
      new Date(nowMs - UNSTORED_MS),
      UNSTORED_A_DOMAIN,
      new Date(nowMs),
    ],
  })
  return true
}

/** Stores a redirect beside the page: temporary ones (maintenance, sign-in) must not delete good copies. The caller tells caches after the commit. */
export async function keepRedirect(
  client: Queryable,
  page: PageId,
  { status, location }: { status: number; location: string },
  atMs: number,
): Promise<void> {
  await client.query(
    `insert into redirect (domain_id, path, variant, status, location, stored_at) values ($1, $2, $6, $3, $4, $5)
     on conflict (domain_id, path, variant) do update set
       status = excluded.status, location = excluded.location, stored_at = excluded.stored_at`,
    [page.domain, page.path, status, location, new Date(atMs), page.variant],
  )
}

export async function lastRenderedPaths(
  db: Queryable,
  domain: DomainId,
  { htmlBytes, limit }: { htmlBytes: number; limit: number },
): Promise<PagePath[]> {
  const { rows } = await db.query<{ path: PagePath }>(
    `select path from page where domain_id = $1 and status = 200 and html_bytes <= $2
      order by rendered_at desc limit $3`,
    [domain, htmlBytes, limit],
  )
  return rows.map(({ path }) => path)
}
