import { setImmediate as breathe } from 'node:timers/promises'
import type { DomainId } from '@prepaint/contract/ids.ts'
import type { PageId, PageVariant } from '@prepaint/contract/page/page-id.ts'
import type { Rule } from '@prepaint/contract/rules/schema.ts'
import { RuleBook, USUAL_CATEGORY } from '@prepaint/runtime/rule-book.ts'
import type pg from 'pg'

// A build is identified by the scripts and style sheets that its document loads.

const STEP = 2_000

/** Returns the build that a page had before, or null if no other page has it, or if the owner disabled deploy detection. */
export async function buildBefore(pool: pg.Pool, page: PageId, build: string): Promise<string | null> {
  const { rows } = await pool.query<{ old: string }>({
    name: 'store-build-before',
    text: `select p.previous_application as old from page p join domain d on d.id = p.domain_id
            where p.domain_id = $1 and p.path = $2 and p.variant = $4 and p.application = $3 and p.previous_application <> p.application
              and coalesce(d.settings ->> 'refresh_on_deploy', 'true') <> 'false'
              and exists (select from page other
                           where other.domain_id = $1 and other.application = p.previous_application
                             and other.stale_since is null)`,
    values: [page.domain, page.path, build, page.variant],
  })
  return rows[0]?.old ?? null
}

/**
 * Counts pages. `replaced` ones have changed since the old build was last seen; `mixed` ones have the old build, and were
 * rendered after the first page of the new one.
 */
export async function compareBuilds(
  pool: pg.Pool,
  domain: DomainId,
  builds: { old: string; fresh: string },
  limits: { replaced: number; mixed: number },
): Promise<{ replaced: number; mixed: number }> {
  const { rows } = await pool.query<{ replaced: number; mixed: number }>(
    `with seen as (
       select (select max(rendered_at) from page
                where domain_id = $1 and application = $2 and stale_since is null) as last_old,
              (select min(rendered_at) from page
                where domain_id = $1 and application = $3 and stale_since is null) as first_fresh)
     select (select count(*)::int from (
               select from page where domain_id = $1 and application = $2 and stale_since is null
                  and rendered_at > (select first_fresh from seen) limit $4) m) as mixed,
            (select count(*)::int from (
               select from page where domain_id = $1 and application = $3 and stale_since is null
                  and rendered_at > (select last_old from seen) and previous_application = $2 limit $5) r) as replaced`,
    [domain, builds.old, builds.fresh, limits.mixed, limits.replaced],
  )
  return rows[0]!
}

export async function markBuildStale(
  pool: pg.Pool,
  domain: DomainId,
  build: string,
  atMs: number,
): Promise<number> {
  let marked = 0
  for (;;) {
    const { rowCount } = await pool.query(
      `update page set stale_since = $3 where domain_id = $1 and (path, variant) in (
         select path, variant from page where domain_id = $1 and application = $2 and stale_since is null
          order by path, variant limit $4 for update skip locked)`,
      [domain, build, new Date(atMs), STEP],
    )
    marked += rowCount ?? 0
    if ((rowCount ?? 0) < STEP) break
  }
  await announceDomain(pool, domain)
  return marked
}

const RULES_STEP = 1_000
/** Matching a path with 200 hostile rules takes some milliseconds. */
const BREATH_ROWS = 10

/**
 * Counts the pages that were rendered under other rules. Pages that no crawler gets rendered any more (`pass` and such) are not
 * counted.
 */
export async function countOutdated(
  pool: pg.Pool,
  domain: DomainId,
  rules: readonly Rule[],
): Promise<number> {
  let outdated = 0
  for await (const pages of outdatedPages(pool, domain, rules)) outdated += pages.length
  return outdated
}

/** Makes those pages stale that `countOutdated` counts. Returns how many, with those that were stale already. */
export async function markOutdated(
  pool: pg.Pool,
  domain: DomainId,
  rules: readonly Rule[],
  atMs: number,
): Promise<number> {
  let outdated = 0
  for await (const pages of outdatedPages(pool, domain, rules)) {
    outdated += pages.length
    await pool.query(
      `update page set stale_since = coalesce(stale_since, $4)
        where domain_id = $1 and (path, variant) in (select * from unnest($2::text[], $3::text[]))`,
      [domain, pages.map(({ path }) => path), pages.map(({ variant }) => variant), new Date(atMs)],
    )
  }
  if (outdated > 0) await announceDomain(pool, domain)
  return outdated
}

/** Every node drops the domain's pages from memory. */
async function announceDomain(pool: pg.Pool, domain: DomainId): Promise<void> {
  await pool.query(`select pg_notify('invalidate', json_build_object('domain', $1::integer)::text)`, [domain])
}

/** Reads a batch of pages at a time, and yields those of them that were rendered under other rules, if there are any. */
async function* outdatedPages(
  pool: pg.Pool,
  domain: DomainId,
  rules: readonly Rule[],
): AsyncGenerator<readonly RuledRow[]> {
  const book = new RuleBook(rules)
  let after = { path: '', variant: '' }
  for (;;) {
    const { rows } = await pool.query<RuledRow>(
      `select path, variant, rule_effect from page where domain_id = $1 and (path, variant) > ($2, $3)
        order by path, variant limit $4`,
      [domain, after.path, after.variant, RULES_STEP],
    )
    const found: RuledRow[] = []
    for (const [at, row] of rows.entries()) {
      if (at % BREATH_ROWS === 0) await breathe()
      if (isOutdated(book, row)) found.push(row)
    }
    if (found.length > 0) yield found
    const last = rows.at(-1)
    if (last === undefined || rows.length < RULES_STEP) return
    after = last
  }
}

type RuledRow = { path: string; variant: PageVariant; rule_effect: string }

function isOutdated(book: RuleBook, { path, variant, rule_effect: effect }: RuledRow): boolean {
  const chosen = book.chosen(path, USUAL_CATEGORY, variant)
  const action = chosen?.rule.action ?? 'render'
  if (action !== 'render' || (chosen?.effect ?? '') === effect) return false
  return !book.otherEffects(path, USUAL_CATEGORY, variant).has(effect)
}
