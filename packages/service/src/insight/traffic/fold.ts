import { setImmediate as othersFirst } from 'node:timers/promises'
import type { DomainId } from '@prepaint/contract/ids.ts'
import type { TaskKind } from '@prepaint/postgres/tasks'
import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import pg from 'pg'
import {
  LineSums,
  type PackedLine,
  type PackedRow,
  packRow,
  type Totals,
  totalsOf,
  unpackRow,
} from './packed-lines.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

/** Each time rewrites the rows of the current hour and day, so more often costs more. */
const EVERY_MS = 5 * MINUTE_MS
/** Nodes flush at the end of a minute. What comes later is added the next time. */
const AFTER_FLUSH_MS = 15_000

/**
 * Adds the counts of complete minutes to those of their hour and day, in pieces. One node does so at a time, and a row is
 * deleted in the transaction that adds it: a node that dies leaves every row either added or waiting.
 */
export class TrafficFold implements TaskKind {
  readonly name = 'traffic-fold'
  readonly slots = 1
  readonly perAccount = 1
  readonly faultMessage = 'counts of traffic could not be added up; trying again'
  readonly subjects = `select 'minutes' as key, 0 as account_id, now() as due_at`
  readonly #pool: pg.Pool
  readonly #clock: Clock

  constructor(pool: pg.Pool, clock: Clock) {
    this.#pool = pool
    this.#clock = clock
  }

  async run(_task: unknown, signal: AbortSignal): Promise<number> {
    await foldMinutes(this.#pool, { signal })
    const nowMs = this.#clock.nowMs()
    return EVERY_MS - ((nowMs - AFTER_FLUSH_MS) % EVERY_MS)
  }
}

type FoldOptions = { signal?: AbortSignal; domainsAtOnce?: number }

/** Adds up all complete minutes. Returns how many rows were added. */
export async function foldMinutes(
  pool: pg.Pool,
  { signal, domainsAtOnce = DOMAINS_OF_PIECE }: FoldOptions = {},
): Promise<number> {
  let folded = 0
  while (!signal?.aborted) {
    const rows = await foldPieceAgain(pool, domainsAtOnce)
    if (rows === null) return folded
    folded += rows
  }
  return folded
}

/** So many domains are added up in one transaction, which locks their rows for about two seconds. Each piece reads all rows that wait. */
const DOMAINS_OF_PIECE = 5_000
/** So many minutes, if no node has added up for long. */
const MINUTES_OF_PIECE = 60
const ROWS_AT_ONCE = 500
const DOMAINS_AT_ONCE = 100
/** Adding up so many domains takes a few milliseconds, in which the node answers no request. */
const DOMAINS_IN_A_ROW = 5

const FOREIGN_KEY_VIOLATION = '23503'
const TRIES = 5

/** A domain that is deleted meanwhile makes a piece fail: the next try does not see it. */
async function foldPieceAgain(pool: pg.Pool, domainsAtOnce: number): Promise<number | null> {
  for (let tries = 1; ; tries++) {
    try {
      return await retriedTransaction(pool, (client) => foldPiece(client, domainsAtOnce))
    } catch (error) {
      const isGone = error instanceof pg.DatabaseError && error.code === FOREIGN_KEY_VIOLATION
      if (!isGone || tries === TRIES) throw error
    }
  }
}

const PIECE = `
  select first, until, (select max(domain_id) from (
           select distinct domain_id from traffic_minute where minute >= first and minute < until
            order by domain_id limit $1) d) as last
    from (select first, least(first + make_interval(mins => $2), now) as until from (
            select min(minute) as first, date_trunc('minute', clock_timestamp()) as now from traffic_minute) oldest) span
   where first < until`

const IN_PIECE = 'minute >= $1 and minute < $2 and domain_id <= $3'

type Piece = { first: Date; until: Date; last: DomainId }
type MinuteRow = { domain_id: DomainId; minute: Date; lines: PackedRow }

/**
 * Returns how many rows were added, or null if there are none, or another node is at it. One snapshot serves reading and
 * deleting, so that a row that comes meanwhile stays for the next time.
 */
async function foldPiece(client: pg.PoolClient, domainsAtOnce: number): Promise<number | null> {
  // The rows of a piece are sorted in memory, some 20 MB.
  await client.query(`set transaction isolation level repeatable read; set local work_mem = '64MB'`)
  const { rows: locks } = await client.query<{ isOurs: boolean }>(
    'select pg_try_advisory_xact_lock(7231, 0) as "isOurs"',
  )
  if (!locks[0]!.isOurs) return null
  const { rows: pieces } = await client.query<Piece>(PIECE, [domainsAtOnce, MINUTES_OF_PIECE])
  const piece = pieces[0]
  if (piece === undefined) return null
  const values = [piece.first, piece.until, piece.last]
  await client.query(
    `declare minutes no scroll cursor for
     select domain_id, minute, lines from traffic_minute where ${IN_PIECE} order by domain_id`,
    values,
  )
  let sums = new Map<DomainId, DomainSums>()
  for (;;) {
    const { rows } = await client.query<MinuteRow>(`fetch ${ROWS_AT_ONCE} from minutes`)
    if (rows.length === 0) break
    for (const row of rows) {
      // Rows come by domain: all others are complete.
      if (!sums.has(row.domain_id) && sums.size >= DOMAINS_AT_ONCE) {
        await store(client, [...sums.values()])
        sums = new Map()
      }
      const sum = sums.get(row.domain_id) ?? new DomainSums(row.domain_id)
      sums.set(row.domain_id, sum)
      sum.add(row.minute.getTime(), unpackRow(row.lines))
    }
    await othersFirst()
  }
  await store(client, [...sums.values()])
  await client.query('close minutes')
  const { rowCount } = await client.query(`delete from traffic_minute where ${IN_PIECE}`, values)
  return rowCount
}

/** The hours and days of a domain to which something is added. */
class DomainSums {
  readonly domain: DomainId
  readonly hours = new Map<number, LineSums>()
  readonly days = new Map<number, DaySum>()

  constructor(domain: DomainId) {
    this.domain = domain
  }

  add(minuteMs: number, lines: readonly PackedLine[]): void {
    const hourMs = minuteMs - (minuteMs % HOUR_MS)
    const dayMs = minuteMs - (minuteMs % DAY_MS)
    const hour = this.hours.get(hourMs) ?? new LineSums()
    this.hours.set(hourMs, hour)
    const day = this.days.get(dayMs) ?? new DaySum()
    this.days.set(dayMs, day)
    day.addTotals((hourMs - dayMs) / HOUR_MS, totalsOf(lines))
    for (const line of lines) {
      hour.add(line)
      day.lines.add(line)
    }
  }
}

class DaySum {
  readonly lines = new LineSums()
  readonly hourlyPages = new Array<number>(24).fill(0)
  readonly hourlyHits = new Array<number>(24).fill(0)
  #visits = 0
  #failed = 0

  get visits(): number {
    return this.#visits
  }

  get failed(): number {
    return this.#failed
  }

  addTotals(hour: number, { pages, hits, visits, failed }: Omit<Totals, 'searchVisits'>): void {
    this.hourlyPages[hour]! += pages
    this.hourlyHits[hour]! += hits
    this.#visits += visits
    this.#failed += failed
  }
}

const READ_HOURS = `
  select f.domain_id, f.hour as at, f.lines from traffic_folded_hour f
    join unnest($1::integer[], $2::timestamptz[]) as asked (domain_id, hour) using (domain_id, hour)`

const READ_DAYS = `
  select f.domain_id, f.day::timestamp at time zone 'UTC' as at, f.lines, f.hourly_pages, f.hourly_hits,
         f.visits::float8 as visits, f.failed::float8 as failed
    from traffic_folded_day f
    join unnest($1::integer[], $2::date[]) as asked (domain_id, day) using (domain_id, day)`

const STORE_HOURS = `
  insert into traffic_folded_hour (domain_id, hour, search_visits, lines)
  select n.* from unnest($1::integer[], $2::timestamptz[], $3::bigint[], $4::jsonb[]) as n (domain_id, hour, search_visits, lines)
   where exists (select from domain where id = n.domain_id)
  on conflict (domain_id, hour) do update set search_visits = excluded.search_visits, lines = excluded.lines`

const STORE_DAYS = `
  insert into traffic_folded_day (domain_id, day, search_visits, lines, pages, hits, hourly_pages, hourly_hits, visits, failed)
  select n.domain_id, n.day, n.search_visits, n.lines, n.pages, n.hits, n.hourly_pages::integer[], n.hourly_hits::integer[],
         n.visits, n.failed
    from unnest($1::integer[], $2::date[], $3::bigint[], $4::jsonb[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
                $9::bigint[], $10::bigint[])
         as n (domain_id, day, search_visits, lines, pages, hits, hourly_pages, hourly_hits, visits, failed)
   where exists (select from domain where id = n.domain_id)
  on conflict (domain_id, day) do update set
    search_visits = excluded.search_visits, lines = excluded.lines, pages = excluded.pages, hits = excluded.hits,
    hourly_pages = excluded.hourly_pages, hourly_hits = excluded.hourly_hits, visits = excluded.visits,
    failed = excluded.failed`

type HourRow = { domain_id: DomainId; at: Date; lines: PackedRow }
type DayRow = HourRow & { hourly_pages: number[]; hourly_hits: number[]; visits: number; failed: number }

/** Adds the sums to what is stored of their hours and days. */
async function store(client: Queryable, sums: readonly DomainSums[]): Promise<void> {
  const hours = sums.flatMap(({ domain, hours }) => [...hours].map(([ms, lines]) => ({ domain, ms, lines })))
  const days = sums.flatMap(({ domain, days }) => [...days].map(([ms, day]) => ({ domain, ms, day })))
  const keys = (rows: readonly { domain: DomainId; ms: number }[]) => [
    rows.map(({ domain }) => domain),
    rows.map(({ ms }) => new Date(ms).toISOString()),
  ]
  const ofDomain = new Map(sums.map((each) => [each.domain, each]))

  const knownHours = await client.query<HourRow>({
    name: 'traffic-folded-hours',
    text: READ_HOURS,
    values: keys(hours),
  })
  for (const [at, row] of knownHours.rows.entries()) {
    const hour = ofDomain.get(row.domain_id)!.hours.get(row.at.getTime())!
    hour.addStored(unpackRow(row.lines))
    if (at % DOMAINS_IN_A_ROW === 0) await othersFirst()
  }
  const knownDays = await client.query<DayRow>({
    name: 'traffic-folded-days',
    text: READ_DAYS,
    values: keys(days),
  })
  for (const [at, row] of knownDays.rows.entries()) {
    const day = ofDomain.get(row.domain_id)!.days.get(row.at.getTime())!
    day.lines.addStored(unpackRow(row.lines))
    for (let hour = 0; hour < 24; hour++) {
      const pages = row.hourly_pages[hour]!
      const hits = row.hourly_hits[hour]!
      day.addTotals(hour, { pages, hits, visits: 0, failed: 0 })
    }
    day.addTotals(0, { pages: 0, hits: 0, visits: row.visits, failed: row.failed })
    if (at % DOMAINS_IN_A_ROW === 0) await othersFirst()
  }

  const packedHours = hours.map(({ lines }) => lines.pack())
  await client.query({
    name: 'traffic-store-hours',
    text: STORE_HOURS,
    values: [
      ...keys(hours),
      packedHours.map((lines) => totalsOf(lines).searchVisits),
      packedHours.map((lines) => JSON.stringify(packRow(lines))),
    ],
  })
  const packedDays = days.map(({ day }) => day.lines.pack())
  await client.query({
    name: 'traffic-store-days',
    text: STORE_DAYS,
    values: [
      ...keys(days),
      packedDays.map((lines) => totalsOf(lines).searchVisits),
      packedDays.map((lines) => JSON.stringify(packRow(lines))),
      days.map(({ day }) => sumOf(day.hourlyPages)),
      days.map(({ day }) => sumOf(day.hourlyHits)),
      days.map(({ day }) => `{${day.hourlyPages.join()}}`),
      days.map(({ day }) => `{${day.hourlyHits.join()}}`),
      days.map(({ day }) => day.visits),
      days.map(({ day }) => day.failed),
    ],
  })
}

function sumOf(hours: readonly number[]): number {
  return hours.reduce((sum, count) => sum + count, 0)
}
