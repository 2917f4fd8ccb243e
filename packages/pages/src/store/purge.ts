import { setTimeout as sleep } from 'node:timers/promises'
import type { AccountId, DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { letTakeLong } from '@prepaint/postgres/long-statements.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import { matchCondition, type PageMatch } from './list-pages.ts'

/** `domain`: everything, before the domain is deleted. */
export type PurgeWhat =
  | { kind: 'all' | 'domain' }
  | { kind: 'path'; path: PagePath }
  | { kind: 'paths'; paths: readonly PagePath[] }
  | { kind: 'matching'; match: PageMatch }
  | { kind: 'prefix'; prefix: string }

/**
 * Also deletes all sitemaps and redirects of the domain. Returns how many entries. Needs a read-committed
 * transaction.
 * Running jobs first: a completing job holds its row, so the deletes see its page; a later one is superseded.
 */
export async function purgePages(client: Queryable, domain: DomainId, what: PurgeWhat): Promise<number> {
  const { where, values } = condition(domain, what)
  const db = await letTakeLong(client)
  await db.query(supersede(where), values)
  const { rows } = await db.query<{ pages: number }>(deletePagesSql(where, what), values)
  const others = [
    await db.query('delete from redirect where domain_id = $1', [domain]),
    await db.query('delete from sitemap where domain_id = $1', [domain]),
  ]
  // Data derived from these pages; not counted.
  await db.query(`delete from page_digest where ${where}`, values)
  await db.query(`delete from inspection where ${where}`, values)
  await db.query(`select pg_notify('invalidate', payload) from unnest($1::text[]) as payload`, [
    payloads(domain, what),
  ])
  return others.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), rows[0]!.pages)
}

function supersede(where: string): string {
  return `update job set superseded = true where state = 'running' and ${where}`
}

/** Deleted pages stay known, so that a warm renders them again. */
const REMEMBER_GONE = `remembered as (
  insert into known_path (domain_id, path, source, seen_at)
  select distinct domain_id, path, 'crawler', now() from gone where status < 400 order by domain_id, path
  on conflict (domain_id, path, source) do update set seen_at = excluded.seen_at
    where known_path.seen_at < excluded.seen_at - interval '1 day')`

function deletePagesSql(where: string, what?: PurgeWhat): string {
  return `with gone as (delete from page where ${where} returning domain_id, path, status)${remember(what)}
          select count(*)::integer as pages from gone`
}

function remember(what?: PurgeWhat): string {
  return what?.kind === 'domain' ? '' : `, ${REMEMBER_GONE}`
}

function condition(domain: DomainId, what: PurgeWhat): { where: string; values: unknown[] } {
  switch (what.kind) {
    case 'all':
    case 'domain':
      return { where: 'domain_id = $1', values: [domain] }
    case 'path':
      return { where: 'domain_id = $1 and path = $2', values: [domain, what.path] }
    case 'paths':
      // All statements that lock many rows take them in this order.
      return { where: 'domain_id = $1 and path = any($2)', values: [domain, [...what.paths].sort()] }
    case 'prefix':
      return { where: 'domain_id = $1 and starts_with(path, $2)', values: [domain, what.prefix] }
    case 'matching': {
      const values: unknown[] = [domain]
      const matching = matchCondition(what.match, 'path', (value) => `$${values.push(value)}`)
      return { where: `domain_id = $1 ${matching}`, values }
    }
  }
}

function payloads(domain: DomainId, what: PurgeWhat): string[] {
  switch (what.kind) {
    case 'all':
    case 'domain':
    // Nodes cannot match this in memory: they drop the whole domain.
    case 'matching':
      return [JSON.stringify({ domain })]
    // `purged`: redirects and sitemaps of the whole domain are deleted too.
    case 'path':
      return [JSON.stringify({ domain, path: what.path, purged: true })]
    case 'paths':
      return what.paths.map((path) => JSON.stringify({ domain, path, purged: true }))
    case 'prefix':
      return [JSON.stringify({ domain, prefix: what.prefix, purged: true })]
  }
}

/** A purge deletes up to this many pages in its own transaction (at most one second). */
export const AHEAD_FROM = 5_000
const STEP = 1_000
const REST_MS = 20

const deleteStep = (what: PurgeWhat) => `
  with piece as materialized (
    select path, variant from page where domain_id = $1 and starts_with(path, $2) and (path, variant) > ($3, $5)
     order by path, variant limit $4 for update skip locked),
  gone as (
    delete from page using piece where page.domain_id = $1 and page.path = piece.path and page.variant = piece.variant
    returning page.domain_id, page.path, page.status)${remember(what)}
  select (select count(*) from gone)::integer as deleted, last.path, last.variant
    from (select) always left join (select * from piece order by path desc, variant desc limit 1) last on true`

/**
 * Call `purgePages` next: until then nodes serve cached pages. Returns how many pages.
 * In one transaction a million pages would block the domain's renders for minutes.
 */
export async function purgeAhead(db: Queryable, domain: DomainId, what: PurgeWhat): Promise<number> {
  if (what.kind !== 'all' && what.kind !== 'domain' && what.kind !== 'prefix') return 0
  const prefix = what.kind === 'prefix' ? what.prefix : ''
  const { rowCount: isLarge } = await db.query(
    'select from page where domain_id = $1 and starts_with(path, $2) offset $3 limit 1',
    [domain, prefix, AHEAD_FROM],
  )
  if (isLarge === 0) return 0
  let deleted = 0
  type Step = { deleted: number; path: string | null; variant: string }
  for (let after: Pick<Step, 'path' | 'variant'> = { path: '', variant: '' }; after.path !== null; ) {
    const { rows }: { rows: Step[] } = await db.query(deleteStep(what), [
      ...[domain, prefix, after.path, STEP, after.variant],
    ])
    deleted += rows[0]!.deleted
    after = rows[0]!
    await sleep(REST_MS)
  }
  return deleted
}

/** Needs a read-committed transaction. Running jobs first, so that no earlier render is stored. */
export async function deletePages(
  client: Queryable,
  domain: DomainId,
  paths: readonly PagePath[],
): Promise<void> {
  const values = [domain, [...paths].sort()]
  const where = 'domain_id = $1 and path = any($2)'
  await client.query(supersede(where), values)
  await client.query(deletePagesSql(where), values)
  await client.query(`delete from redirect where ${where}`, values)
  await client.query(
    `select pg_notify('invalidate', json_build_object('domain', $1::integer, 'path', path)::text)
     from unnest($2::text[]) as path`,
    values,
  )
}

/** Nothing serves them any more. Returns how many. Needs a read-committed transaction. */
export async function deleteMobilePages(client: Queryable, domain: DomainId): Promise<number> {
  const db = await letTakeLong(client)
  const where = `domain_id = $1 and variant = 'mobile'`
  await db.query(supersede(where), [domain])
  const { rowCount } = await db.query(`delete from page where ${where}`, [domain])
  for (const table of ['redirect', 'page_digest', 'inspection'])
    await db.query(`delete from ${table} where ${where}`, [domain])
  await db.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ domain })])
  return rowCount ?? 0
}

/** The entries are those that a purge of all domains would delete now. */
export async function countStored(
  db: Queryable,
  account: AccountId,
): Promise<{ domains: number; entries: number }> {
  const { rows } = await db.query<{ domains: number; entries: string }>(
    `select count(*)::int as domains,
            coalesce(sum((select count(*) from page where domain_id = d.id)
                       + (select count(*) from redirect where domain_id = d.id)
                       + (select count(*) from sitemap where domain_id = d.id)), 0) as entries
     from domain d where d.account_id = $1`,
    [account],
  )
  const { domains, entries } = rows[0]!
  return { domains, entries: Number(entries) }
}
