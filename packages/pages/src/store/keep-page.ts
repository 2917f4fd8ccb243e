import { utcDay, utcMonth } from '@prepaint/contract/dates.ts'
import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import type { PageId } from '@prepaint/contract/page/page-id.ts'
import { type DomainSettings, readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { lifetimesOf, RuleBook, USUAL_CATEGORY } from '@prepaint/runtime/rule-book.ts'
import type pg from 'pg'
import { countRender } from '../quota.ts'
import {
  type PageBody,
  UNSTORED_A_DOMAIN,
  UNSTORED_LIMIT_BYTES,
  UNSTORED_MS,
  type UnstoredPage,
} from './stored-page.ts'

/** The last good copy of a page. `textChars` is null if an older version stored it. */
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

function lastGoodOf(row: LastGoodRow, { path, variant }: PageId, settings: DomainSettings): LastGood | null {
  if (row.status === null) return null
  const { rule = null } = new RuleBook(settings.rules).chosen(path, USUAL_CATEGORY, variant) ?? {}
  return {
    status: row.status,
    textChars: row.text_chars,
    renderedAtMs: row.rendered_at.getTime(),
    refusedAtMs: row.refused_since?.getTime() ?? null,
    keepMs: lifetimesOf(settings, rule).keepMs,
  }
}

const LAST_GOOD = `select page.status, page.text_chars, page.rendered_at, page.refused_since,
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

/** `taken-away` is also the result after a purge. With `judge-again` there is a newer probe. */
export type KeepResult = 'taken-away' | 'judge-again' | 'over-quota' | 'unchanged' | 'stored'

// Stores pages of one domain in one statement, because crawlers wait for them (docs/decisions). All of it succeeds for
// a page, or its row says why not. The jobs' rows are locked first. A later purge waits and deletes the stored pages;
// an earlier one has marked the jobs superseded. `synchronous_commit` is off: after a server crash they are rendered again.
const KEEP = `with given as (
  -- All bodies in one parameter, because an array of them would be sent as text.
  select g.*, substr($8::bytea, 1 + (sum(g.br_bytes) over (order by g.at) - g.br_bytes)::integer, g.br_bytes) as body_br
    from unnest($1::uuid[], $2::text[], $3::integer[], $9::integer[], $10::smallint[], $11::text[], $12::integer[], $13::text[],
                $14::integer[], $15::text[], $16::text[], $17::text[], $18::boolean[], $19::text[], $20::timestamptz[],
                $21::text[]) with ordinality
      as g (id, node, attempts, br_bytes, status, headers, html_bytes, etag, text_chars, application,
            rule_effect, rule_changes, own_markdown, outcome, made_at, reading_br, at)
), ours as materialized (
  select given.*, held.*, set_config('synchronous_commit', 'off', true),
         (select probe.renew_at::text from probe where probe.domain_id = held.domain_id) is not distinct from $4 as is_judged
    from given cross join lateral (
      select job.domain_id, job.path, job.variant, job.superseded from job
       where job.id = given.id and job.node = given.node and job.attempts = given.attempts and job.state = 'running'
         for update of job) held
), allowed as (
  select * from ours where not superseded and is_judged
), ${countRender({ from: 'allowed', month: '$5', limit: '$6', day: '$7' })},
stored as (
  -- A snapshot that is the same as before lengthens the page's life, and nothing else: its bytes are not written again,
  -- and for crawlers it has not changed.
  insert into page as known (domain_id, path, variant, status, headers, body_br, html_bytes, etag, rendered_at, text_chars,
                             changed_at, application, rule_effect, rule_changes, own_markdown, reading_br)
  select domain_id, path, variant, status, headers::jsonb, body_br, html_bytes, etag, made_at, text_chars,
         made_at, application, rule_effect, rule_changes::jsonb, own_markdown, decode(reading_br, 'base64')
    from allowed join counted using (domain_id)
  on conflict (domain_id, path, variant) do update set
    status = excluded.status, headers = excluded.headers,
    body_br = case when known.etag = excluded.etag then known.body_br else excluded.body_br end,
    html_bytes = excluded.html_bytes, etag = excluded.etag, rendered_at = excluded.rendered_at,
    stale_since = null, text_chars = excluded.text_chars, refused_since = null,
    changed_at = case when known.etag = excluded.etag and known.status = excluded.status
                      then coalesce(known.changed_at, known.rendered_at) else excluded.changed_at end,
    own_markdown = excluded.own_markdown, reading_br = excluded.reading_br, application = excluded.application,
    rule_effect = excluded.rule_effect, rule_changes = excluded.rule_changes,
    previous_application = case when known.application is distinct from excluded.application
                                then known.application else known.previous_application end
  returning domain_id, path, variant, rule_effect, changed_at < rendered_at as unchanged
), no_longer as (
  delete from redirect using stored
   where (redirect.domain_id, redirect.path, redirect.variant) = (stored.domain_id, stored.path, stored.variant)
), no_longer_refused as (
  delete from refused_page using stored
   where (refused_page.domain_id, refused_page.path, refused_page.variant, refused_page.rule_effect)
       = (stored.domain_id, stored.path, stored.variant, stored.rule_effect)
), ended as materialized (
  select pg_notify('invalidate', json_build_object('domain', stored.domain_id, 'path', stored.path,
           'stored', (extract(epoch from ours.made_at) * 1000)::bigint)::text),
         end_job(ours.id, 'done', ours.outcome, case when stored.unchanged then 'unchanged' end)
    from ours join stored using (domain_id, path, variant)
)
select ours.id, ours.superseded, ours.is_judged, stored.unchanged
  from ours left join stored using (domain_id, path, variant) cross join (select count(*) from ended) all_ended`

export type Keeping = {
  job: Fence
  domain: DomainId
  page: NewPage
  /** `limit`: renders per month. */
  terms: { probe: string | null; limit: number; nowMs: number }
}

/** Stores pages of one domain that were judged alike, each as a whole or not at all. The results are in their order. */
export async function keepPages(pool: pg.Pool, all: readonly Keeping[]): Promise<KeepResult[]> {
  const { probe, limit, nowMs } = all[0]!.terms
  // Locked in the same order everywhere.
  const sorted = all.toSorted((one, other) => (one.job.id < other.job.id ? -1 : 1))
  const jobs = sorted.map(({ job }) => job)
  const pages = sorted.map(({ page }) => page)
  const { rows } = await pool.query<{
    id: JobId
    superseded: boolean
    is_judged: boolean
    unchanged: boolean | null
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
      Buffer.concat(pages.map(({ body }) => body.bodyBr)), // $8 all bodies
      pages.map(({ body }) => body.bodyBr.length), // $9 br_bytes
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
    ],
  })
  const results = new Map(rows.map((row) => [row.id, resultOf(row)]))
  const kept: KeepResult[] = []
  for (const one of all) {
    const result = results.get(one.job.id) ?? 'taken-away'
    // The quota has no room for all: maybe for some.
    const isAlone = all.length === 1
    if (result !== 'over-quota' || isAlone) kept.push(result)
    else kept.push(await keepPage(pool, one))
  }
  return kept
}

async function keepPage(pool: pg.Pool, page: Keeping): Promise<KeepResult> {
  const [result] = await keepPages(pool, [page])
  return result!
}

function resultOf(row: { superseded: boolean; is_judged: boolean; unchanged: boolean | null }): KeepResult {
  if (row.superseded) return 'taken-away'
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

/** Stores a redirect beside the page: temporary ones (maintenance, sign-in) must not delete good copies. */
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
       'stored', (extract(epoch from $5::timestamptz) * 1000)::bigint)::text)`,
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
