import { LRUCache } from 'lru-cache'
import type { Clock } from '../clock.ts'
import type { Queryable } from '../db/transaction.ts'
import type { DomainId } from '../ids.ts'
import type { Log } from '../log.ts'
import type { GetOptions } from '../outbound/get.ts'
import { fetchRobotsFile } from '../sitemaps/robots.ts'
import type { Site } from '../sitemaps/site.ts'

/** Minimum interval between fetches. */
const FETCH_EVERY_MS = 60_000
/** How long the last good copy is used while the origin fails. */
const KEPT_MS = 86_400_000
const FETCH_WITHIN_MS = 5_000
const MEMORY_LIMIT_BYTES = 32 * 1024 * 1024

/** `db`: for reads that a request waits for. */
type Deps = { db: Queryable; pool: Queryable; get: GetOptions; clock: Clock; log: Log }

type Known = { origin: string; text: string; fetchedMs: number }
type Held = { origin: string; known: Known | null; triedMs: number }

/** The origin's own robots.txt: fetched at most once a minute, or remembered as it passes. */
export class OriginRobots {
  readonly #deps: Deps
  readonly #held = new LRUCache<DomainId, Held>({
    maxSize: MEMORY_LIMIT_BYTES,
    sizeCalculation: ({ known }) => 200 + (known?.text.length ?? 0),
  })
  readonly #reading = new Map<string, Promise<string | null>>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /**
   * null: the origin cannot be reached, and there is no copy of the last day. `maxAgeMs`: how old a copy may be; at
   * least a minute. Never rejects.
   */
  read(site: Site, maxAgeMs = FETCH_EVERY_MS): Promise<string | null> {
    const held = this.#heldOf(site)
    const nowMs = this.#deps.clock.nowMs()
    const isRecent = held?.known != null && nowMs - held.known.fetchedMs < maxAgeMs
    if (held !== undefined && (isRecent || nowMs - held.triedMs < FETCH_EVERY_MS)) {
      return Promise.resolve(textOf(held.known, nowMs))
    }
    const key = `${site.id} ${maxAgeMs} ${site.origin.authority}`
    const open = this.#reading.get(key)
    if (open !== undefined) return open
    const before = held?.known ?? null
    const reading = this.#read(site, before, maxAgeMs).finally(() => this.#reading.delete(key))
    this.#reading.set(key, reading)
    return reading
  }

  async #read(site: Site, before: Known | null, maxAgeMs: number): Promise<string | null> {
    const { get, clock, log } = this.#deps
    const stored = await this.#stored(site, before)
    const triedMs = clock.nowMs()
    // Another node fetched it.
    if (stored !== null && triedMs - stored.fetchedMs < maxAgeMs) {
      this.#held.set(site.id, { origin: stored.origin, known: stored, triedMs: stored.fetchedMs })
      return stored.text
    }
    try {
      const file = await fetchRobotsFile(get, site, AbortSignal.timeout(FETCH_WITHIN_MS))
      const text = isRobots(file) ? file.text : ''
      await this.remember(site, text)
      return text
    } catch (error) {
      log.debug({ err: error, domain: site.name }, 'robots.txt of an origin could not be read')
      this.#held.set(site.id, { origin: site.origin.authority, known: stored, triedMs })
      return textOf(stored, triedMs)
    }
  }

  /** The last good one of the last day, without asking the origin. Never rejects. */
  async kept(site: Site): Promise<string | null> {
    const held = this.#heldOf(site)
    const known = held === undefined ? await this.#stored(site, null) : held.known
    if (held === undefined && known !== null) {
      this.#held.set(site.id, { origin: known.origin, known, triedMs: known.fetchedMs })
    }
    return textOf(known, this.#deps.clock.nowMs())
  }

  /** A good answer of the origin. Never rejects. */
  async remember(site: Site, text: string): Promise<void> {
    const { pool, clock, log } = this.#deps
    const nowMs = clock.nowMs()
    const before = this.#heldOf(site)?.known ?? null
    const known = { origin: site.origin.authority, text, fetchedMs: nowMs }
    this.#held.set(site.id, { origin: known.origin, known, triedMs: nowMs })
    if (before?.text === text && nowMs - before.fetchedMs < FETCH_EVERY_MS) return
    try {
      await pool.query(
        `insert into origin_robots (domain_id, origin, text, fetched_at)
         select id, $2, $3, $4 from domain where id = $1
         on conflict (domain_id) do update set
           origin = excluded.origin, text = excluded.text, fetched_at = excluded.fetched_at`,
        [site.id, known.origin, text, new Date(nowMs)],
      )
    } catch (error) {
      log.warn({ err: error, domain: site.name }, 'robots.txt of an origin could not be kept')
    }
  }

  #heldOf({ id, origin }: Site): Held | undefined {
    const held = this.#held.get(id)
    return held?.origin === origin.authority ? held : undefined
  }

  async #stored({ id, origin }: Site, otherwise: Known | null): Promise<Known | null> {
    try {
      const { rows } = await this.#deps.db.query<{ text: string; fetched_at: Date }>(
        'select text, fetched_at from origin_robots where domain_id = $1 and origin = $2',
        [id, origin.authority],
      )
      const row = rows[0]
      return row === undefined
        ? otherwise
        : { origin: origin.authority, text: row.text, fetchedMs: row.fetched_at.getTime() }
    } catch {
      return otherwise
    }
  }
}

function textOf(known: Known | null, nowMs: number): string | null {
  return known !== null && nowMs - known.fetchedMs < KEPT_MS ? known.text : null
}

/** A page of an application is no robots.txt, and crawlers read no more than the limit. */
export function isRobots(file: { text: string; isWhole: boolean; contentType: string }): boolean {
  const isHtml = /html/i.test(file.contentType) || /^\s*<(?:!doctype|html)/i.test(file.text)
  return file.isWhole && !isHtml
}
