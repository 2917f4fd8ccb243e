import type { PAGE_ORDERS } from '@prepaint/contract/api/pages.ts'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import {
  type Freshness,
  freshnessOf,
  freshUntil,
  NOT_FOUND_FRESH_MS,
} from '@prepaint/contract/page/freshness.ts'
import type { PageId, PageVariant } from '@prepaint/contract/page/page-id.ts'
import type { Rule } from '@prepaint/contract/rules/schema.ts'
import { broadCategory, type DomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { isForUsual, lifetimesOf, queryTests, RuleBook, speltPath } from '@prepaint/runtime/rule-book.ts'
import { oneForEachPath } from './one-for-each-path.ts'

type PageOrder = (typeof PAGE_ORDERS)[number]

/** The row after which a list continues. `key` is null among the last rows, which have no sort key. */
export type ListPlace = { key: string | null; path: string }

export type ListedPage = {
  path: PagePath
  /** The stored variants. The desktop page is described, if there is one. */
  variants: PageVariant[]
  status: number
  htmlBytes: number
  storedBytes: number
  renderedAt: Date
  freshUntilMs: number
  freshness: Freshness
  lastCrawler: { name: string; category: string; visitedAt: Date } | null
  lastRender: { outcome: string; endedAt: Date } | null
}

export type ListWanted = {
  match: PageMatch | null
  /** Without it, the list has one row for each path. */
  variant?: PageVariant
  order: PageOrder
  direction: 'asc' | 'desc'
  after: ListPlace | null
  limit: number
  nowMs: number
}

const BESIDE = {
  last_crawler: { table: 'last_visit', key: 'visited_at', type: 'timestamptz' },
  last_render: { table: 'last_render', key: 'outcome', type: 'text' },
} as const

/** Reads only index rows up to the next `limit`; exception: docs/decisions/0019-the-dashboard.md. */
export async function listPages(
  db: Queryable,
  domain: { id: DomainId; settings: DomainSettings },
  wanted: ListWanted,
): Promise<{ pages: ListedPage[]; next: ListPlace | null }> {
  const { order, limit, after } = wanted
  const beside = order === 'last_crawler' || order === 'last_render' ? BESIDE[order] : null
  let rows: Row[] = []
  if (beside === null || after?.key !== null) {
    rows = await query(db, domain, wanted, limit, beside === null ? 'pages' : 'with')
  }
  if (beside !== null && rows.length < limit) {
    const from = after?.key === null ? after : null
    const others = await query(db, domain, { ...wanted, after: from }, limit - rows.length, 'without')
    rows = rows.concat(others)
  }
  const last = rows.at(-1)
  const rules = new RuleBook(domain.settings.rules)
  return {
    pages: rows.map((row) => toListed(row, domain.settings, rules, wanted.nowMs)),
    next: last === undefined || rows.length < limit ? null : { key: last.key, path: last.path },
  }
}

export async function findListed(
  db: Queryable,
  { domain, path, variant }: PageId,
  settings: DomainSettings,
  nowMs: number,
): Promise<ListedPage | null> {
  const match = { kind: 'prefix', text: path } as const
  const wanted = { match, variant, order: 'path', direction: 'asc', after: null, limit: 1, nowMs } as const
  const [page] = (await listPages(db, { id: domain, settings }, wanted)).pages
  return page?.path === path ? page : null
}

export async function countPages(db: Queryable, domain: DomainId, match: PageMatch | null): Promise<number> {
  const { values, put } = parameters(domain)
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::integer as count from page where domain_id = $1 and ${oneForEachPath('page')} ${matchCondition(match, 'path', put)}`,
    values,
  )
  return rows[0]?.count ?? 0
}

export async function matchingPaths(
  db: Queryable,
  domain: DomainId,
  match: PageMatch | null,
  limit: number,
): Promise<PagePath[]> {
  const { values, put } = parameters(domain)
  const { rows } = await db.query<[PagePath]>({
    rowMode: 'array',
    text: `select distinct path from page where domain_id = $1 ${matchCondition(match, 'path', put)}
            order by path limit ${put(limit)}`,
    values,
  })
  return rows.map(([path]) => path)
}

type Row = Omit<ListedPage, 'freshUntilMs' | 'freshness' | 'lastCrawler' | 'lastRender'> & {
  key: string | null
  staleSince: Date | null
  freshSeconds: number
  crawler: string | null
  category: string
  visitedAt: Date
  outcome: string | null
  endedAt: Date
}

/** Finds rows on an index alone and reads only those shown. `with` and `without` tell whether the other table has a row. */
async function query(
  db: Queryable,
  domain: { id: DomainId; settings: DomainSettings },
  { match, variant, order, direction, after }: ListWanted,
  limit: number,
  which: 'pages' | 'with' | 'without',
): Promise<Row[]> {
  const { values, put } = parameters(domain.id)
  const beside = order === 'last_crawler' || order === 'last_render' ? BESIDE[order] : null
  const fresh = freshSeconds(domain.settings, put)
  const key = which === 'without' ? null : keyOf(order, fresh)
  const past = direction === 'asc' ? '>' : '<'
  const from = which === 'with' && beside !== null ? beside.table : 'page'
  const conditions = [matchCondition(match, 'f.path', put)]
  const row = variant === undefined ? oneForEachPath('f') : `f.variant = ${put(variant)}`
  if (from === 'page') conditions.push(`and ${row}`)
  if (beside !== null) {
    const other = which === 'with' ? 'page' : beside.table
    conditions.push(`and ${which === 'with' ? '' : 'not'} exists
      (select from ${other} o where o.domain_id = f.domain_id and o.path = f.path)`)
  }
  if (after !== null) {
    const path = put(after.path)
    const isByPath = key === null || order === 'path'
    conditions.push(
      isByPath
        ? `and f.path ${past} ${path}`
        : `and (${key.sql}, f.path) ${past} (${put(after.key)}::${key.type}, ${path})`,
    )
  }
  const ordered = key === null || order === 'path' ? '' : `${key.sql} ${direction}, `
  const { rows } = await db.query<Row>(
    `with found as materialized (
       select f.path, ${key === null ? 'null::text' : key.sql} as key from ${from} f
        where f.domain_id = $1 ${conditions.join(' ')}
        order by ${ordered}f.path ${direction} limit ${put(limit)})
     select found.key::text as key, f.path, f.status, f.html_bytes as "htmlBytes",
            coalesce(octet_length(f.body_br), f.body_bytes) as "storedBytes", f.rendered_at as "renderedAt", f.stale_since as "staleSince",
            ${fresh} as "freshSeconds",
            array(select p.variant from page p where p.domain_id = $1 and p.path = found.path order by 1) as variants,
            v.crawler, v.category, v.visited_at as "visitedAt", r.outcome, r.ended_at as "endedAt"
       from found
       join page f on f.domain_id = $1 and f.path = found.path and ${row}
       left join last_visit v on v.domain_id = $1 and v.path = found.path
       left join last_render r on r.domain_id = $1 and r.path = found.path
      order by ${ordered === '' ? '' : `found.key ${direction}, `}found.path ${direction}`,
    values,
  )
  return rows
}

function keyOf(order: PageOrder, fresh: string): { sql: string; type: string } {
  switch (order) {
    case 'path':
      return { sql: 'f.path', type: 'text' }
    case 'status':
      return { sql: 'f.status', type: 'smallint' }
    case 'size':
      return { sql: 'f.html_bytes', type: 'integer' }
    case 'rendered':
      return { sql: 'f.rendered_at', type: 'timestamptz' }
    case 'fresh_until':
      // The same rule as `freshUntil`. `least` ignores null.
      return {
        sql: `least(f.rendered_at + make_interval(secs => case when f.status >= 400
          then least(${fresh}, ${NOT_FOUND_FRESH_MS / 1_000}) else ${fresh} end), f.stale_since)`,
        type: 'timestamptz',
      }
    case 'last_crawler':
      return { sql: 'f.visited_at', type: 'timestamptz' }
    case 'last_render':
      return { sql: 'f.outcome', type: 'text' }
  }
}

/** The first matching rule decides alone. */
function freshSeconds(settings: DomainSettings, put: (value: unknown) => string): string {
  const usual = `${put(settings.fresh_seconds)}::float8`
  const rules = settings.rules.filter(isForUsual)
  const last = rules.findLastIndex((rule) => rule.fresh_seconds !== undefined)
  const cases = rules.slice(0, last + 1).map((rule) => {
    const conditions = [`f.path like ${put(likePattern(speltPath(rule)))}`, ...querySql(rule, put)]
    const seconds = rule.fresh_seconds === undefined ? usual : `${put(rule.fresh_seconds)}::float8`
    return `when ${conditions.join(' and ')} then ${seconds}`
  })
  return cases.length === 0 ? usual : `case ${cases.join(' ')} else ${usual} end`
}

/** The conditions on the query, as `matchesQuery` of packages/contract/src/rules/rule-book.ts has them. */
function querySql(rule: Rule, put: (value: unknown) => string): string[] {
  return queryTests(rule).map(({ parameter, isAnyValue }) => {
    const holds = (part: string) => `strpos('&' || split_part(f.path, '?', 2) || '&', ${put(part)}) > 0`
    const exact = holds(`&${parameter}&`)
    return isAnyValue ? `(${exact} or ${holds(`&${parameter}=`)})` : exact
  })
}

function likePattern(glob: string): string {
  return glob.replace(/[\\%_]/g, (char) => `\\${char}`).replace(/\*+/g, '%')
}

function toListed(
  { key: _, staleSince, freshSeconds, crawler, category, visitedAt, outcome, endedAt, ...page }: Row,
  settings: DomainSettings,
  rules: RuleBook,
  nowMs: number,
): ListedPage {
  const { rule = null } = rules.chosen(page.path) ?? {}
  const lifetimes = { ...lifetimesOf(settings, rule), freshMs: freshSeconds * 1_000 }
  const aged = {
    status: page.status,
    renderedAtMs: page.renderedAt.getTime(),
    staleSinceMs: staleSince?.getTime() ?? null,
  }
  return {
    ...page,
    freshUntilMs: freshUntil(aged, lifetimes),
    freshness: freshnessOf(aged, lifetimes, nowMs),
    lastCrawler: crawler === null ? null : { name: crawler, category: broadCategory(category), visitedAt },
    lastRender: outcome === null ? null : { outcome, endedAt },
  }
}

function parameters(domain: DomainId) {
  const values: unknown[] = [domain]
  const put = (value: unknown): string => `$${values.push(value)}`
  return { values, put }
}

export type PageMatch = { kind: 'prefix' | 'contains'; text: string }

/** Spells a person's input as stored paths are: ASCII, with `%C3%A9` for `é`. Returns null if there is nothing to search for. */
export function pageMatch(kind: PageMatch['kind'], typed: string): PageMatch | null {
  const text = typed
    .trim()
    .toWellFormed()
    .replace(/[^\x21-\x7e]+/g, (part) => encodeURIComponent(part))
  return text === '' ? null : { kind, text }
}

/**
 * Returns a condition that an index on paths can answer alone, or '' without a match. `put` returns the parameter name of a value.
 */
export function matchCondition(
  match: PageMatch | null,
  path: string,
  put: (value: string) => string,
): string {
  if (match === null) return ''
  return match.kind === 'prefix'
    ? `and starts_with(${path}, ${put(match.text)})`
    : `and strpos(lower(${path}), ${put(match.text.toLowerCase())}) > 0`
}

const BATCH = 1_000

/** Batches are never empty. One query per batch: a slow reader holds no connection or snapshot. */
export async function* listStoredPaths(
  db: Queryable,
  domain: DomainId,
): AsyncGenerator<readonly PagePath[], void> {
  let after = ''
  for (;;) {
    const { rows } = await db.query<[PagePath]>({
      name: 'stored-paths',
      rowMode: 'array',
      text: 'select distinct path from page where domain_id = $1 and path > $2 order by path limit $3',
      values: [domain, after, BATCH],
    })
    const last = rows.at(-1)
    if (last === undefined) return
    yield rows.map(([path]) => path)
    if (rows.length < BATCH) return
    after = last[0]
  }
}
