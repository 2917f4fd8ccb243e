import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { type PageId, pageKey } from '@prepaint/contract/page/page-id.ts'
import { BufferedWrites } from '@prepaint/postgres/buffered-writes.ts'
import { deleteInSteps } from '@prepaint/postgres/remove-old.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { oneForEachPath } from './one-for-each-path.ts'

type KnownSource = 'crawler' | 'sitemap'

/** Skips rows less than a day old: `seen_at` only decides about 30 days. */
export async function recordKnown(
  db: Queryable,
  source: KnownSource,
  known: readonly PageId[],
  nowMs: number,
): Promise<void> {
  await db.query(
    `insert into known_path (domain_id, path, source, seen_at)
     select distinct seen.domain_id, seen.path, $3, $4::timestamptz
       from unnest($1::integer[], $2::text[]) as seen (domain_id, path)
       join domain on domain.id = seen.domain_id
     on conflict (domain_id, path, source) do update set seen_at = excluded.seen_at
       where known_path.seen_at < excluded.seen_at - interval '1 day'`,
    [known.map(({ domain }) => domain), known.map(({ path }) => path), source, new Date(nowMs)],
  )
}

export async function recordInSitemap(
  db: Queryable,
  domain: DomainId,
  entries: readonly { path: PagePath; changedAtMs: number | null }[],
  nowMs: number,
): Promise<void> {
  const lastOf = new Map(entries.map(({ path, changedAtMs }) => [path, changedAtMs]))
  // In key order, to avoid deadlocks.
  const paths = [...lastOf.keys()].sort()
  const changes = paths.map((path) => {
    const changedAtMs = lastOf.get(path) ?? null
    return changedAtMs === null ? null : new Date(changedAtMs)
  })
  await db.query(
    `insert into known_path (domain_id, path, source, seen_at, lastmod)
     select domain.id, named.path, 'sitemap', $4::timestamptz, named.lastmod
       from unnest($2::text[], $3::timestamptz[]) as named (path, lastmod)
       join domain on domain.id = $1
     on conflict (domain_id, path, source) do update
       set seen_at = excluded.seen_at, lastmod = excluded.lastmod
       where known_path.seen_at < excluded.seen_at - interval '1 day'
          or known_path.lastmod is distinct from excluded.lastmod`,
    [domain, paths, changes, new Date(nowMs)],
  )
}

/** Notes in memory which paths crawlers ask for, and writes every few seconds. */
export class AskedPaths {
  readonly #writes: BufferedWrites<PageId>

  constructor(db: Queryable, clock: Clock, log: Log, options: { flushEveryMs?: number } = {}) {
    const failed = 'paths that crawlers asked for could not be noted'
    const write = (pages: readonly PageId[]) => recordKnown(db, 'crawler', pages, clock.nowMs())
    this.#writes = new BufferedWrites(write, { log, failed, ...options })
  }

  note(page: PageId): void {
    this.#writes.note(pageKey(page.domain, page.path), page)
  }

  flush(): Promise<void> {
    return this.#writes.flush()
  }

  close(): Promise<void> {
    return this.#writes.flush()
  }
}

/**
 * Call when all sitemaps were read since `readSinceMs`. 25 hours: `recordInSitemap` skips rows less than a day old.
 */
export async function forgetUnnamed(
  pool: pg.Pool,
  domain: DomainId,
  readSinceMs: number,
  signal: AbortSignal,
): Promise<void> {
  await deleteInSteps(
    pool,
    `with gone as materialized (
       select path from known_path
        where domain_id = $2 and source = 'sitemap' and seen_at < $3::timestamptz - interval '25 hours'
        limit $1 for update skip locked)
     delete from known_path k using gone
      where k.domain_id = $2 and k.path = gone.path and k.source = 'sitemap'`,
    [domain, new Date(readSinceMs)],
    { signal },
  )
}

export const ASKED_FOR_DAYS = 30

export type KnownPage = {
  path: PagePath
  stored: { status: number; renderedAtMs: number; staleSinceMs: number | null } | null
  changedAtMs: number | null
}

type Row = {
  path: PagePath
  status: number | null
  rendered_at: Date
  stale_since: Date | null
  lastmod: Date | null
}

/** Lists the known pages after a path, in byte order. Each part reads at most one batch. */
export async function nextKnownPages(
  db: Queryable,
  domain: DomainId,
  after: string,
  limit: number,
): Promise<KnownPage[]> {
  const { rows } = await db.query<Row>(
    `with known as (
       select path from (
         (select distinct path from page where domain_id = $1 and path > $2 order by path limit $3)
         union
         (select distinct path from known_path
           where domain_id = $1 and path > $2
             and (source = 'sitemap' or seen_at > now() - make_interval(days => $4))
           order by path limit $3)
       ) either
       order by path limit $3)
     select known.path, coalesce(p.status, r.status) as status, coalesce(p.rendered_at, r.stored_at) as rendered_at,
            p.stale_since, s.lastmod
       from known
       left join page p on p.domain_id = $1 and p.path = known.path and ${oneForEachPath('p')}
       left join redirect r on r.domain_id = $1 and r.path = known.path and r.variant = coalesce(p.variant, 'desktop')
       left join known_path s on s.domain_id = $1 and s.path = known.path and s.source = 'sitemap'
      order by known.path`,
    [domain, after, limit, ASKED_FOR_DAYS],
  )
  return rows.map(({ path, status, rendered_at, stale_since, lastmod }) => {
    const staleSinceMs = stale_since?.getTime() ?? null
    const stored = status === null ? null : { status, renderedAtMs: rendered_at.getTime(), staleSinceMs }
    return { path, stored, changedAtMs: lastmod?.getTime() ?? null }
  })
}

export async function countKnownPages(db: Queryable, domain: DomainId): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from (
       select path from page where domain_id = $1
       union
       select path from known_path
        where domain_id = $1 and (source = 'sitemap' or seen_at > now() - make_interval(days => $2))) known`,
    [domain, ASKED_FOR_DAYS],
  )
  return rows[0]!.n
}
