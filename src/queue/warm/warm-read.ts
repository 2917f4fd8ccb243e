import type pg from 'pg'

import { type Clock, type Stopwatch, systemStopwatch } from '../../clock.ts'
import { deleteInSteps } from '../../db/remove-old.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import type { Log } from '../../log.ts'
import type { GetOptions } from '../../outbound/get.ts'
import { type OwnEntry, readSitemap } from '../../sitemaps/read-sitemap.ts'
import { fetchRobots, readRobots } from '../../sitemaps/robots.ts'
import { recordInSitemap } from '../../store/known-paths.ts'
import { countKnownPages } from '../upkeep/known-pages.ts'
import { WARM_MOVED_CHANNEL } from './warm.ts'
import { type Reading, releaseReading, renewReading, takeReading } from './warm-lease.ts'

/** Of one run. */
export const SITEMAPS_LIMIT = 10_000
export const ENTRIES_LIMIT = 1_000_000
/** An index may name indexes, and those others. */
export const DEPTH_LIMIT = 3
/**
 * So long a node reads for one run before it looks who else waits. The sitemap
 * that it is at is read to its end, for it would have to be begun anew.
 */
export const TURN_LIMIT_SECONDS = 60
/** Where nobody says where the sitemap is. */
const USUAL_SITEMAP = '/sitemap.xml' as PagePath
const ROBOTS_TRIES = 3
const REASON_LIMIT_CHARS = 200

export type WarmReadDeps = {
  pool: pg.Pool
  get: GetOptions
  clock: Clock
  log: Log
  /** A node that says nothing for so long has died: the next one goes on. */
  leaseMs?: number
  stopwatch?: Stopwatch
}

/**
 * Takes a run whose sitemaps are to be read, and reads robots.txt and all that
 * it leads to; resolves when that is done, no longer this node's, or its turn
 * is over: then the run stands behind all others that wait, and whoever takes
 * it next goes on. One sitemap after the other, each known as read once all of
 * it is recorded: a node that dies costs the one that it was at. Gives false
 * when there is no such run.
 */
export async function readWarmSitemaps(deps: WarmReadDeps, closing: AbortSignal): Promise<boolean> {
  const { leaseMs = 30_000, stopwatch = systemStopwatch } = deps
  const reading = await takeReading(deps.pool, leaseMs)
  if (reading === null) return false
  const turnEnds = stopwatch() + TURN_LIMIT_SECONDS
  const lost = new AbortController()
  const hold = async () => {
    if (!(await renewReading(deps.pool, reading, leaseMs))) lost.abort(new Error('no longer ours'))
    return !signal.aborted
  }
  const signal = AbortSignal.any([closing, lost.signal])
  // The database being away for a moment is no reason; the lease decides.
  const timer = setInterval(() => void hold().catch(() => {}), leaseMs / 3)
  try {
    await read(deps, reading, signal, hold, () => stopwatch() > turnEnds)
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    clearInterval(timer)
    await releaseReading(deps.pool, reading).catch(() => {})
  }
  return true
}

async function read(
  deps: WarmReadDeps,
  reading: Reading,
  signal: AbortSignal,
  hold: () => Promise<boolean>,
  isTurnOver: () => boolean,
): Promise<void> {
  const { pool, log } = deps
  const { domain, site } = reading
  const text = reading.robots ?? (await robotsOf(deps, reading, signal))
  if (text === null) return
  const { sitemaps } = readRobots(text, site)
  if (reading.robots === null) await begin(pool, reading, text, sitemaps)

  for (let ended = 0; ; ended++) {
    const next = await nextSitemap(pool, domain)
    if (next === null || !(await hold())) break
    // To hold it has put it last. One sitemap at least, so that no run stands still however slow its origin is.
    if (ended > 0 && isTurnOver()) return
    const { path, depth } = next
    try {
      const entries = await readOne(deps, reading, next, signal, hold)
      if (signal.aborted) return
      await pool.query(
        `update warm_sitemap set entries = $3 where domain_id = $1 and path = $2 returning pg_notify('${WARM_MOVED_CHANNEL}', domain_id::text)`,
        [domain, path, entries],
      )
    } catch (error) {
      if (signal.aborted) return
      const isGuess = depth === 0 && path === USUAL_SITEMAP && !sitemaps.includes(path)
      log.debug({ err: error, domain: site.name, path }, 'a sitemap could not be read')
      await fail(pool, domain, path, isGuess ? null : (error as Error).message)
    }
  }
  if (signal.aborted) return
  await forgetUnnamed(pool, domain, signal)
  await pool.query(
    `update warm set state = 'queueing', known = $3, moved_at = clock_timestamp()
      where domain_id = $1 and lease = $2 and state = 'reading' and paused_at is null
     returning pg_notify('${WARM_MOVED_CHANNEL}', domain_id::text)`,
    [domain, reading.lease, await countKnownPages(pool, domain)],
  )
}

/** Pages that no sitemap names any more; where all of them could be read. What was named lately has been seen within a day. */
async function forgetUnnamed(pool: pg.Pool, domain: DomainId, signal: AbortSignal): Promise<void> {
  await deleteInSteps(
    pool,
    `with gone as materialized (
       select path from known_path
        where domain_id = $2 and source = 'sitemap'
          and seen_at < (select started_at from warm where domain_id = $2) - interval '25 hours'
          and exists (select from warm_sitemap where domain_id = $2 and entries is not null)
          and not exists (select from warm_sitemap where domain_id = $2 and failure is not null)
        limit $1 for update skip locked)
     delete from known_path k using gone
      where k.domain_id = $2 and k.path = gone.path and k.source = 'sitemap'`,
    [domain],
    { signal },
  )
}

/** null: nothing may be asked for, and the run has ended. */
async function robotsOf(
  { pool, get }: WarmReadDeps,
  { domain, lease, site }: Reading,
  signal: AbortSignal,
): Promise<string | null> {
  for (let tries = 1; ; tries++) {
    try {
      return await fetchRobots(get, site, signal)
    } catch (error) {
      if (signal.aborted) return null
      if (tries < ROBOTS_TRIES) continue
      const reason = `robots.txt could not be read: ${(error as Error).message}`
      await pool.query(
        `update warm set state = 'failed', reason = $3, ended_at = clock_timestamp()
          where domain_id = $1 and lease = $2 and state = 'reading'
         returning pg_notify('${WARM_MOVED_CHANNEL}', domain_id::text)`,
        [domain, lease, bounded(reason)],
      )
      return null
    }
  }
}

/** What robots.txt names, and what crawlers have asked for; else where sitemaps usually are. */
async function begin(
  pool: pg.Pool,
  { domain, lease }: Reading,
  robots: string,
  sitemaps: readonly PagePath[],
): Promise<void> {
  await pool.query(
    `with known as (
       select path from unnest($3::text[]) as path
       union select path from (select path from sitemap where domain_id = $1 limit $4) asked
     ), named as (
       select path from known union select $5 where not exists (select from known)
     ), begun as (
       insert into warm_sitemap (domain_id, path, depth)
       select $1, path, 0 from named where path <> '/' limit $4 on conflict do nothing)
     update warm set robots = $6 where domain_id = $1 and lease = $2`,
    [domain, lease, sitemaps, SITEMAPS_LIMIT, USUAL_SITEMAP, robots],
  )
}

/** How many entries were of this site. */
async function readOne(
  { pool, get, clock }: WarmReadDeps,
  { domain, site }: Reading,
  { path, depth, entriesSoFar }: NextSitemap,
  signal: AbortSignal,
  hold: () => Promise<boolean>,
): Promise<number> {
  let entries = 0
  await readSitemap(get, site, path, signal, async (batch, kind) => {
    const room = ENTRIES_LIMIT - entriesSoFar - entries
    const taken = batch.slice(0, room)
    if (kind === 'pages') await recordInSitemap(pool, domain, taken, clock.nowMs())
    else await recordSitemaps(pool, domain, taken, depth + 1)
    entries += taken.length
    if (taken.length < batch.length) throw new Error(`more than ${ENTRIES_LIMIT} entries in all`)
    return hold()
  })
  return entries
}

async function recordSitemaps(
  pool: pg.Pool,
  domain: DomainId,
  entries: readonly OwnEntry[],
  depth: number,
): Promise<void> {
  if (depth > DEPTH_LIMIT) throw new Error(`an index inside ${DEPTH_LIMIT} others`)
  await pool.query(
    `insert into warm_sitemap (domain_id, path, depth)
     select $1, path, $3 from unnest($2::text[]) as path where path <> '/'
      limit greatest(0, $4 - (select count(*) from warm_sitemap where domain_id = $1))
     on conflict do nothing`,
    [domain, entries.map(({ path }) => path), depth, SITEMAPS_LIMIT],
  )
}

type NextSitemap = { path: PagePath; depth: number; entriesSoFar: number }

async function nextSitemap(pool: pg.Pool, domain: DomainId): Promise<NextSitemap | null> {
  const { rows } = await pool.query<{ path: PagePath; depth: number; so_far: number }>(
    `select path, depth,
            (select coalesce(sum(entries), 0)::int from warm_sitemap where domain_id = $1) as so_far
       from warm_sitemap where domain_id = $1 and entries is null and failure is null
      order by depth, path limit 1`,
    [domain],
  )
  const row = rows[0]
  return row === undefined ? null : { path: row.path, depth: row.depth, entriesSoFar: row.so_far }
}

/** `reason` null: it was a guess, of which nobody need know. */
async function fail(pool: pg.Pool, domain: DomainId, path: PagePath, reason: string | null): Promise<void> {
  if (reason === null) {
    await pool.query('delete from warm_sitemap where domain_id = $1 and path = $2', [domain, path])
    return
  }
  const values = [domain, path, bounded(reason)]
  await pool.query(
    `update warm_sitemap set failure = $3 where domain_id = $1 and path = $2 returning pg_notify('${WARM_MOVED_CHANNEL}', domain_id::text)`,
    values,
  )
}

function bounded(text: string): string {
  return text.replaceAll('\0', '').toWellFormed().slice(0, REASON_LIMIT_CHARS)
}
