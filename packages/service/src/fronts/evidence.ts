import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Way } from '@prepaint/contract/api/fronts.ts'
import type { AccountId, DomainId, DomainName } from '@prepaint/contract/ids.ts'
import type { NotificationSource } from '@prepaint/postgres/listener.ts'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { LRUCache } from 'lru-cache'

/** A notification names a domain whose owner is looking. */
export const WATCHED_CHANNEL = 'integration_watched'

/** A way that is new to this node, a refusal, and all of a watched domain is written after this time. */
const SOON_MS = 800
const LATER_MS = 8_000
const WATCHED_FOR_MS = 60_000
const REMEMBERED = 20_000
/** More domains at once are not noted until the next write. */
const MOST_WAITING = 20_000
const PATH_LIMIT_CHARS = 2_048
/** By these headers a front says what it is. */
const INT_TYPE_HEADER = 'x-prerender-int-type'
const INT_VERSION_HEADER = 'x-prerender-int-version'
const INT_TEXT = /^[\x20-\x7e]{1,64}$/

/** A crawler's request. */
type Visit = { domain: DomainId; way: Way; crawler: string; path: string; headers: IncomingHttpHeaders }

/** A request with a key of the account that is dead or not good for it. */
type Refusal = { account: AccountId; name: DomainName; reason: string }

type SeenWay = {
  domain: DomainId
  way: Way
  atMs: number
  crawler: string
  path: string
  int_type: string | null
  int_version: string | null
  visits: number
}

type Refused = { account: AccountId; name: DomainName; reason: string; atMs: number; count: number }

const WRITE_WAYS = `
  with seen as (
    select s.*, to_timestamp(s."atMs" / 1000.0) as at
      from json_to_recordset($1) s (domain integer, way text, "atMs" float8, crawler text, path text, int_type text,
                                    int_version text, visits bigint)
      join domain d on d.id = s.domain
  ), counted as (
    insert into integration_visits as v (domain_id, way, hour, visits)
    select domain, way, date_trunc('hour', at), visits from seen order by 1, 2
        on conflict (domain_id, way, hour) do update set visits = v.visits + excluded.visits
  )
  insert into integration_way as w (domain_id, way, first_at, last_at, crawler, path, int_type, int_version)
  select domain, way, at, at, crawler, path, int_type, int_version from seen order by 1, 2
      on conflict (domain_id, way) do update
         set last_at = excluded.last_at, crawler = excluded.crawler, path = excluded.path,
             int_type = excluded.int_type, int_version = excluded.int_version
       where excluded.last_at >= w.last_at`

// Only of the account's own domains: others are told nothing.
const WRITE_REFUSALS = `
  insert into integration_refusal as r (domain_id, reason, minute, count, last_at)
  select d.id, s.reason, date_trunc('minute', to_timestamp(max(s."atMs") / 1000.0)), sum(s.count),
         to_timestamp(max(s."atMs") / 1000.0)
    from json_to_recordset($1) s (account integer, name text, reason text, "atMs" float8, count integer)
    join domain d on d.account_id = s.account and d.custom_domain = s.name
   group by d.id, s.reason order by 1, 2
      on conflict (domain_id, minute, reason) do update
         set count = r.count + excluded.count, last_at = greatest(r.last_at, excluded.last_at)`

const WRITE_ARRIVAL = `
  with arrived as (
    update integration_check set way = $3, int_type = $4, int_version = $5
     where token_hash = $1 and domain_id = $2 and expires_at > clock_timestamp()
    returning domain_id
  ), seen as (
    insert into integration_way as w (domain_id, way, first_at, last_at, crawler, path, int_type, int_version)
    select domain_id, $3, $6::timestamptz, $6::timestamptz, 'PrepaintCheck', $7, $4, $5 from arrived
        on conflict (domain_id, way) do update
           set last_at = greatest(w.last_at, excluded.last_at), crawler = excluded.crawler, path = excluded.path,
               int_type = excluded.int_type, int_version = excluded.int_version)
  select from arrived`

const WRITE_REFUSED_CHECK = `
  update integration_check c set refused = $4 from domain d
   where c.token_hash = $1 and d.id = c.domain_id and d.account_id = $2 and d.custom_domain = $3
     and c.expires_at > clock_timestamp()`

/**
 * Notes by which way crawlers come, and which fronts are refused. Written apart from traffic, so that an owner who sets up
 * a front sees it at once.
 */
export class FrontEvidence {
  readonly #pool: Queryable
  readonly #db: Queryable
  readonly #clock: Clock
  readonly #log: Log
  #ways = new Map<string, SeenWay>()
  #refused = new Map<string, Refused>()
  /** Ways that this node has written. */
  readonly #known = new LRUCache<string, true>({ max: REMEMBERED })
  readonly #watchedUntilMs = new LRUCache<number, number>({ max: REMEMBERED })
  #timer: NodeJS.Timeout | undefined
  #dueMs = Number.POSITIVE_INFINITY
  #flushing: Promise<void> = Promise.resolve()

  /** `db` has time limits, for what requests wait for. */
  constructor(pool: Queryable, db: Queryable, notifications: NotificationSource, clock: Clock, log: Log) {
    this.#pool = pool
    this.#db = db
    this.#clock = clock
    this.#log = log
    notifications.on(WATCHED_CHANNEL, (payload) => this.#watch(Number(payload)))
  }

  /** Cheap, never throws. Called for each crawler's request: after the first since the last write, it makes no object. */
  noteVisit({ domain, way, crawler, path, headers }: Visit): void {
    const nowMs = this.#clock.nowMs()
    const key = `${domain} ${way}`
    const seen = this.#ways.get(key) ?? this.#begin(key, domain, way)
    if (seen === null) return
    seen.atMs = nowMs
    seen.crawler = crawler
    seen.path = path.length > PATH_LIMIT_CHARS ? path.slice(0, PATH_LIMIT_CHARS) : path
    seen.int_type = intText(headers[INT_TYPE_HEADER])
    seen.int_version = intText(headers[INT_VERSION_HEADER])
    seen.visits++
    // The first visit has set the time of the next write.
    if (seen.visits > 1) return
    const isWatched = (this.#watchedUntilMs.get(domain) ?? 0) > nowMs
    this.#writeWithin(isWatched || !this.#known.has(key) ? SOON_MS : LATER_MS)
  }

  /** Returns null if there are too many. */
  #begin(key: string, domain: DomainId, way: Way): SeenWay | null {
    if (this.#ways.size >= MOST_WAITING) return null
    const seen = { domain, way, atMs: 0, crawler: '', path: '', int_type: null, int_version: null, visits: 0 }
    this.#ways.set(key, seen)
    return seen
  }

  /** Cheap, never throws. */
  noteRefusal({ account, name, reason }: Refusal): void {
    const key = JSON.stringify([account, name, reason])
    const before = this.#refused.get(key)
    if (before === undefined && this.#refused.size >= MOST_WAITING) return
    const count = (before?.count ?? 0) + 1
    this.#refused.set(key, { account, name, reason, atMs: this.#clock.nowMs(), count })
    this.#writeWithin(SOON_MS)
  }

  /** Notes that the request of a check was refused. Rejects if the database does not answer. */
  async refuseCheck(token: string, { account, name, reason }: Refusal): Promise<void> {
    await this.#db.query(WRITE_REFUSED_CHECK, [tokenHash(token), account, name, reason])
  }

  /**
   * Notes that the request of a check arrived. Returns what its response must contain, or null if no check of this domain
   * has this token now. Rejects if the database does not answer.
   */
  async receiveCheck(
    token: string,
    { domain, way, path, headers }: Omit<Visit, 'crawler'>,
  ): Promise<string | null> {
    const { int_type, int_version } = intTexts(headers)
    const now = new Date(this.#clock.nowMs())
    const { rowCount } = await this.#db.query(WRITE_ARRIVAL, [
      tokenHash(token),
      domain,
      way,
      int_type,
      int_version,
      now,
      path.slice(0, PATH_LIMIT_CHARS),
    ])
    return rowCount === 0 ? null : checkAnswer(token)
  }

  async close(): Promise<void> {
    await this.#flush()
  }

  #watch(domain: number): void {
    this.#watchedUntilMs.set(domain, this.#clock.nowMs() + WATCHED_FOR_MS)
    if (this.#ways.size > 0) this.#writeWithin(SOON_MS)
  }

  #writeWithin(ms: number): void {
    const dueMs = this.#clock.nowMs() + ms
    if (this.#timer !== undefined && this.#dueMs <= dueMs) return
    clearTimeout(this.#timer)
    this.#dueMs = dueMs
    this.#timer = setTimeout(() => void this.#flush(), ms).unref()
  }

  #flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#dueMs = Number.POSITIVE_INFINITY
    const ways = [...this.#ways.values()]
    const refused = [...this.#refused.values()]
    this.#ways = new Map()
    this.#refused = new Map()
    this.#flushing = this.#flushing.then(async () => {
      try {
        if (ways.length > 0) await this.#pool.query(WRITE_WAYS, [JSON.stringify(ways)])
        if (refused.length > 0) await this.#pool.query(WRITE_REFUSALS, [JSON.stringify(refused)])
        for (const { domain, way } of ways) this.#known.set(`${domain} ${way}`, true)
      } catch (error) {
        this.#log.warn({ err: error }, 'the ways of crawlers could not be written')
      }
    })
    return this.#flushing
  }
}

export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Only who knows the token can say this. */
export function checkAnswer(token: string): string {
  return `prepaint-check:${tokenHash(token).toString('hex')}`
}

function intTexts(headers: IncomingHttpHeaders): { int_type: string | null; int_version: string | null } {
  return {
    int_type: intText(headers[INT_TYPE_HEADER]),
    int_version: intText(headers[INT_VERSION_HEADER]),
  }
}

function intText(value: string | string[] | undefined): string | null {
  return typeof value === 'string' && INT_TEXT.test(value) ? value : null
}
