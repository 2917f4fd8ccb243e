import type { DomainId, DomainName } from '@prepaint/contract/ids.ts'
import type { DomainSettings } from '@prepaint/contract/settings/domain-settings.ts'
import { parseRobots, type RobotsText } from '@prepaint/contract/site-files/robots-rules.ts'
import { type FilesOf, servedRobots } from '@prepaint/contract/site-files/robots-text.ts'
import type { Site } from '@prepaint/contract/site-files/site.ts'
import { type GetOptions, type OpenOriginHeaders, readOrigin } from '@prepaint/outbound'
import { fetchRobots, servableRobots } from '@prepaint/outbound/sitemaps'
import { isAway } from '@prepaint/postgres/away.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { LRUCache } from 'lru-cache'
import { newestContent } from './versions.ts'

export type RobotsSite = Site & FilesOf

type Domain = { id: DomainId; name: DomainName; originUrl: string; settings: DomainSettings }

export async function ownRobotsText(db: Queryable, domain: DomainId): Promise<string> {
  const content = (await newestContent(db, domain, 'robots')) as { text?: string } | null
  return content?.text ?? ''
}

/** Describes robots.txt as the API shows it. */
export async function robotsView(db: Queryable, robots: RobotsFiles, domain: Domain) {
  const { mode } = domain.settings.robots
  const text = await ownRobotsText(db, domain.id)
  const site = await robots.siteOf(domain)
  const origin = await robots.ofOrigin(site)
  const served = await robots.served(site)
  return { domain: domain.name, mode, text, origin, served }
}

/** Minimum interval between fetches of an origin. */
const FETCH_EVERY_MS = 60_000
/** How long the last good copy is used while the origin fails. */
const KEPT_MS = 86_400_000
const FETCH_WITHIN_MS = 5_000
const MEMORY_LIMIT_CHARS = 32 * 1024 * 1024

/** What is known of an origin's robots.txt. `text` is null if no good copy is known. */
type Held = { text: string | null; fetchedMs: number; triedMs: number }

type Answer = { text: string | null; isAway: boolean }

const NEVER = Number.NEGATIVE_INFINITY
const NOTHING: Held = { text: null, fetchedMs: NEVER, triedMs: NEVER }

/** What is served as /robots.txt now. The origin's is fetched at most once a minute, or remembered as it passes. */
export class RobotsFiles {
  readonly #db: Queryable
  readonly #pool: Queryable
  readonly #get: GetOptions
  readonly #openHeaders: OpenOriginHeaders | null
  readonly #clock: Clock
  readonly #log: Log
  /** What is held, by `keyOf`. */
  readonly #held = new LRUCache<string, Held>({
    maxSize: MEMORY_LIMIT_CHARS,
    sizeCalculation: ({ text }) => 200 + (text?.length ?? 0),
  })
  readonly #fetching = new Map<string, Promise<Held>>()
  /** The rules, by text. */
  readonly #parsed = new LRUCache<string, RobotsText>({
    maxSize: MEMORY_LIMIT_CHARS,
    sizeCalculation: (_robots, text) => 500 + 6 * text.length,
    memoMethod: (text) => parseRobots(text),
  })

  /**
   * `db` is for reads that a request waits for, `pool` for writes in the background. Without `openHeaders`, no headers of the
   * owner are sent to the origin.
   */
  constructor(
    db: Queryable,
    pool: Queryable,
    get: GetOptions,
    openHeaders: OpenOriginHeaders | null,
    clock: Clock,
    log: Log,
  ) {
    this.#db = db
    this.#pool = pool
    this.#get = get
    this.#openHeaders = openHeaders
    this.#clock = clock
    this.#log = log
  }

  /** Reads a site as the edge has it: with the owner's text, and headers for the origin. */
  async siteOf({ id, name, originUrl, settings }: Domain): Promise<RobotsSite> {
    const { rows } = await this.#db.query<{ sealed: Buffer }>(
      'select key_sealed as sealed from origin_header where domain_id = $1',
      [id],
    )
    const headers = this.#openHeaders?.(id, rows[0]?.sealed ?? null, 'all')
    const robots = { mode: settings.robots.mode, text: await ownRobotsText(this.#db, id) }
    const origin = readOrigin(originUrl, `domain ${id}`, headers)
    return { id, name, origin, query: settings.query, files: { ...settings, robots } }
  }

  /** Returns null if the origin cannot be reached. `maxAgeMs` is about the origin's part. Never rejects. */
  async served(site: RobotsSite, maxAgeMs?: number): Promise<string | null> {
    return (await this.answer(site, maxAgeMs)).text
  }

  /** As `served`. `isAway`: the database cannot say what the origin's part is. Never rejects. */
  async answer(site: RobotsSite, maxAgeMs?: number): Promise<Answer> {
    if (site.files.robots.mode === 'replace') return { text: servedRobots(site, ''), isAway: false }
    const { text, isAway: isUnknown } = await this.#findOrigins(site, maxAgeMs)
    return { text: text === null ? null : servedRobots(site, text), isAway: isUnknown }
  }

  /** Returns the rules of `served`. */
  async rules(site: RobotsSite, maxAgeMs?: number): Promise<RobotsText | null> {
    const text = await this.served(site, maxAgeMs)
    return text === null ? null : this.#parsed.memo(text)
  }

  /**
   * Returns null if the origin cannot be reached and there is no copy of the last day. `maxAgeMs`: how old a copy may be, at
   * least a minute. Never rejects.
   */
  async ofOrigin(site: Site, maxAgeMs?: number): Promise<string | null> {
    return (await this.#findOrigins(site, maxAgeMs)).text
  }

  async #findOrigins(site: Site, maxAgeMs = FETCH_EVERY_MS): Promise<Answer> {
    const key = keyOf(site)
    let held = this.#held.get(key) ?? NOTHING
    if (!this.#isCurrent(held, maxAgeMs)) {
      // Another node may have fetched it.
      const stored = await this.#stored(site)
      // What the node last had is used for as long as the outage lasts.
      if (stored === 'away') return { text: held.text, isAway: true }
      held = stored
    }
    if (!this.#isCurrent(held, maxAgeMs)) {
      const fetching = this.#fetching.get(key) ?? this.#ask(site).finally(() => this.#fetching.delete(key))
      this.#fetching.set(key, fetching)
      held = await fetching
    }
    return { text: this.#textOf(held), isAway: false }
  }

  /** Returns the origin's last good copy of the last day, without asking the origin. Never rejects. */
  async kept(site: Site): Promise<string | null> {
    const held = this.#held.get(keyOf(site)) ?? (await this.#stored(site))
    return held === 'away' ? null : this.#textOf(held)
  }

  /** Remembers a good answer of the origin. Never rejects. */
  async remember(site: Site, text: string): Promise<Held> {
    const nowMs = this.#clock.nowMs()
    const before = this.#held.get(keyOf(site))
    const held = this.#hold(site, { text, fetchedMs: nowMs, triedMs: nowMs })
    if (before?.text === text && nowMs - before.fetchedMs < FETCH_EVERY_MS) return held
    try {
      await this.#pool.query(
        `insert into origin_robots (domain_id, origin, text, fetched_at)
         select id, $2, $3, $4 from domain where id = $1
         on conflict (domain_id) do update set
           origin = excluded.origin, text = excluded.text, fetched_at = excluded.fetched_at`,
        [site.id, site.origin.authority, text, new Date(nowMs)],
      )
    } catch (error) {
      this.#log.warn({ err: error, domain: site.name }, 'robots.txt of an origin could not be kept')
    }
    return held
  }

  async #ask(site: Site): Promise<Held> {
    const triedMs = this.#clock.nowMs()
    try {
      const fetched = await fetchRobots(this.#get, site, AbortSignal.timeout(FETCH_WITHIN_MS))
      return await this.remember(site, servableRobots(fetched))
    } catch (error) {
      this.#log.debug({ err: error, domain: site.name }, 'robots.txt of an origin could not be read')
      const held = this.#held.get(keyOf(site)) ?? NOTHING
      return this.#hold(site, { ...held, triedMs })
    }
  }

  /** Reads what is stored. Returns what is in memory if nothing can be read, and `away` if the database is away. */
  async #stored(site: Site): Promise<Held | 'away'> {
    const read = this.#db.query<{ text: string; fetched_at: Date }>(
      'select text, fetched_at from origin_robots where domain_id = $1 and origin = $2',
      [site.id, site.origin.authority],
    )
    const row = await read.then(({ rows }) => rows[0]).catch((error) => (isAway(error) ? 'away' : undefined))
    if (row === 'away') return row
    const held = this.#held.get(keyOf(site)) ?? NOTHING
    const fetchedMs = row?.fetched_at.getTime() ?? NEVER
    // Another request may have fetched it meanwhile.
    if (row === undefined || fetchedMs < held.fetchedMs) return held
    return this.#hold(site, { text: row.text, fetchedMs, triedMs: Math.max(held.triedMs, fetchedMs) })
  }

  #hold(site: Site, held: Held): Held {
    this.#held.set(keyOf(site), held)
    return held
  }

  #isCurrent({ fetchedMs, triedMs }: Held, maxAgeMs: number): boolean {
    const nowMs = this.#clock.nowMs()
    return nowMs - fetchedMs < maxAgeMs || nowMs - triedMs < FETCH_EVERY_MS
  }

  #textOf({ text, fetchedMs }: Held): string | null {
    return this.#clock.nowMs() - fetchedMs < KEPT_MS ? text : null
  }
}

/** The key has the origin in it, so that a new origin begins without a copy. */
function keyOf({ id, origin }: Site): string {
  return `${id} ${origin.authority}`
}
