import type { Queryable } from '../db/transaction.ts'
import type { DomainId, PagePath } from '../ids.ts'
import type { Log } from '../log.ts'
import type { PageId } from './page-id.ts'

type KnownSource = 'asked' | 'sitemap'

/** Paths that wait for the next flush; past it they are not noted until there is room. */
export const PENDING_LIMIT = 20_000
const BATCH = 1_000
const FLUSH_EVERY_MS = 5_000

/**
 * Writes that paths are known, in one statement. A row that is less than a day
 * old stays as it is: `seen_at` decides about 30 days, not about minutes.
 */
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

/** Writes that a sitemap names these pages, and when each last changed. No path stands there twice. */
export async function recordInSitemap(
  db: Queryable,
  domain: DomainId,
  entries: readonly { path: PagePath; changedAtMs: number | null }[],
  nowMs: number,
): Promise<void> {
  const lastOf = new Map(entries.map(({ path, changedAtMs }) => [path, changedAtMs]))
  // In the order of their key, as everybody who writes many.
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

/**
 * Notes paths that crawlers ask for: in memory at once, in PostgreSQL with the
 * next flush, so that no request waits for a write. What a crash loses of it
 * is asked for again.
 */
export function createAskedPaths(options: {
  db: Queryable
  nowMs(): number
  log: Log
  flushEveryMs?: number
}) {
  const { db, nowMs, log, flushEveryMs = FLUSH_EVERY_MS } = options
  const pending = new Map<string, PageId>()
  let timer: NodeJS.Timeout | undefined
  let flushing = Promise.resolve()

  function note(page: PageId): void {
    if (pending.size >= PENDING_LIMIT) return
    pending.set(page.key, page)
    timer ??= setTimeout(() => void flush(), flushEveryMs).unref()
  }

  /** Resolves once everything noted so far is written, or was given up. */
  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const known = [...pending.values()]
    pending.clear()
    flushing = flushing.then(async () => {
      for (let at = 0; at < known.length; at += BATCH) {
        await recordKnown(db, 'asked', known.slice(at, at + BATCH), nowMs())
      }
    })
    flushing = flushing.catch((error: Error) => {
      log.warn({ err: error }, 'paths that crawlers asked for could not be noted')
    })
    return flushing
  }

  return { note, flush, close: flush }
}
