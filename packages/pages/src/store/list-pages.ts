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
import { LAST_VISIT_DAYS } from './last-visits.ts'
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

/** Which pages are listed, by the row of each path. If absent, all do. Each list names at least one value. */
export type PageFilter = {
  status?: readonly number[] | undefined
  freshness?: readonly Freshness[] | undefined
  /** Of the last render. */
  outcome?: readonly string[] | undefined
  /** Stored for one of these devices. */
  variant?: readonly PageVariant[] | undefined
  /** Whether no crawler requested it in 30 days. */
  unvisited?: boolean | undefined
}

type DomainOfPages = { id: DomainId; settings: DomainSettings }

export type PagesWanted = { match: PageMatch | null; filter?: PageFilter; nowMs: number }

export type ListWanted = PagesWanted & {
  /** Without it, the list has one row for each path. */
  variant?: PageVariant
  order: PageOrder
  direction: 'asc' | 'desc'
  after: ListPlace | null
  limit: number
}

const BESIDE = {
  last_crawler: { table: 'last_visit', key: 'visited_at', type: 'timestamptz' },
  last_render: { table: 'last_render', key: 'outcome', type: 'text' },
} as const

/** Reads only index rows up to the next `limit`; exception: docs/decisions/0019-the-dashboard.md. */
export async function listPages(
  db: Queryable,
  domain: DomainOfPages,
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

export async function countPages(db: Queryable, domain: DomainOfPages, wanted: PagesWanted): Promise<number> {
  const { values, put } = parameters(domain.id)
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::integer as count from page f where f.domain_id = $1 and ${oneForEachPath('f')}
        ${matchCondition(wanted.match, 'f.path', put)} ${filterConditions(domain, wanted, put)}`,
    values,
  )
  return rows[0]?.count ?? 0
}

/** How many pages each value of a filter finds beside the other filters. */
type PageCounts = {
  status: Record<string, number>
  freshness: Record<string, number>
  outcome: Record<string, number>
  variant: Record<string, number>
  unvisited: { true: number; false: number }
}

/** Pages that are the same to all filters. */
type Alike = {
  status: number
  freshness: Freshness
  outcome: string | null
  hasDesktop: boolean
  hasMobile: boolean
  unvisited: boolean
  pages: number
}

/** Of more pages the values of filters are not counted: half a million take two seconds. */
const COUNTED_MOST = 500_000

/**
 * Counts the pages that match, all and for each value of the filters. `counts` is null if the search alone finds more than `most`.
 * Reads indexes of all pages of the domain, once.
 */
export async function countByFilter(
  db: Queryable,
  domain: DomainOfPages,
  wanted: PagesWanted,
  most = COUNTED_MOST,
): Promise<{ matching: number; counts: PageCounts | null }> {
  const { match, filter = {}, nowMs } = wanted
  const { pages, hasMobile } = await findVariants(db, domain, match, most)
  if (pages > most) return { matching: await countPages(db, domain, wanted), counts: null }
  const { values, put } = parameters(domain.id)
  const { rows } = await db.query<Alike>(
    `select f.status, ${freshnessSql(domain.settings, nowMs, put)} as freshness, r.outcome,
            f.variant = 'desktop' as "hasDesktop", ${hasMobile ? 'm.path is not null' : 'false'} as "hasMobile",
            v.path is null as unvisited, count(*)::integer as pages
       from page f
       ${hasMobile ? `left join page m on m.domain_id = $1 and m.path = f.path and m.variant = 'mobile'` : ''}
       left join last_render r on r.domain_id = $1 and r.path = f.path
       left join last_visit v on v.domain_id = $1 and v.path = f.path and v.visited_at > ${visitedSince(nowMs, put)}
      where f.domain_id = $1 and ${hasMobile ? oneForEachPath('f') : `f.variant = 'desktop'`} ${matchCondition(match, 'f.path', put)}
      group by 1, 2, 3, 4, 5, 6`,
    values,
  )
  const counts: PageCounts = {
    status: {},
    freshness: {},
    outcome: {},
    variant: {},
    unvisited: { true: 0, false: 0 },
  }
  let matching = 0
  for (const alike of rows) {
    const refusing = refusingFilters(alike, filter)
    if (refusing.length === 0) matching += alike.pages
    for (const [name, value] of valuesOf(alike)) {
      if (refusing.some((other) => other !== name)) continue
      const ofFilter: Record<string, number> = counts[name]
      ofFilter[value] = (ofFilter[value] ?? 0) + alike.pages
    }
  }
  return { matching, counts }
}

/** How many pages a search finds, of both variants and at most `most + 1`, and whether phones have pages of their own among them. */
async function findVariants(
  db: Queryable,
  domain: DomainOfPages,
  match: PageMatch | null,
  most: number,
): Promise<{ pages: number; hasMobile: boolean }> {
  const { values, put } = parameters(domain.id)
  const { rows } = await db.query<{ pages: number; hasMobile: boolean }>(
    `select count(*)::integer as pages, coalesce(bool_or(variant = 'mobile'), false) as "hasMobile" from (
       select f.variant from page f where f.domain_id = $1 ${matchCondition(match, 'f.path', put)} limit ${put(most + 1)}) found`,
    values,
  )
  return rows[0]!
}

function refusingFilters(page: Alike, filter: PageFilter): (keyof PageFilter)[] {
  const { status, freshness, outcome, variant, unvisited } = filter
  const refusing: (keyof PageFilter)[] = []
  if (status !== undefined && !status.includes(page.status)) refusing.push('status')
  if (freshness !== undefined && !freshness.includes(page.freshness)) refusing.push('freshness')
  if (outcome !== undefined && !outcome.includes(page.outcome ?? '')) refusing.push('outcome')
  if (variant !== undefined && !variant.some((each) => variantsOf(page).includes(each))) {
    refusing.push('variant')
  }
  if (unvisited !== undefined && unvisited !== page.unvisited) refusing.push('unvisited')
  return refusing
}

function variantsOf({ hasDesktop, hasMobile }: Alike): PageVariant[] {
  const variants: PageVariant[] = []
  if (hasDesktop) variants.push('desktop')
  if (hasMobile) variants.push('mobile')
  return variants
}

function valuesOf(page: Alike): [filter: keyof PageCounts, value: string][] {
  const values: [keyof PageCounts, string][] = [
    ['status', String(page.status)],
    ['freshness', page.freshness],
    ['unvisited', String(page.unvisited)],
  ]
  if (page.outcome !== null) values.push(['outcome', page.outcome])
  for (const variant of variantsOf(page)) values.push(['variant', variant])
  return values
}

export async function matchingPaths(
  db: Queryable,
  domain: DomainOfPages,
  wanted: PagesWanted,
  limit: number,
): Promise<PagePath[]> {
  const { values, put } = parameters(domain.id)
  const conditions = filterConditions(domain, wanted, put)
  const { rows } = await db.query<[PagePath]>({
    rowMode: 'array',
    text: `select distinct f.path from page f where f.domain_id = $1 ${matchCondition(wanted.match, 'f.path', put)}
              ${conditions === '' ? '' : `and ${oneForEachPath('f')} ${conditions}`}
            order by f.path limit ${put(limit)}`,
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
  domain: DomainOfPages,
  wanted: ListWanted,
  limit: number,
  which: 'pages' | 'with' | 'without',
): Promise<Row[]> {
  const { match, variant, order, direction, after } = wanted
  const { values, put } = parameters(domain.id)
  const beside = order === 'last_crawler' || order === 'last_render' ? BESIDE[order] : null
  const fresh = lifetimeSql('fresh_seconds', domain.settings, 'f', put)
  const key = which === 'without' ? null : keyOf(order, fresh)
  const past = direction === 'asc' ? '>' : '<'
  const from = which === 'with' && beside !== null ? beside.table : 'page'
  const conditions = [matchCondition(match, 'f.path', put)]
  const row = variant === undefined ? oneForEachPath('f') : `f.variant = ${put(variant)}`
  if (from === 'page') conditions.push(`and ${row} ${filterConditions(domain, wanted, put)}`)
  if (beside !== null && which === 'without') {
    conditions.push(`and not exists
      (select from ${beside.table} o where o.domain_id = f.domain_id and o.path = f.path)`)
  } else if (beside !== null) {
    const filters = filterConditions(domain, wanted, put, 'o')
    conditions.push(`and exists (select from page o where o.domain_id = f.domain_id and o.path = f.path
      ${filters === '' ? '' : `and ${oneForEachPath('o')} ${filters}`})`)
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
      return { sql: freshUntilSql('f', fresh), type: 'timestamptz' }
    case 'last_crawler':
      return { sql: 'f.visited_at', type: 'timestamptz' }
    case 'last_render':
      return { sql: 'f.outcome', type: 'text' }
  }
}

/** Conditions on a row of `page` that stands for its path; '' without a filter. `page` is the row's alias, and $1 the domain. */
function filterConditions(
  { settings }: DomainOfPages,
  { filter = {}, nowMs }: PagesWanted,
  put: (value: unknown) => string,
  page = 'f',
): string {
  const { status, freshness, outcome, variant, unvisited } = filter
  const conditions: string[] = []
  const beside = (table: string, condition: string) =>
    `exists (select from ${table} b where b.domain_id = $1 and b.path = ${page}.path and ${condition})`
  if (status !== undefined) conditions.push(`${page}.status = any (${put(status)}::smallint[])`)
  if (outcome !== undefined) conditions.push(beside('last_render', `b.outcome = any (${put(outcome)})`))
  if (variant !== undefined) conditions.push(beside('page', `b.variant = any (${put(variant)})`))
  if (unvisited !== undefined) {
    const visited = beside('last_visit', `b.visited_at > ${visitedSince(nowMs, put)}`)
    conditions.push(unvisited ? `not ${visited}` : visited)
  }
  if (freshness !== undefined) {
    conditions.push(`${freshnessSql(settings, nowMs, put, page)} = any (${put(freshness)})`)
  }
  return conditions.map((condition) => `and ${condition}`).join(' ')
}

function visitedSince(nowMs: number, put: (value: unknown) => string): string {
  return `${put(new Date(nowMs))}::timestamptz - interval '${LAST_VISIT_DAYS} days'`
}

/** The same rule as `freshUntil` of packages/contract/src/page/freshness.ts. `least` ignores null. */
function freshUntilSql(page: string, fresh: string): string {
  return `least(${page}.rendered_at + make_interval(secs => case when ${page}.status >= 400
    then least(${fresh}, ${NOT_FOUND_FRESH_MS / 1_000}) else ${fresh} end), ${page}.stale_since)`
}

/** The same rule as `freshnessOf` of packages/contract/src/page/freshness.ts. */
function freshnessSql(
  settings: DomainSettings,
  nowMs: number,
  put: (value: unknown) => string,
  page = 'f',
): string {
  const now = `${put(new Date(nowMs))}::timestamptz`
  const until = freshUntilSql(page, lifetimeSql('fresh_seconds', settings, page, put))
  const stale = lifetimeSql('stale_seconds', settings, page, put)
  const keep = lifetimeSql('keep_seconds', settings, page, put)
  return `case when ${now} < ${until} then 'fresh'
    when ${page}.status < 400 and ${now} < ${until} + make_interval(secs => ${stale}) then 'stale'
    when ${now} < ${page}.rendered_at + make_interval(secs => ${keep}) then 'kept' else 'gone' end`
}

/** The first matching rule decides alone. */
function lifetimeSql(
  name: 'fresh_seconds' | 'stale_seconds' | 'keep_seconds',
  settings: DomainSettings,
  page: string,
  put: (value: unknown) => string,
): string {
  const usual = `${put(settings[name])}::float8`
  const rules = settings.rules.filter(isForUsual)
  const last = rules.findLastIndex((rule) => rule[name] !== undefined)
  const cases = rules.slice(0, last + 1).map((rule) => {
    const conditions = [
      `${page}.path like ${put(likePattern(speltPath(rule)))}`,
      ...querySql(rule, `${page}.path`, put),
    ]
    const seconds = rule[name] === undefined ? usual : `${put(rule[name])}::float8`
    return `when ${conditions.join(' and ')} then ${seconds}`
  })
  return cases.length === 0 ? usual : `case ${cases.join(' ')} else ${usual} end`
}

/** The conditions on the query, as `matchesQuery` of packages/contract/src/rules/rule-book.ts has them. */
function querySql(rule: Rule, path: string, put: (value: unknown) => string): string[] {
  return queryTests(rule).map(({ parameter, isAnyValue }) => {
    const holds = (part: string) => `strpos('&' || split_part(${path}, '?', 2) || '&', ${put(part)}) > 0`
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
