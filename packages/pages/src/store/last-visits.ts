import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { type PageId, pageKey } from '@prepaint/contract/page/page-id.ts'
import type { CrawlerCategory } from '@prepaint/contract/settings/domain-settings.ts'
import { BufferedWrites } from '@prepaint/postgres/buffered-writes.ts'
import { removeOldPaths, type Steps } from '@prepaint/postgres/remove-old.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { RecentMap } from '@prepaint/runtime/recent-map.ts'
import type pg from 'pg'
import { oneForEachPath } from './one-for-each-path.ts'
import type { VisitedNotices } from './visited-notices.ts'

export type Visit = {
  page: PageId
  crawler: string
  category: CrawlerCategory
  atMs: number
}

/** Visits that are older are unknown. */
export const LAST_VISIT_DAYS = 30

/** After this time a node writes a page's visit again. */
export const WRITTEN_AGAIN_MS = 3_600_000

/** About 40 MB. */
const REMEMBERED_PAGES = 200_000

/**
 * Writes the visit of a page within seconds, and then none of this page for an hour: hot pages would be rewritten all the
 * time. The pages that were visited least recently are forgotten first, and written again at their next visit.
 */
export class LastVisits {
  readonly #pool: pg.Pool
  readonly #visited: VisitedNotices
  readonly #writes: BufferedWrites<Visit>
  /** When the visit was that was written last, by page. */
  readonly #writtenMs: RecentMap<number>

  constructor(pool: pg.Pool, visited: VisitedNotices, log: Log, { remembered = REMEMBERED_PAGES } = {}) {
    this.#pool = pool
    this.#visited = visited
    this.#writtenMs = new RecentMap<number>({ limit: remembered })
    const failed = 'the last visits of crawlers could not be noted'
    this.#writes = new BufferedWrites((visits: readonly Visit[]) => this.#write(visits), { log, failed })
  }

  note(visit: Visit): void {
    const key = pageKey(visit.page.domain, visit.page.path)
    const writtenMs = this.#writtenMs.get(key)
    if (writtenMs !== undefined && visit.atMs < writtenMs + WRITTEN_AGAIN_MS) return
    this.#writes.note(key, visit)
  }

  flush(): Promise<void> {
    return this.#writes.flush()
  }

  close(): Promise<void> {
    return this.#writes.flush()
  }

  async #write(visits: readonly Visit[]): Promise<void> {
    await record(this.#pool, visits)
    for (const { page, atMs } of visits) this.#writtenMs.set(pageKey(page.domain, page.path), atMs)
    this.#visited.add(visits.map(({ page }) => page.domain))
  }
}

/** Writes the visits in key order, to avoid deadlocks. */
async function record(db: Queryable, visits: readonly Visit[]): Promise<void> {
  await db.query(
    `with quick as (select set_config('synchronous_commit', 'off', true))
     insert into last_visit as known (domain_id, path, crawler, category, visited_at)
     select seen.domain_id, seen.path, seen.crawler, seen.category, seen.visited_at
       from quick, unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
         as seen (domain_id, path, crawler, category, visited_at)
       join domain on domain.id = seen.domain_id
      order by seen.domain_id, seen.path collate "C"
     on conflict (domain_id, path) do update set
       crawler = excluded.crawler, category = excluded.category, visited_at = excluded.visited_at
       where known.visited_at < excluded.visited_at`,
    [
      visits.map(({ page }) => page.domain),
      visits.map(({ page }) => page.path),
      visits.map(({ crawler }) => crawler),
      visits.map(({ category }) => category),
      visits.map(({ atMs }) => new Date(atMs)),
    ],
  )
}

/** Paths from `low` up to before `high` are answered without their pages: they are not refreshed ahead. */
export async function forgetVisits(
  db: Queryable,
  domain: DomainId,
  ranges: readonly { low: string; high: string }[],
): Promise<void> {
  await db.query(
    `delete from last_visit using unnest($2::text[], $3::text[]) as covered (low, high)
      where domain_id = $1 and path >= covered.low and path < covered.high`,
    [domain, ranges.map(({ low }) => low), ranges.map(({ high }) => high)],
  )
}

/** Returns how many were removed. */
export function removeOldVisits(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOldPaths(pool, { table: 'last_visit', at: 'visited_at', keptDays: LAST_VISIT_DAYS }, steps)
}

/** A refresh that failed is not tried again for this long. */
const AGAIN_AFTER_MINUTES = 60
/** The most domains whose position is remembered. Other domains start their scan again. */
const REMEMBERED = 1_000

/** Above `all` visits a domain is scanned in pieces: the newest `piece` visits and as many older ones. */
export type VisitBounds = { all: number; piece: number }
const BOUNDS: VisitBounds = { all: 100_000, piece: 10_000 }

type Place = { visitedAt: string; path: string }
const FIRST: Place = { visitedAt: 'infinity', path: '' }

type StaleWanted = { domain: DomainId; freshSeconds: number; limit: number; nowMs: number }

/**
 * Finds stale pages for which crawlers came. Scanning a million visits takes seconds (`bench/refresh-ahead.ts`), so large sites
 * are scanned in pieces. The position is kept in memory only; losing it costs one more round.
 */
export class StaleFinder {
  readonly #bounds: VisitBounds
  readonly #places = new RecentMap<Place>({ limit: REMEMBERED })

  constructor(bounds: VisitBounds = BOUNDS) {
    this.#bounds = bounds
  }

  /** Lists paths, last visited first, without pages queued or tried recently. `isMore`: older visits were not scanned yet. */
  async find(db: Queryable, wanted: StaleWanted): Promise<{ paths: PagePath[]; isMore: boolean }> {
    const { domain, limit } = wanted
    const { all, piece } = this.#bounds
    const key = String(domain)
    if ((await placeBehind(db, domain, FIRST, all)) === null) {
      this.#places.delete(key)
      return { paths: await among(db, wanted, FIRST, null), isMore: false }
    }
    const newest = await among(db, wanted, FIRST, piece)
    if (newest.length === limit) return { paths: newest, isMore: true }
    const from = this.#places.get(key) ?? (await placeBehind(db, domain, FIRST, piece))
    if (from === null) return { paths: newest, isMore: false }
    const older = await among(db, { ...wanted, limit: limit - newest.length }, from, piece)
    // Repeat a piece that had results: there may have been more than fitted, and the queue may refuse them.
    const next = older.length > 0 ? from : await placeBehind(db, domain, from, piece)
    if (next === null) this.#places.delete(key)
    else this.#places.set(key, next)
    // The newest visits can reach past the remembered place, so both lists can contain a path.
    return { paths: [...new Set([...newest, ...older])], isMore: next !== null }
  }
}

/** Returns where `count` visits after a place end, or null if there are fewer. */
async function placeBehind(
  db: Queryable,
  domain: DomainId,
  from: Place,
  count: number,
): Promise<Place | null> {
  const { rows } = await db.query<Place>(
    `with piece as (
       select visited_at, path from last_visit
        where domain_id = $1 and (visited_at, path) < ($2::timestamptz, $3)
        order by visited_at desc, path desc offset $4::integer - 1 limit 2)
     select visited_at::text as "visitedAt", path from piece where (select count(*) from piece) = 2
      order by visited_at desc, path desc limit 1`,
    [domain, from.visitedAt, from.path, count],
  )
  return rows[0] ?? null
}

/** Lists stale pages among the visits after a place, or among all visits if `piece` is null. */
async function among(
  db: Queryable,
  { domain, freshSeconds, limit, nowMs }: StaleWanted,
  from: Place,
  piece: number | null,
): Promise<PagePath[]> {
  let visits = 'last_visit'
  const values: unknown[] = [domain, limit, new Date(nowMs), freshSeconds, AGAIN_AFTER_MINUTES]
  if (piece !== null) {
    visits = `(select domain_id, path, visited_at from last_visit
           where domain_id = $1 and (visited_at, path) < ($6::timestamptz, $7)
           order by visited_at desc, path desc limit $8)`
    values.push(from.visitedAt, from.path, piece)
  }
  const { rows } = await db.query<{ path: PagePath }>(
    `select v.path from ${visits} v join page p on p.domain_id = v.domain_id and p.path = v.path
      where v.domain_id = $1 and p.status < 400 and ${oneForEachPath('p')}
        and (p.stale_since <= $3 or p.rendered_at < $3::timestamptz - make_interval(secs => $4))
        and not exists (select from job j where j.domain_id = $1 and j.path = v.path
                         and j.state in ('queued', 'running'))
        and not exists (select from last_render r where r.domain_id = $1 and r.path = v.path and r.outcome not in ('rendered', 'static')
                         and r.ended_at > now() - make_interval(mins => $5))
      order by v.visited_at desc limit $2`,
    values,
  )
  return rows.map(({ path }) => path)
}
