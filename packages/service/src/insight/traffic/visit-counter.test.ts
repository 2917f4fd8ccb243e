import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { KNOWN_CRAWLERS } from '@prepaint/contract/crawlers/known-crawlers.ts'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { stepOf } from '@prepaint/contract/traffic/time-range.ts'
import { VisitedNotices } from '@prepaint/pages/store/visited-notices.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { openTestDatabase } from '../../../../../test/support/database.ts'
import {
  addTestDomain,
  GOOGLEBOT,
  GPTBOT,
  NOON_MS,
  startTestTraffic,
  storedLines,
} from '../../../../../test/support/traffic.ts'
import { CRAWLER_NAMES, crawlerNumber, OTHER_CRAWLER } from './crawler-numbers.ts'
import { foldMinutes } from './fold.ts'
import { PATHS_KEPT } from './retention.ts'
import { FEW_DOMAINS, TrafficCounter } from './visit-counter.ts'
import { keyOf, LINES_OF_MINUTE, MINUTE_MS, VisitCounts } from './visit-counts.ts'
import { CountsWriter } from './write-counts.ts'

let domains = 0
const database = await openTestDatabase()

const newDomain = (): Promise<DomainId> => addTestDomain(database.pool, `d${++domains}.example.com`)
/** Counts a hit of Googlebot. */
function count(traffic: TrafficCounter, domain: DomainId): void {
  traffic.count(
    { headers: { 'user-agent': GOOGLEBOT } },
    {
      verdict: 'hit',
      crawler: 'search',
      seconds: 0.001,
      status: 200,
      domain: { id: domain, query: 'keep' },
      page: null,
    },
  )
}

const paths = (domain: DomainId) =>
  database.column<string>(
    `select concat_ws(' ', path, visits, verdict, status) from traffic_path
      where domain_id = $1 and not is_failing order by visits desc, path`,
    domain,
  )

describe('counting live traffic', () => {
  // Proves decided "What counts as traffic"
  it('visits by hour, category, name and verdict; people as one line', async () => {
    const domain = await newDomain()
    let nowMs = NOON_MS
    const traffic = startTestTraffic(database.pool, { nowMs: () => nowMs })
    for (const verdict of ['hit', 'hit', 'rendered', 'pass; late'])
      traffic.visit(domain, { verdict, path: '/' })
    traffic.visit(domain, { crawler: 'ai', agent: GPTBOT, path: '/' })
    traffic.visit(domain, { crawler: 'ai', agent: 'InventedBot/7', path: '/' })
    // The site's own front said that it was a crawler, and nobody else does.
    traffic.visit(domain, { crawler: null, agent: 'curl/8', verdict: 'pass; late' })
    traffic.visit(domain, { verdict: 'hit' })
    traffic.visit(domain, { verdict: 'pass; sitemap' })
    for (let at = 0; at < 3; at++) traffic.visit(domain, { verdict: 'pass; not-a-crawler', crawler: null })
    nowMs += 3_600_000
    traffic.visit(domain, { path: '/' })
    // A clock that is set back opens no hour twice.
    nowMs -= 3_600_000
    traffic.visit(domain, { path: '/' })
    await traffic.close()
    assert.deepEqual(await storedLines(database.pool, domain), [
      '12:00 ai GPTBot hit 1',
      '12:00 ai other hit 1',
      '12:00 other other pass; late 1',
      '12:00 people pass; not-a-crawler 3',
      '12:00 search Googlebot hit 2',
      '12:00 search Googlebot pass; late 1',
      '12:00 search Googlebot rendered 1',
      '12:00 search Googlebot sitemap 2',
      '13:00 search Googlebot hit 2',
    ])
    // Two minutes in one flush.
    const { rows } = await database.pool.query(
      `select to_char(minute at time zone 'UTC', 'HH24:MI') as minute, flush::int, pages, hits from traffic_minute
        where domain_id = $1 order by 1`,
      [domain],
    )
    assert.deepEqual(rows, [
      { minute: '12:30', flush: 1, pages: 7, hits: 4 },
      { minute: '13:30', flush: 1, pages: 2, hits: 2 },
    ])
  })

  it('visits are counted by class of status, and by steps of time up to a minute', async () => {
    const domain = await newDomain()
    const traffic = startTestTraffic(database.pool)
    for (const status of [200, 304, 301, 404, 410, 500, 0]) {
      traffic.visit(domain, { path: '/', status, seconds: status === 404 ? 2 : 0.000_03 })
    }
    await traffic.flush()
    traffic.visit(domain, { path: '/', seconds: 60 })
    await traffic.close()
    const { rows } = await database.pool.query(
      `select sum(visits)::int as visits, sum(status_3xx)::int as status_3xx, sum(status_4xx)::int as status_4xx,
              sum(status_5xx)::int as status_5xx, sum(unanswered)::int as unanswered, sum(times[1])::int as fast,
              sum(times[${stepOf(2) + 1}])::int as slow, sum(times[${stepOf(60) + 1}])::int as slowest
         from traffic_by_hour where domain_id = $1`,
      [domain],
    )
    const statuses = { status_3xx: 2, status_4xx: 2, status_5xx: 1, unanswered: 1 }
    assert.deepEqual(rows, [{ visits: 8, ...statuses, fast: 6, slow: 1, slowest: 1 }])
  })

  it('the crawler that came last, and no earlier one after it', async () => {
    const domain = await newDomain()
    let nowMs = NOON_MS
    const [one, two] = [1, 2].map(() => startTestTraffic(database.pool, { nowMs: () => nowMs }))
    one!.visit(domain)
    nowMs += 1_000
    two!.visit(domain, { crawler: 'ai', agent: GPTBOT })
    nowMs += 1_000
    two!.visit(domain, { crawler: null, verdict: 'pass; not-a-crawler' })
    await two!.close()
    await one!.close()
    const { rows } = await database.pool.query(
      'select crawler, category, seen_at from traffic_last where domain_id = $1',
      [domain],
    )
    assert.deepEqual(rows, [{ crawler: 'GPTBot', category: 'ai', seen_at: new Date(NOON_MS + 1_000) }])
  })
})

describe('the bounds of what is counted', () => {
  // Proves decided "Traffic counts"
  it('names past those of one domain count as other; lines past all are lost, and nothing else is', async () => {
    const [crowded, quiet] = [await newDomain(), await newDomain()]
    const limits = { domainLines: 2, lines: 4 + 2 * LINES_OF_MINUTE, domainPaths: 1, paths: 1 }
    const traffic = startTestTraffic(database.pool, { limits })
    traffic.visit(crowded, { path: '/a' })
    traffic.visit(crowded, { agent: 'bingbot', path: '/b' })
    // The third name, and the fourth with the same verdict.
    traffic.visit(crowded, { agent: 'YandexBot', path: '/c' })
    traffic.visit(crowded, { agent: 'Baiduspider', path: '/d' })
    traffic.visit(quiet, { path: '/a' })
    // There are two minutes and four lines: these need one more each.
    traffic.visit(quiet, { agent: 'bingbot', path: '/a' })
    traffic.visit(await newDomain())
    traffic.visit(quiet, { path: '/a' })
    await traffic.flush()
    assert.deepEqual(await storedLines(database.pool, crowded), [
      '12:00 search Bingbot hit 1',
      '12:00 search Googlebot hit 1',
      '12:00 search other hit 2',
    ])
    assert.deepEqual(await storedLines(database.pool, quiet), ['12:00 search Googlebot hit 2'])
    assert.deepEqual(await paths(crowded), [' 3  0', '/d 1 hit 200'])
    // What was written makes room.
    traffic.visit(quiet, { agent: 'bingbot' })
    await traffic.close()
    assert.equal((await storedLines(database.pool, quiet)).length, 2)
  })

  it('minutes that wait count as lines, so one line in each of them has a bound, too', () => {
    const limits = { domainLines: 2, lines: 2 * (LINES_OF_MINUTE + 1), domainPaths: 1, paths: 1 }
    const counts = new VisitCounts(limits)
    const begin = (at: number) => {
      const minute = counts.takeMinute(1 as DomainId, NOON_MS + at * MINUTE_MS)
      if (minute !== null) counts.add(minute, keyOf('search', OTHER_CRAWLER, 0), 200, 0.001)
      return minute
    }
    assert.notEqual(begin(0), null)
    assert.notEqual(begin(1), null)
    assert.equal(begin(2), null)
    assert.equal(counts.take().lost, 1)
  })

  it('10,000 domains with 24 lines are written when the minute ends, not before', () => {
    const counts = new VisitCounts()
    for (let id = 1; id <= 10_000; id++) {
      const minute = counts.takeMinute(id as DomainId, NOON_MS)!
      for (let verdict = 0; verdict < 24; verdict++) {
        counts.add(minute, keyOf('search', OTHER_CRAWLER, verdict), 200, 0.001)
      }
    }
    assert.equal(counts.isNearlyFull, false)
    assert.equal(counts.take().lost, 0)
  })

  it('ever new paths leave few rows, those that come often, and the number of the rest', async () => {
    const domain = await newDomain()
    const traffic = startTestTraffic(database.pool)
    let asked = 0
    for (let flush = 0; flush < 6; flush++) {
      for (let at = 0; at < 200; at++) {
        traffic.visit(domain, { path: '/often' })
        traffic.visit(domain, { path: `/invented-${flush}-${at}` })
        asked += 2
      }
      await traffic.flush()
    }
    await traffic.close()
    const rows = await paths(domain)
    assert(rows.length > 50 && rows.length <= 2 * PATHS_KEPT + 1, `${rows.length} rows`)
    assert(rows.includes('/often 1200 hit 200'))
    const sql = 'select sum(visits)::int from traffic_path where domain_id = $1 and not is_failing'
    assert.deepEqual(await database.column(sql, domain), [asked])
  })
})

describe('writing what was counted', () => {
  it('happens every five seconds up to 500 domains, and when a minute ends beyond', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let nowMs = NOON_MS + 2_000
    const pass = (ms: number) => {
      nowMs += ms
      t.mock.timers.tick(ms)
    }
    const traffic = new TrafficCounter({} as never, {} as never, { nowMs: () => nowMs }, silentLog())
    const flush = t.mock.method(traffic, 'flush', async () => true)
    const visits = (domains: number) => {
      for (let id = 1; id <= domains; id++) count(traffic, id as DomainId)
    }
    visits(FEW_DOMAINS)
    pass(2_999)
    assert.equal(flush.mock.callCount(), 0)
    pass(1)
    assert.equal(flush.mock.callCount(), 1, 'at a whole multiple of five seconds')
    pass(5_000)
    assert.equal(flush.mock.callCount(), 2)
    visits(FEW_DOMAINS + 1)
    pass(45_000)
    assert.equal(flush.mock.callCount(), 2)
    pass(5_000)
    assert.equal(flush.mock.callCount(), 3, 'at the end of the minute')
  })

  it('happens before the minute ends when nine tenths of the room for lines are in use', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let nowMs = NOON_MS
    const lines = 1_000 * (LINES_OF_MINUTE + 1)
    const limits = { domainLines: 300, lines, domainPaths: 1, paths: 1 }
    const traffic = new TrafficCounter({} as never, {} as never, { nowMs: () => nowMs }, silentLog(), {
      limits,
    })
    const flush = t.mock.method(traffic, 'flush', async () => true)
    const pass = () => {
      nowMs += 5_000
      t.mock.timers.tick(5_000)
    }
    for (let id = 1; id <= 900; id++) count(traffic, id as DomainId)
    pass()
    assert.equal(flush.mock.callCount(), 0)
    count(traffic, 901 as DomainId)
    pass()
    assert.equal(flush.mock.callCount(), 1)
  })

  it('does not begin again while it is under way, and does when it failed', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    let nowMs = NOON_MS
    const pass = (ms: number) => {
      nowMs += ms
      t.mock.timers.tick(ms)
    }
    const connection = Promise.withResolvers<never>()
    const pool = { connect: () => connection.promise }
    const traffic = new TrafficCounter(pool as never, {} as never, { nowMs: () => nowMs }, silentLog())
    const flush = t.mock.method(traffic, 'flush')
    const visits = () => {
      for (let id = 1; id <= FEW_DOMAINS + 1; id++) count(traffic, id as DomainId)
    }
    visits()
    pass(MINUTE_MS)
    assert.equal(flush.mock.callCount(), 1)
    visits()
    pass(5_000)
    assert.equal(flush.mock.callCount(), 1)
    connection.reject(new Error('PostgreSQL is away'))
    assert.equal(await flush.mock.calls[0]!.result, false)
    pass(5_000)
    assert.equal(flush.mock.callCount(), 2)
  })

  it('keeps verdict and status of the newest visit of a path, also of two minutes', async () => {
    const domain = await newDomain()
    let nowMs = NOON_MS
    const traffic = startTestTraffic(database.pool, { nowMs: () => nowMs })
    traffic.visit(domain, { path: '/', verdict: 'rendered', status: 404 })
    nowMs += MINUTE_MS
    traffic.visit(domain, { path: '/', verdict: 'hit', status: 200 })
    await traffic.close()
    assert.deepEqual(await paths(domain), ['/ 2 hit 200'])
  })

  it('a flush that is repeated after its rows were added up writes nothing', async () => {
    const domain = await newDomain()
    const counts = new VisitCounts()
    const writer = new CountsWriter(
      database.pool,
      randomUUID(),
      counts,
      new VisitedNotices(database.pool, silentLog()),
    )
    const minute = counts.takeMinute(domain, NOON_MS)!
    counts.add(minute, keyOf('search', OTHER_CRAWLER, counts.takeVerdictNumber('hit')), 200, 0.001)
    const { minutes } = counts.take()
    await writer.write(7, minutes, NOON_MS)
    await foldMinutes(database.pool)
    for (const flush of [7, 6]) await writer.write(flush, minutes, NOON_MS)
    assert.deepEqual(await storedLines(database.pool, domain), ['12:00 search other hit 1'])
    await writer.write(8, minutes, NOON_MS)
    assert.deepEqual(await storedLines(database.pool, domain), ['12:00 search other hit 2'])
  })

  it('nodes add up, whatever they write at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, newDomain))
    const nodes = Array.from({ length: 4 }, () => startTestTraffic(database.pool))
    for (let round = 0; round < 5; round++) {
      for (const [at, node] of nodes.entries()) {
        // Each in another order.
        for (const domain of at % 2 === 0 ? all : all.toReversed()) node.visit(domain, { path: '/' })
      }
      await Promise.all(nodes.map((node) => node.flush()))
    }
    await Promise.all(nodes.map((node) => node.close()))
    for (const domain of all) {
      assert.deepEqual(await storedLines(database.pool, domain), ['12:00 search Googlebot hit 20'])
      assert.deepEqual(await paths(domain), ['/ 20 hit 200'])
    }
  })

  // Proves decided "Traffic counts"
  it('while PostgreSQL is away nothing is lost, also where it comes back only at the end', async (t) => {
    const domain = await newDomain()
    let nowMs = NOON_MS
    const traffic = startTestTraffic(database.pool, { nowMs: () => nowMs })
    const away = t.mock.method(database.pool, 'connect', async () => {
      throw new Error('PostgreSQL is away')
    })
    for (let hour = 0; hour < 2; hour++) {
      traffic.visit(domain, { path: '/' })
      await traffic.flush()
      nowMs += 3_600_000
    }
    const closed = traffic.close()
    assert.equal(away.mock.callCount(), 3)
    away.mock.restore()
    await closed
    const lines = ['12:00 search Googlebot hit 1', '13:00 search Googlebot hit 1']
    assert.deepEqual(await storedLines(database.pool, domain), lines)
  })

  it('a batch whose commit was not answered is not added twice', async (t) => {
    const domain = await newDomain()
    const traffic = startTestTraffic(database.pool)
    traffic.visit(domain, { path: '/' })
    const client = await database.pool.connect()
    const query = client.query.bind(client) as (...asked: unknown[]) => Promise<unknown>
    const broken = async (...asked: unknown[]) => {
      const result = await query(...asked)
      if (asked[0] === 'commit') throw new Error('the connection broke off')
      return result
    }
    t.mock.method(client, 'query', broken as typeof client.query)
    t.mock.method(database.pool, 'connect', async () => client)
    await traffic.flush()
    t.mock.restoreAll()
    traffic.visit(domain, { path: '/' })
    await traffic.close()
    assert.deepEqual(await storedLines(database.pool, domain), ['12:00 search Googlebot hit 2'])
    assert.deepEqual(await paths(domain), ['/ 2 hit 200'])
  })

  it('a domain that is gone, or a path that cannot be stored, takes nothing else with it', async () => {
    const [gone, stays] = [await newDomain(), await newDomain()]
    const traffic = startTestTraffic(database.pool)
    traffic.visit(gone, { path: '/' })
    traffic.visit(stays, { path: '/' })
    await database.pool.query('delete from domain where id = $1', [gone])
    await traffic.flush()
    // PostgreSQL can never store it.
    traffic.visit(stays, { path: '/a\0b' })
    await traffic.flush()
    traffic.visit(stays, { path: '/' })
    await traffic.close()
    await foldMinutes(database.pool)
    assert.deepEqual(await storedLines(database.pool, stays), ['12:00 search Googlebot hit 2'])
    assert.deepEqual(await storedLines(database.pool, gone), [])
  })
})

it('each known crawler has one number, whichever of its user agents asks; invented names are `other`', () => {
  for (const userAgent of ['MyOwnBot/1.0', `${'x'.repeat(512)}googlebot`, '', undefined]) {
    assert.equal(crawlerNumber(userAgent), OTHER_CRAWLER)
  }
  const names = new Set(KNOWN_CRAWLERS.map(({ name }) => name))
  assert.deepEqual(CRAWLER_NAMES, [...names, 'other'])
  const sogou = [
    'Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)',
    'Sogou Pic Spider/3.0',
  ]
  assert.deepEqual([...new Set(sogou.map(crawlerNumber))], [CRAWLER_NAMES.indexOf('Sogou')])
  assert(CRAWLER_NAMES.length < 256, 'numbers of names are packed into eight bits')
})
