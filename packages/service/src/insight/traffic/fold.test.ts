/** Counts are written by minute, and added up by one node. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { KNOWN_CRAWLERS } from '@prepaint/contract/crawlers/known-crawlers.ts'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import { stepOf, TIME_STEPS, type TimeRange } from '@prepaint/contract/traffic/time-range.ts'
import { NO_PAGES } from '@prepaint/contract/traffic/verdict-kind.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { until } from '../../../../../test/support/condition.ts'
import { openTestDatabase, waitingForLocks } from '../../../../../test/support/database.ts'
import {
  addTestDomain,
  GOOGLEBOT,
  GPTBOT,
  NOON_MS,
  startTestTraffic,
  startTrafficProcess,
  storedLines,
  type TestVisit,
} from '../../../../../test/support/traffic.ts'
import { CRAWLER_NAMES } from './crawler-numbers.ts'
import { foldMinutes, TrafficFold } from './fold.ts'
import { LINES_OF_ROW, LineSums, type PackedLine, packRow, unpackRow } from './packed-lines.ts'
import { readTraffic } from './read-traffic.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const HIT = { path: '/' }

const database = await openTestDatabase()
const { pool } = database
let domains = 0
const newDomain = (): Promise<DomainId> => addTestDomain(pool, `d${++domains}.example.com`)

async function accountOf(domain: DomainId): Promise<AccountId> {
  return (await database.column<AccountId>('select account_id from domain where id = $1', domain))[0]!
}

async function trafficOf(domain: DomainId, range: TimeRange) {
  return readTraffic(pool, { account: await accountOf(domain), domains: [domain] }, range)
}

/** How many rows of a domain are not added up yet, and how many are. */
async function rowsOf(domain: DomainId): Promise<{ minutes: number; hours: number; days: number }> {
  const count = async (table: string) =>
    (await database.column<number>(`select count(*)::int from ${table} where domain_id = $1`, domain))[0]!
  return {
    minutes: await count('traffic_minute'),
    hours: await count('traffic_folded_hour'),
    days: await count('traffic_folded_day'),
  }
}

/** Numbers from 0 to 1, the same in each run. */
function createRandom(): () => number {
  let state = 1
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

type Visit = TestVisit & { atMs: number; status: number; seconds: number; verdict: string; agent: string }

/** Visits of two days, around a midnight. */
function visitsAround(midnightMs: number, count: number): Visit[] {
  const random = createRandom()
  const one = <Each>(list: readonly Each[]) => list[Math.floor(random() * list.length)]!
  return Array.from({ length: count }, () => {
    const isPerson = random() < 0.3
    const crawler = one(['search', 'ai', 'social', 'seo'])
    const visit: Visit = {
      atMs: Math.floor(midnightMs + (random() - 0.5) * 40 * HOUR_MS),
      status: one([200, 200, 200, 304, 404, 503, 0]),
      seconds: 0.000_05 * 1.5 ** Math.floor(random() * 30),
      verdict: isPerson
        ? 'pass; not-a-crawler'
        : one(['hit', 'hit', 'stale', 'rendered', 'pass; timed-out', 'pass; asset']),
      crawler: isPerson ? null : crawler,
      agent: isPerson ? 'Mozilla/5.0' : one([GOOGLEBOT, GPTBOT, 'bingbot/2.0', 'InventedBot/7']),
    }
    if (!isPerson) visit.path = one(['/', '/shop'])
    if (!isPerson) visit.form = one(['html', 'markdown', 'card'])
    return visit
  })
}

/** Stores visits as 0.2.0 did: a row for each line, by hour and by day. */
async function storeAsBefore(domain: DomainId, visits: readonly Visit[]): Promise<void> {
  const lines = new Map<
    string,
    Record<string, unknown> & { counts: Record<string, number>; times: number[] }
  >()
  for (const { atMs, status, seconds, verdict, crawler, agent, form } of visits) {
    const isPerson = crawler === null
    const known = KNOWN_CRAWLERS.find(({ name }) => agent.toLowerCase().includes(name.toLowerCase()))
    const name = isPerson ? '' : (known?.name ?? 'other')
    for (const [table, step] of [
      ['traffic_hour', HOUR_MS],
      ['traffic_day', DAY_MS],
    ] as const) {
      const at = new Date(Math.floor(atMs / step) * step).toISOString()
      const key = [table, at, crawler, name, verdict].join()
      const line = lines.get(key) ?? {
        ...{ table, at, category: crawler ?? 'people', crawler: name, verdict },
        counts: {
          visits: 0,
          status_3xx: 0,
          status_4xx: 0,
          status_5xx: 0,
          unanswered: 0,
          markdown: 0,
          cards: 0,
        },
        times: new Array<number>(TIME_STEPS).fill(0),
      }
      lines.set(key, line)
      line.counts['visits']!++
      const statusName = status === 0 ? 'unanswered' : `status_${Math.floor(status / 100)}xx`
      if (statusName in line.counts) line.counts[statusName]!++
      if (form === 'markdown') line.counts['markdown']!++
      if (form === 'card') line.counts['cards']!++
      line.times[stepOf(seconds)]!++
    }
  }
  for (const { table, at, category, crawler, verdict, counts, times } of lines.values()) {
    const names = Object.keys(counts)
    await pool.query(
      `insert into ${table} (domain_id, ${table === 'traffic_hour' ? 'hour' : 'day'}, category, crawler, verdict, times, ${names})
       values ($1, $2, $3, $4, $5, $6, ${names.map((_, index) => `$${index + 7}`)})`,
      [domain, at, category, crawler, verdict, times, ...Object.values(counts)],
    )
  }
}

describe('the figures', () => {
  it('of each hour and day equal those of the old way on the same requests, before and after they are added up', async () => {
    const [counted, before] = [await newDomain(), await newDomain()]
    const midnightMs = Math.floor(NOON_MS / DAY_MS) * DAY_MS
    const visits = visitsAround(midnightMs, 3_000)
    await storeAsBefore(before, visits)
    const ranges = [
      { fromMs: midnightMs - DAY_MS, toMs: midnightMs + DAY_MS, step: 'hour' },
      { fromMs: midnightMs - DAY_MS, toMs: midnightMs + DAY_MS, step: 'day' },
    ] as const
    const compare = async (when: string) => {
      for (const range of ranges) {
        assert.deepEqual(
          await trafficOf(counted, range),
          await trafficOf(before, range),
          `${when}, by ${range.step}`,
        )
      }
    }

    let nowMs = 0
    const nodes = Array.from({ length: 3 }, () => startTestTraffic(pool, { nowMs: () => nowMs }))
    // Each node gets every third visit, in the order of time.
    const inOrder = visits.toSorted((one, other) => one.atMs - other.atMs)
    for (const [at, visit] of inOrder.entries()) {
      nowMs = visit.atMs
      nodes[at % 3]!.visit(counted, visit)
      if (at % 50 === 0) await nodes[at % 3]!.flush()
      if (at % 700 === 699) await foldMinutes(pool)
    }
    for (const node of nodes) await node.close()
    const { minutes } = await rowsOf(counted)
    assert.ok(minutes > 100, 'some minutes are not added up yet')
    await compare('partly added up')
    await foldMinutes(pool, { domainsAtOnce: 1 })
    assert.deepEqual(await rowsOf(counted), {
      minutes: 0,
      hours: new Set(visits.map(({ atMs }) => Math.floor(atMs / HOUR_MS))).size,
      days: 2,
    })
    await compare('all added up')
  })

  it('of a domain that 0.2.0 counted, too, are those of both ways together', async () => {
    const domain = await newDomain()
    const visits = visitsAround(NOON_MS, 40).map((visit) => ({ ...visit, atMs: NOON_MS }))
    await storeAsBefore(domain, visits)
    const traffic = startTestTraffic(pool)
    for (const visit of visits) traffic.visit(domain, visit)
    await traffic.close()
    const hourMs = NOON_MS - (NOON_MS % HOUR_MS)
    const range = { fromMs: hourMs, toMs: hourMs + HOUR_MS, step: 'hour' } as const
    const { totals } = await trafficOf(domain, range)
    const people = visits.filter(({ crawler }) => crawler === null).length
    assert.deepEqual([totals.visits, totals.people], [2 * (visits.length - people), 2 * people])
  })
})

describe('adding up', () => {
  it('leaves the current minute, and takes the one before', async () => {
    const domain = await newDomain()
    let minuteMs = 0
    do {
      minuteMs = Math.floor(systemClock.nowMs() / MINUTE_MS) * MINUTE_MS
      await pool.query('delete from traffic_minute')
      await pool.query('delete from traffic_folded_hour')
      for (const ms of [minuteMs - MINUTE_MS, minuteMs]) {
        const traffic = startTestTraffic(pool, { nowMs: () => ms })
        traffic.visit(domain, HIT)
        await traffic.close()
      }
      await foldMinutes(pool)
      // A minute that ended meanwhile proves nothing.
    } while (Math.floor(systemClock.nowMs() / MINUTE_MS) * MINUTE_MS !== minuteMs)
    const left = await database.column<Date>('select minute from traffic_minute where domain_id = $1', domain)
    assert.deepEqual(left, [new Date(minuteMs)])
    assert.equal((await rowsOf(domain)).hours, 1)
    await pool.query('delete from traffic_minute')
  })

  it('adds a minute that comes late to its hour', async () => {
    const domain = await newDomain()
    let nowMs = NOON_MS
    const traffic = startTestTraffic(pool, { nowMs: () => nowMs })
    traffic.visit(domain, HIT)
    nowMs += HOUR_MS
    await traffic.flush()
    await foldMinutes(pool)
    const late = startTestTraffic(pool, { nowMs: () => NOON_MS })
    late.visit(domain, HIT)
    await late.close()
    await foldMinutes(pool)
    await traffic.close()
    assert.deepEqual(await storedLines(pool, domain), ['12:00 search Googlebot hit 2'])
    assert.deepEqual(await rowsOf(domain), { minutes: 0, hours: 1, days: 1 })
  })

  it('goes on while a node compares the counts of the queue', async () => {
    const traffic = startTestTraffic(pool, { nowMs: () => NOON_MS })
    traffic.visit(await newDomain(), HIT)
    await traffic.close()
    await transaction(pool, async (client) => {
      await client.query('select pg_advisory_xact_lock(7226, 2)')
      assert.equal(await foldMinutes(pool), 1)
    })
  })

  it('by several nodes at the same time adds each row once', async () => {
    const all = await Promise.all(Array.from({ length: 30 }, newDomain))
    const traffic = startTestTraffic(pool)
    for (let round = 0; round < 4; round++) {
      for (const domain of all) traffic.visit(domain, HIT)
      await traffic.flush()
      await Promise.all(Array.from({ length: 4 }, () => foldMinutes(pool, { domainsAtOnce: 7 })))
    }
    await traffic.close()
    await foldMinutes(pool)
    for (const domain of all) {
      assert.deepEqual(await storedLines(pool, domain), ['12:00 search Googlebot hit 4'])
      assert.deepEqual(await rowsOf(domain), { minutes: 0, hours: 1, days: 1 })
    }
  })

  it('keeps a row that is written meanwhile for the next time', async () => {
    const domain = await newDomain()
    const traffic = startTestTraffic(pool)
    traffic.visit(domain, HIT)
    await traffic.flush()
    await foldMinutes(pool)
    traffic.visit(domain, HIT)
    await traffic.flush()
    // The second fold has read its rows, and waits to store their sum.
    const holder = await pool.connect()
    await holder.query('begin')
    await holder.query('select from traffic_folded_hour where domain_id = $1 for update', [domain])
    const folding = foldMinutes(pool)
    await until('the fold waits', async () => (await waitingForLocks(pool)) === 1)
    traffic.visit(domain, HIT)
    await traffic.close()
    await holder.query('commit')
    holder.release()
    await folding
    assert.deepEqual(await storedLines(pool, domain), ['12:00 search Googlebot hit 3'])
  })

  it('drops the counts of a domain that was deleted, and keeps those of others', async () => {
    const [gone, stays] = [await newDomain(), await newDomain()]
    const traffic = startTestTraffic(pool)
    for (const domain of [gone, stays]) traffic.visit(domain, HIT)
    await traffic.close()
    await pool.query('delete from domain where id = $1', [gone])
    await foldMinutes(pool)
    assert.deepEqual(await rowsOf(gone), { minutes: 0, hours: 0, days: 0 })
    assert.deepEqual(await rowsOf(stays), { minutes: 0, hours: 1, days: 1 })
  })

  it('is due again some seconds after the next five minutes, when nodes have flushed', async () => {
    const signal = new AbortController().signal
    for (const [nowMs, againMs] of [
      [0, 15_000],
      [14_999, 1],
      [15_000, 300_000],
      [300_000, 15_000],
    ]) {
      const fold = new TrafficFold(pool, { nowMs: () => NOON_MS + nowMs! })
      assert.equal(await fold.run(null, signal), againMs)
    }
  })

  it('keeps the names of stored lines when new ones do not fit beside them', () => {
    const sums = new LineSums()
    const line = (at: number): PackedLine => ['search', `crawler ${at}`, 'hit', '1=1', 1]
    for (const at of [LINES_OF_ROW - 1, LINES_OF_ROW, 0]) sums.add(line(at))
    sums.addStored(Array.from({ length: LINES_OF_ROW }, (_, at) => line(at)))
    const packed = sums.pack()
    assert.equal(packed.length, LINES_OF_ROW + 1)
    assert.deepEqual(packed[0], ['search', 'crawler 0', 'hit', '1=2', 2])
    assert.deepEqual(packed.slice(-2), [
      ['search', `crawler ${LINES_OF_ROW - 1}`, 'hit', '1=2', 2],
      ['search', 'other', 'hit', '1=1', 1],
    ])
  })

  it('counts crawlers beyond the limit of a row as `other`, and loses no visit', () => {
    const sums = new LineSums()
    const line = (at: number): PackedLine => ['search', `crawler ${at}`, 'hit', '1=1', 1]
    for (let at = 0; at < LINES_OF_ROW; at++) sums.add(line(at))
    assert.equal(
      sums.pack().some(([, crawler]) => crawler === 'other'),
      false,
    )
    sums.add(line(LINES_OF_ROW))
    sums.add(line(0))
    const packed = sums.pack()
    assert.deepEqual(packed.at(-1), ['search', 'other', 'hit', '1=1', 1])
    assert.deepEqual(packed[0], ['search', 'crawler 0', 'hit', '1=2', 2])
    assert.equal(
      packed.reduce((sum, [, , , , visits = 0]) => sum + visits, 0),
      LINES_OF_ROW + 2,
    )
  })
})

it('lines are read as they were stored, whether they count only visits or more', () => {
  const lines: PackedLine[] = [
    ['search', 'Googlebot', 'hit', '10=2,0,1', 3],
    ['search', 'Googlebot', 'rendered', '30=1,1', 2, 0, 1],
    ['ai', 'GPTBot', 'hit', '1=4', 4, 0, 0, 0, 0, 2],
    ['people', '', 'pass; not-a-crawler', '20=7', 7],
  ]
  const stored = packRow(lines)
  assert.deepEqual(stored[0], ['search', 'Googlebot', 'hit|10=2,0,1', 'rendered|30=1,1|2|0|1'])
  assert.deepEqual(unpackRow(stored), lines)
  const names = [...CRAWLER_NAMES, ...NO_PAGES]
  assert.deepEqual(
    names.filter((name) => name.includes('|')),
    [],
  )
})

describe('a node that is killed', () => {
  it('between flush and fold loses nothing: another one adds what it wrote, once', async (t) => {
    const domain = await newDomain()
    const killed = await startTrafficProcess(t, database, domain, 'flush')
    await killed.kill()
    await foldMinutes(pool)
    await foldMinutes(pool)
    assert.deepEqual(await storedLines(pool, domain), ['12:00 search Googlebot hit 5'])
    assert.deepEqual(await rowsOf(domain), { minutes: 0, hours: 1, days: 1 })
  })

  it('in the middle of a fold leaves every row to be added, once', async (t) => {
    const domain = await newDomain()
    const traffic = startTestTraffic(pool)
    traffic.visit(domain, HIT)
    await traffic.flush()
    await foldMinutes(pool)
    traffic.visit(domain, HIT)
    await traffic.close()
    // Hours are stored before days: the fold waits in the middle.
    const holder = await pool.connect()
    await holder.query('begin')
    await holder.query('select from traffic_folded_day where domain_id = $1 for update', [domain])
    const killed = await startTrafficProcess(t, database, domain, 'fold')
    await until('the fold waits', async () => (await waitingForLocks(pool)) === 1)
    await killed.kill()
    await holder.query('commit')
    holder.release()
    assert.deepEqual(await storedLines(pool, domain), ['12:00 search Googlebot hit 2'])
    await until('another node adds them', async () => (await foldMinutes(pool)) === 1)
    assert.deepEqual(await storedLines(pool, domain), ['12:00 search Googlebot hit 2'])
    assert.deepEqual(await rowsOf(domain), { minutes: 0, hours: 1, days: 1 })
  })
})
