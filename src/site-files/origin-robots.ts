import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import type { Queryable } from '../db/transaction.ts'
import type { Log } from '../log.ts'
import type { GetOptions } from '../outbound/get.ts'
import { fetchRobots, servableRobots } from '../sitemaps/robots.ts'
import type { Site } from '../sitemaps/site.ts'

/** Minimum interval between fetches. */
const FETCH_EVERY_MS = 60_000
/** How long the last good copy is used while the origin fails. */
const KEPT_MS = 86_400_000
const FETCH_WITHIN_MS = 5_000
export const MEMORY_LIMIT_CHARS = 32 * 1024 * 1024

/** `db`: for reads that a request waits for. */
export type OriginRobotsDeps = { db: Queryable; pool: Queryable; get: GetOptions; clock: Clock; log: Log }

/** `text` null: no good copy is known. */
type Held = { text: string | null; fetchedMs: number; triedMs: number }

const NEVER = Number.NEGATIVE_INFINITY
const NOTHING: Held = { text: null, fetchedMs: NEVER, triedMs: NEVER }

/** The origin's own robots.txt: fetched at most once a minute, or remembered as it passes. */
export class OriginRobots {
  readonly #deps: OriginRobotsDeps
  /** By `keyOf`. */
  readonly #held = new LRUCache<string, Held>({
    maxSize: MEMORY_LIMIT_CHARS,
    sizeCalculation: ({ text }) => 200 + (text?.length ?? 0),
  })
  readonly #reading = new Map<string, Promise<string | null>>()

  constructor(deps: OriginRobotsDeps) {
    this.#deps = deps
  }

  /**
   * null: the origin cannot be reached, and there is no copy of the last day. `maxAgeMs`: how old a copy may be; at
   * least a minute. Never rejects.
   */
  async read(site: Site, maxAgeMs = FETCH_EVERY_MS): Promise<string | null> {
    const held = this.#held.get(keyOf(site))
    if (held !== undefined && this.#isCurrent(held, maxAgeMs)) return this.#textOf(held)
    const key = `${maxAgeMs} ${keyOf(site)}`
    const reading =
      this.#reading.get(key) ?? this.#ask(site, maxAgeMs).finally(() => this.#reading.delete(key))
    this.#reading.set(key, reading)
    return reading
  }

  async #ask(site: Site, maxAgeMs: number): Promise<string | null> {
    const { get, clock, log } = this.#deps
    const stored = await this.#stored(site)
    // Another node fetched it.
    if (this.#isCurrent(stored, maxAgeMs)) return this.#textOf(stored)
    const triedMs = clock.nowMs()
    try {
      const text = servableRobots(await fetchRobots(get, site, AbortSignal.timeout(FETCH_WITHIN_MS)))
      await this.remember(site, text)
      return text
    } catch (error) {
      log.debug({ err: error, domain: site.name }, 'robots.txt of an origin could not be read')
      this.#held.set(keyOf(site), { ...stored, triedMs })
      return this.#textOf(stored)
    }
  }

  /** The last good one of the last day, without asking the origin. Never rejects. */
  async kept(site: Site): Promise<string | null> {
    return this.#textOf(this.#held.get(keyOf(site)) ?? (await this.#stored(site)))
  }

  /** A good answer of the origin. Never rejects. */
  async remember(site: Site, text: string): Promise<void> {
    const { pool, clock, log } = this.#deps
    const nowMs = clock.nowMs()
    const before = this.#held.get(keyOf(site))
    this.#held.set(keyOf(site), { text, fetchedMs: nowMs, triedMs: nowMs })
    if (before?.text === text && nowMs - before.fetchedMs < FETCH_EVERY_MS) return
    try {
      await pool.query(
        `insert into origin_robots (domain_id, origin, text, fetched_at)
         select id, $2, $3, $4 from domain where id = $1
         on conflict (domain_id) do update set
           origin = excluded.origin, text = excluded.text, fetched_at = excluded.fetched_at`,
        [site.id, site.origin.authority, text, new Date(nowMs)],
      )
    } catch (error) {
      log.warn({ err: error, domain: site.name }, 'robots.txt of an origin could not be kept')
    }
  }

  /** What is in memory if nothing can be read. */
  async #stored(site: Site): Promise<Held> {
    const read = this.#deps.db.query<{ text: string; fetched_at: Date }>(
      'select text, fetched_at from origin_robots where domain_id = $1 and origin = $2',
      [site.id, site.origin.authority],
    )
    const row = await read.then(({ rows }) => rows[0]).catch(() => undefined)
    if (row === undefined) return this.#held.get(keyOf(site)) ?? NOTHING
    const fetchedMs = row.fetched_at.getTime()
    const held = { text: row.text, fetchedMs, triedMs: fetchedMs }
    this.#held.set(keyOf(site), held)
    return held
  }

  #isCurrent({ fetchedMs, triedMs }: Held, maxAgeMs: number): boolean {
    const nowMs = this.#deps.clock.nowMs()
    return nowMs - fetchedMs < maxAgeMs || nowMs - triedMs < FETCH_EVERY_MS
  }

  #textOf({ text, fetchedMs }: Held): string | null {
    return this.#deps.clock.nowMs() - fetchedMs < KEPT_MS ? text : null
  }
}

/** A new origin begins without a copy. */
function keyOf({ id, origin }: Site): string {
  return `${id} ${origin.authority}`
}
