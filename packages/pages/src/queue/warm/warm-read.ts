import type { DomainId, DomainName, PagePath } from '@prepaint/contract/ids.ts'
import { readDomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import type { Site } from '@prepaint/contract/site-files/site.ts'
import { type GetOptions, type OpenOriginHeaders, readOrigin } from '@prepaint/outbound'
import { fetchRobots, type OwnEntry, readRobots, readSitemap } from '@prepaint/outbound/sitemaps'
import type { Task, TaskKind } from '@prepaint/postgres/tasks'
import { type Clock, type Stopwatch, systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { countKnownPages, forgetUnnamed, recordInSitemap } from '../../store/known-paths.ts'
import { storedSitemapPaths } from '../../store/stored-sitemap.ts'
import { WARM_MOVED_CHANNEL, WARM_READ_TASK, WARM_STEP_TASK } from './warm.ts'

/** Per run. */
const SITEMAPS_LIMIT = 10_000
const ENTRIES_LIMIT = 1_000_000
export const DEPTH_LIMIT = 3
/** Then another run has its turn, once the current sitemap is read. */
export const TURN_LIMIT_SECONDS = 60
const USUAL_SITEMAP = '/sitemap.xml' as PagePath
const ROBOTS_TRIES = 3
const REASON_LIMIT_CHARS = 200

/**
 * Reads the sitemaps of a run. A sitemap is recorded as a whole, so a node that dies loses only the current one.
 * A node of version 0.2.0 that reads the same run beside records the same.
 */
export class WarmReading implements TaskKind {
  readonly name = WARM_READ_TASK
  /** So that a slow origin does not delay the others. */
  readonly slots = 2
  readonly perAccount = 4
  readonly faultMessage = 'a warm could not go on; it is tried again'
  readonly subjects = `
    select w.domain_id as key, d.account_id, now() as due_at from warm w join domain d on d.id = w.domain_id
     where w.state = 'reading' and w.paused_at is null`
  readonly #pool: pg.Pool
  readonly #get: GetOptions
  readonly #openHeaders: OpenOriginHeaders | null
  readonly #clock: Clock
  readonly #log: Log
  readonly #stopwatch: Stopwatch

  /** Without `openHeaders`, no headers of the owner are sent to the origin. */
  constructor(
    pool: pg.Pool,
    get: GetOptions,
    openHeaders: OpenOriginHeaders | null,
    clock: Clock,
    log: Log,
    stopwatch = systemStopwatch,
  ) {
    this.#pool = pool
    this.#get = get
    this.#openHeaders = openHeaders
    this.#clock = clock
    this.#log = log
    this.#stopwatch = stopwatch
  }

  /** Stops when all is read, the run was paused or started again, or the turn ends. */
  async run(task: Task, signal: AbortSignal): Promise<number | null> {
    const reading = await findReading(this.#pool, this.#openHeaders, Number(task.key) as DomainId)
    if (reading === null) return null
    const turnEnds = this.#stopwatch() + TURN_LIMIT_SECONDS
    const lost = new AbortController()
    const hold = async () => {
      if (!(await holdReading(this.#pool, reading, task))) lost.abort(new Error('no longer ours'))
      return !either.aborted
    }
    const either = AbortSignal.any([signal, lost.signal])
    try {
      const isTurnOver = await this.#read(reading, either, hold, () => this.#stopwatch() > turnEnds)
      if (isTurnOver) return 0
    } catch (error) {
      if (!either.aborted) throw error
    }
    signal.throwIfAborted()
    return null
  }

  /** Returns true if there is more to read after this turn. */
  async #read(
    reading: Reading,
    signal: AbortSignal,
    hold: () => Promise<boolean>,
    isTurnOver: () => boolean,
  ): Promise<boolean> {
    const { domain, site } = reading
    const text = reading.robots ?? (await this.#readRobots(reading, signal))
    if (text === null) return false
    const { sitemaps } = readRobots(text, site)
    if (reading.robots === null) await begin(this.#pool, reading, text, sitemaps)

    for (let ended = 0; ; ended++) {
      const next = await nextSitemap(this.#pool, domain)
      if (next === null || !(await hold())) break
      // At least one sitemap per turn, so that a slow origin still advances.
      if (ended > 0 && isTurnOver()) return true
      const { path, depth } = next
      try {
        const entries = await this.#readSitemap(reading, next, signal, hold)
        if (signal.aborted) return false
        await this.#pool.query(
          `update warm_sitemap set entries = $3 where domain_id = $1 and path = $2 returning pg_notify('${WARM_MOVED_CHANNEL}', domain_id::text)`,
          [domain, path, entries],
        )
      } catch (error) {
        if (signal.aborted) return false
        const isGuess = depth === 0 && path === USUAL_SITEMAP && !sitemaps.includes(path)
        this.#log.debug({ err: error, domain: site.name, path }, 'a sitemap could not be read')
        await fail(this.#pool, domain, path, isGuess ? null : (error as Error).message)
      }
    }
    if (signal.aborted) return false
    const readAllSinceMs = await readAllSince(this.#pool, domain)
    if (readAllSinceMs !== null) await forgetUnnamed(this.#pool, domain, readAllSinceMs, signal)
    await this.#pool.query(
      `update warm set state = 'queueing', known = $3, moved_at = clock_timestamp()
        where domain_id = $1 and run = $2 and state = 'reading' and paused_at is null
       returning pg_notify('${WARM_MOVED_CHANNEL}', domain_id::text),
                 (select ask_task('${WARM_STEP_TASK}', d.id::text, d.account_id) from domain d where d.id = domain_id)`,
      [domain, reading.run, await countKnownPages(this.#pool, domain)],
    )
    return false
  }

  /** Returns null if robots.txt could not be read, so that nothing is allowed and the run has ended. */
  async #readRobots({ domain, run, site }: Reading, signal: AbortSignal): Promise<string | null> {
    for (let tries = 1; ; tries++) {
      try {
        return (await fetchRobots(this.#get, site, signal)).text
      } catch (error) {
        if (signal.aborted) return null
        if (tries < ROBOTS_TRIES) continue
        const reason = `robots.txt could not be read: ${(error as Error).message}`
        await this.#pool.query(
          `update warm set state = 'failed', reason = $3, ended_at = clock_timestamp()
            where domain_id = $1 and run = $2 and state = 'reading'
           returning pg_notify('${WARM_MOVED_CHANNEL}', domain_id::text)`,
          [domain, run, bounded(reason)],
        )
        return null
      }
    }
  }

  /** Returns the number of entries for this site. */
  async #readSitemap(
    { domain, site }: Reading,
    { path, depth, entriesSoFar }: NextSitemap,
    signal: AbortSignal,
    hold: () => Promise<boolean>,
  ): Promise<number> {
    let entries = 0
    await readSitemap(this.#get, site, path, signal, async (batch, kind) => {
      const room = ENTRIES_LIMIT - entriesSoFar - entries
      const taken = batch.slice(0, room)
      if (kind === 'pages') await recordInSitemap(this.#pool, domain, taken, this.#clock.nowMs())
      else await recordSitemaps(this.#pool, domain, taken, depth + 1)
      entries += taken.length
      if (taken.length < batch.length) throw new Error(`more than ${ENTRIES_LIMIT} entries in all`)
      return hold()
    })
    return entries
  }
}

/** Returns null if not all sitemaps were read. */
async function readAllSince(pool: pg.Pool, domain: DomainId): Promise<number | null> {
  const { rows } = await pool.query<{ started_at: Date }>(
    `select started_at from warm where domain_id = $1
        and exists (select from warm_sitemap where domain_id = $1 and entries is not null)
        and not exists (select from warm_sitemap where domain_id = $1 and failure is not null)`,
    [domain],
  )
  return rows[0]?.started_at.getTime() ?? null
}

/** Notes the sitemaps of robots.txt and those that crawlers requested, or the usual path if there are none. */
async function begin(
  pool: pg.Pool,
  { domain, run }: Reading,
  robots: string,
  sitemaps: readonly PagePath[],
): Promise<void> {
  const known = new Set([...sitemaps, ...(await storedSitemapPaths(pool, domain, SITEMAPS_LIMIT))])
  await pool.query(
    `with begun as (
       insert into warm_sitemap (domain_id, path, depth)
       select $1, path, 0 from unnest($3::text[]) as path where path <> '/' limit $4 on conflict do nothing)
     update warm set robots = $5 where domain_id = $1 and run = $2`,
    [domain, run, known.size === 0 ? [USUAL_SITEMAP] : [...known], SITEMAPS_LIMIT, robots],
  )
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
  const { rows } = await pool.query<NextSitemap>(
    `select path, depth,
            (select coalesce(sum(entries), 0)::int from warm_sitemap where domain_id = $1) as "entriesSoFar"
       from warm_sitemap where domain_id = $1 and entries is null and failure is null
      order by depth, path limit 1`,
    [domain],
  )
  return rows[0] ?? null
}

/** `reason` is null if the path was a guess: then no failure is shown. */
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

type Reading = { domain: DomainId; run: string; robots: string | null; site: Site }

type ReadingRow = Omit<Reading, 'site'> & {
  name: DomainName
  origin_url: string
  settings: unknown
  sealed_headers: Buffer | null
}

/** Returns null if the run does not read any more. */
async function findReading(
  pool: pg.Pool,
  openHeaders: OpenOriginHeaders | null,
  domain: DomainId,
): Promise<Reading | null> {
  const { rows } = await pool.query<ReadingRow>(
    `select w.domain_id as domain, w.run, w.robots, d.custom_domain as name, d.origin_url, d.settings,
            (select key_sealed from origin_header where domain_id = d.id) as sealed_headers
       from warm w join domain d on d.id = w.domain_id
      where w.domain_id = $1 and w.state = 'reading' and w.paused_at is null`,
    [domain],
  )
  const row = rows[0]
  if (row === undefined) return null
  const { name, run, robots } = row
  const headers = openHeaders?.(domain, row.sealed_headers, 'renders')
  const origin = readOrigin(row.origin_url, domain, headers)
  const site = { id: domain, name, origin, query: readDomainSettings(row.settings).query }
  return { domain, run, robots, site }
}

/** Returns false if the run was paused, cancelled or started again, or if another node has its task. */
async function holdReading(
  pool: pg.Pool,
  { domain, run }: Reading,
  { kind, key, lease }: Task,
): Promise<boolean> {
  const { rowCount } = await pool.query(
    `update warm set moved_at = clock_timestamp()
      where domain_id = $1 and run = $2 and state = 'reading' and paused_at is null
        and exists (select from task where kind = $3 and key = $4 and lease = $5)`,
    [domain, run, kind, key, lease],
  )
  return rowCount === 1
}
