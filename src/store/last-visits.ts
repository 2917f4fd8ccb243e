import type pg from 'pg'
import { removeOldPaths, type Steps } from '../db/remove-old.ts'
import type { Queryable } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'
import type { Log } from '../log.ts'
import type { CrawlerCategory } from '../sites/domain-settings.ts'
import type { PageId } from './page-id.ts'

/** A crawler was given a stored page. `crawler`: what it calls itself. */
export type Visit = {
  page: PageId
  crawler: string
  category: CrawlerCategory
  atMs: number
}

/** Pages whose last visit waits for the next flush; past it visits are not noted until there is room. */
export const VISITS_LIMIT = 20_000
/** For how long it is known who asked last. */
const VISITS_KEPT_DAYS = 30
const BATCH = 1_000
const FLUSH_EVERY_MS = 5_000

/**
 * Notes who asked last for a page: in memory at once, one visit a page, in
 * PostgreSQL with the next flush, so that no request waits for a write. What a
 * crash loses of it is a name in a list.
 */
export function createLastVisits(options: { pool: pg.Pool; log: Log; flushEveryMs?: number }) {
  const { pool, log, flushEveryMs = FLUSH_EVERY_MS } = options
  const pending = new Map<string, Visit>()
  let timer: NodeJS.Timeout | undefined
  let flushing = Promise.resolve()

  function note(visit: Visit): void {
    const { key } = visit.page
    if (pending.size >= VISITS_LIMIT && !pending.has(key)) return
    pending.set(key, visit)
    timer ??= setTimeout(() => void flush(), flushEveryMs).unref()
  }

  /** Resolves once everything noted so far is written, or was given up. */
  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const visits = [...pending.values()]
    pending.clear()
    flushing = flushing.then(async () => {
      for (let at = 0; at < visits.length; at += BATCH) await record(pool, visits.slice(at, at + BATCH))
      await tellVisited(
        pool,
        visits.map(({ page }) => page.domain),
      )
    })
    flushing = flushing.catch((error: Error) => {
      log.warn({ err: error }, 'who asked last for pages could not be noted')
    })
    return flushing
  }

  return { note, flush, close: flush }
}

/** In the order of their keys, so that nodes that note the same pages wait for each other and never in a circle. */
async function record(db: Queryable, visits: readonly Visit[]): Promise<void> {
  await db.query(
    `with quick as (select set_config('synchronous_commit', 'off', true))
     insert into last_visit as known (domain_id, path, crawler, category, asked_at)
     select seen.domain_id, seen.path, seen.crawler, seen.category, seen.asked_at
       from quick, unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
         as seen (domain_id, path, crawler, category, asked_at)
       join domain on domain.id = seen.domain_id
      order by seen.domain_id, seen.path collate "C"
     on conflict (domain_id, path) do update set
       crawler = excluded.crawler, category = excluded.category, asked_at = excluded.asked_at
       where known.asked_at < excluded.asked_at`,
    [
      visits.map(({ page }) => page.domain),
      visits.map(({ page }) => page.path),
      visits.map(({ crawler }) => crawler),
      visits.map(({ category }) => category),
      visits.map(({ atMs }) => new Date(atMs)),
    ],
  )
}

/** Removes visits of more than 30 days ago. Gives how many. */
export function removeOldVisits(pool: pg.Pool, steps?: Steps): Promise<number> {
  return removeOldPaths(pool, { table: 'last_visit', at: 'asked_at', keptDays: VISITS_KEPT_DAYS }, steps)
}

/** Carries the ids of domains of which visits were noted or counted, joined by commas. */
export const VISITED_CHANNEL = 'visited'

/** A payload has room for 8,000 bytes, and an id ten digits. */
const TOLD_AT_ONCE = 500

/** Tells whoever shows live figures, once the transaction is committed. Nothing of it is tenant data but that a domain was visited. */
export async function tellVisited(db: Queryable, domains: Iterable<DomainId>): Promise<void> {
  const ids = [...new Set(domains)]
  if (ids.length === 0) return
  await db.query(
    `select pg_notify($2, string_agg(id::text, ','))
       from unnest($1::integer[]) with ordinality as each (id, at)
      group by (at - 1) / $3::integer`,
    [ids, VISITED_CHANNEL, TOLD_AT_ONCE],
  )
}

/** What came over the channel; null: not of this version. */
export function parseVisited(payload: string): DomainId[] | null {
  return /^\d+(,\d+)*$/.test(payload) ? payload.split(',').map((id) => Number(id) as DomainId) : null
}
