import { READ_CHARS } from '@prepaint/contract/crawlers/known-crawlers.ts'
import { utcDay } from '@prepaint/contract/dates.ts'
import type { DomainId, Scope } from '@prepaint/contract/ids.ts'
import type { AutomaticClient } from '@prepaint/contract/outcome/verdict.ts'
import type { TimeRange } from '@prepaint/contract/traffic/time-range.ts'
import { retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'

const FLUSH_EVERY_MS = 10_000

/** Names in memory until the next flush. Visits by further names are counted together. */
export const NAMES_OF_DOMAIN = 50
export const NAMES_OF_ACCOUNT = 500
const NAMES = 10_000

/** Names that are stored of a domain and day: the rarest beyond are counted together. */
export const NAMES_KEPT = 100

/** Stands for all names beyond the limit. */
const OTHERS = ''

type Site = { id: DomainId; account: number }

type Count = {
  domain_id: DomainId
  day: string
  name: string
  kind: AutomaticClient['kind']
  visits: number
  user_agent: string
  seen_at: Date
}

type Visited = { account: number; counts: Map<string, Count> }

/**
 * Counts requests of clients that look automatic and are taken for no crawler, by name. Writes them every few seconds;
 * counts that cannot be written are lost.
 */
export class UnrecognisedClients {
  readonly #pool: pg.Pool
  readonly #clock: Clock
  readonly #log: Log
  readonly #timer: NodeJS.Timeout
  #visited = new Map<DomainId, Visited>()
  #namesOfAccount = new Map<number, number>()
  #names = 0
  #flushing: Promise<void> = Promise.resolve()

  constructor(
    pool: pg.Pool,
    clock: Clock,
    log: Log,
    { flushEveryMs = FLUSH_EVERY_MS }: { flushEveryMs?: number } = {},
  ) {
    this.#pool = pool
    this.#clock = clock
    this.#log = log
    this.#timer = setInterval(() => void this.flush(), flushEveryMs).unref()
  }

  /** Costs two look-ups in memory, and never throws. */
  note(site: Site, { kind, name }: AutomaticClient, userAgent: string): void {
    const count = this.#takeCount(site, kind, name)
    if (count === null) return
    count.visits++
    if (count.name !== OTHERS) count.user_agent = userAgent.slice(0, READ_CHARS)
    count.seen_at = new Date(this.#clock.nowMs())
  }

  /** Writes what was noted until now. Never rejects. */
  flush(): Promise<void> {
    const counts = [...this.#visited.values()].flatMap((visited) => [...visited.counts.values()])
    this.#visited = new Map()
    this.#namesOfAccount = new Map()
    this.#names = 0
    if (counts.length === 0) return this.#flushing
    this.#flushing = this.#flushing
      .then(() => this.#write(counts))
      .catch((error: Error) =>
        this.#log.warn({ err: error }, 'visits of unrecognised clients could not be counted'),
      )
    return this.#flushing
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }

  /** Returns the count of the name, that of all others if there is no room, or null if there is not even room for that. */
  #takeCount({ id, account }: Site, kind: AutomaticClient['kind'], name: string): Count | null {
    const visited = this.#visited.get(id) ?? { account, counts: new Map<string, Count>() }
    const day = utcDay(this.#clock.nowMs())
    const known = visited.counts.get(`${day} ${name}`)
    if (known !== undefined) return known
    const ofAccount = this.#namesOfAccount.get(account) ?? 0
    const isFull = ofAccount >= NAMES_OF_ACCOUNT || this.#names >= NAMES
    const hasRoom = !isFull && visited.counts.size < NAMES_OF_DOMAIN
    if (!hasRoom && name !== OTHERS) return this.#takeCount({ id, account }, 'unknown', OTHERS)
    if (isFull) return null
    const seenAt = new Date(this.#clock.nowMs())
    const count: Count = { domain_id: id, day, name, kind, visits: 0, user_agent: '', seen_at: seenAt }
    visited.counts.set(`${day} ${name}`, count)
    this.#visited.set(id, visited)
    this.#namesOfAccount.set(account, ofAccount + 1)
    this.#names++
    return count
  }

  async #write(counts: readonly Count[]): Promise<void> {
    await retriedTransaction(this.#pool, async (client) => {
      await client.query({ name: 'traffic-add-unrecognised', text: ADD, values: [JSON.stringify(counts)] })
      const days = new Map(counts.map((count) => [`${count.domain_id} ${count.day}`, count]))
      const sorted = [...days.values()].sort((one, other) => one.domain_id - other.domain_id)
      await client.query({
        name: 'traffic-trim-unrecognised',
        text: TRIM,
        values: [sorted.map((each) => each.domain_id), sorted.map((each) => each.day), NAMES_KEPT],
      })
    })
  }
}

// Nodes write in the order of the keys, to avoid deadlocks, and skip deleted domains.
const ADD = `
  insert into traffic_unrecognised as t (domain_id, day, name, kind, visits, user_agent, seen_at)
  select domain_id, day, name, kind, visits, user_agent, seen_at
    from json_populate_recordset(null::traffic_unrecognised, $1)
   where exists (select from domain where id = domain_id)
   order by domain_id, day, name collate "C"
  on conflict (domain_id, day, name) do update set
    visits = t.visits + excluded.visits, kind = excluded.kind, user_agent = excluded.user_agent,
    seen_at = greatest(t.seen_at, excluded.seen_at)`

// Adds the rows that it deletes to the row of all others.
const TRIM = `
  with ranked as (
    select t.domain_id, t.day, t.name, row_number() over (partition by t.domain_id, t.day order by t.visits desc, t.name) as rank
      from unnest($1::integer[], $2::date[]) as asked (domain_id, day)
      join traffic_unrecognised t using (domain_id, day)
     where t.name <> ''),
  dropped as (
    delete from traffic_unrecognised t using ranked r
     where (t.domain_id, t.day, t.name) = (r.domain_id, r.day, r.name) and r.rank > $3
    returning t.domain_id, t.day, t.visits, t.seen_at)
  insert into traffic_unrecognised as t (domain_id, day, name, kind, visits, user_agent, seen_at)
  select domain_id, day, '', 'unknown', sum(visits), '', max(seen_at) from dropped group by domain_id, day
  on conflict (domain_id, day, name) do update set
    visits = t.visits + excluded.visits, seen_at = greatest(t.seen_at, excluded.seen_at)`

type UnrecognisedClient = {
  name: string
  kind: AutomaticClient['kind']
  visits: number
  /** The newest user agent of this name. */
  user_agent: string
  last_seen_at: Date
}

// Always filtered by account in SQL.
const READ = `
  select name, (array_agg(kind order by seen_at desc))[1] as kind, sum(visits)::float8 as visits,
         (array_agg(user_agent order by seen_at desc))[1] as user_agent, max(seen_at) as last_seen_at
    from traffic_unrecognised
   where domain_id in (select id from domain where account_id = $1 and ($2::integer[] is null or id = any ($2))) and day >= $3 and day <= $4
   group by name
   order by visits desc, name`

/** Reads the names of whole UTC days, those with most visits first. `others` counts the visits of all further names. */
export async function readUnrecognised(
  db: pg.Pool,
  { account, domains }: Scope,
  { fromMs, toMs }: TimeRange,
  limit: number,
): Promise<{ clients: UnrecognisedClient[]; others: number }> {
  const { rows } = await db.query<UnrecognisedClient>({
    name: 'traffic-unrecognised',
    text: READ,
    values: [account, domains, utcDay(fromMs), utcDay(toMs - 1)],
  })
  const named = rows.filter(({ name }) => name !== OTHERS)
  const all = rows.reduce((sum, { visits }) => sum + visits, 0)
  const clients = named.slice(0, limit)
  return { clients, others: all - clients.reduce((sum, { visits }) => sum + visits, 0) }
}
