import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assertAnswer, openApi, TEST_START_MS, valuesOf } from '../../../test/support/api.ts'
import { GPTBOT, startTestTraffic, type TestVisit } from '../../../test/support/traffic.ts'
import type { DomainId } from '../../ids.ts'
import { readRenders } from '../../insight/traffic/read-renders.ts'
import { readPaths, readSummaries } from '../../insight/traffic/read-summaries.ts'
import { readTraffic, type TrafficOf } from '../../insight/traffic/read-traffic.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const BINGBOT = 'Mozilla/5.0 (compatible; bingbot/2.0)'

const api = await openApi()
const owner = await api.account()
const shop = (await api.domain(owner, 'shop.example.com')).id
const blog = (await api.domain(owner, 'blog.example.com')).id
const other = (await api.domain(await api.account(), 'other.example.com')).id

await visits(shop, 0, [
  ...several(6, { path: '/', verdict: 'hit', seconds: 0.001 }),
  { path: '/gone', verdict: 'rendered', status: 404, seconds: 0.5 },
  { path: '/', verdict: 'stale', crawler: 'ai', agent: GPTBOT, seconds: 0.001 },
  { url: '/slow', verdict: 'pass; timed-out', agent: BINGBOT, seconds: 10 },
  { url: '/app.js', verdict: 'pass; asset', seconds: 3 },
  { verdict: 'pass; sitemap' },
  ...several(4, { crawler: null, verdict: 'pass; not-a-crawler', seconds: 0.1 }),
])
await visits(shop, -HOUR_MS, [{ path: '/=1+1', verdict: 'rendered', seconds: 2 }])
await visits(shop, -3 * DAY_MS, several(3, { path: '/', verdict: 'rendered' }))
await visits(shop, -89 * DAY_MS, [{ path: '/old' }])
await visits(blog, 0, several(2, { path: '/blog', crawler: 'ai', agent: GPTBOT }))
await visits(other, 0, several(50, { path: '/other' }))

async function visits(domain: DomainId, fromNowMs: number, all: readonly TestVisit[]): Promise<void> {
  const traffic = startTestTraffic(api.pool, { nowMs: () => TEST_START_MS + fromNowMs })
  for (const visit of all) traffic.visit(domain, visit)
  await traffic.close()
}

function several(count: number, visit: TestVisit): TestVisit[] {
  return Array.from({ length: count }, () => visit)
}

type Listed = { name: string; total: number }
type Traffic = {
  times: string[]
  totals: Record<string, number | null>
  categories: Listed[]
  crawlers: (Listed & { category: string })[]
  verdicts: (Listed & { kind: string; p50_ms: number; visits: number[] })[]
  statuses: Listed[]
  hit_ratio: (number | null)[]
  p50_ms: (number | null)[]
  people: { total: number; visits: number[] }
}

async function traffic(path: string, key = owner.key): Promise<Traffic & { from: string; step: string }> {
  const { status, body, text } = await api.get(path, key)
  assert.equal(status, 200, text)
  return { ...(body['traffic'] as Traffic), from: body['from'] as string, step: body['step'] as string }
}
const totals = (listed: readonly Listed[]) => listed.map(({ name, total }) => `${name} ${total}`)

describe('GET /api/domains/:domain/traffic', () => {
  // Proves decided "Traffic"
  it('200: the last 24 hours, by category, crawler, verdict and status; people beside them', async () => {
    const found = await traffic('/api/domains/SHOP.example.com/traffic')
    assert.deepEqual([found.step, found.from], ['hour', '2026-11-14T12:00:00.000Z'])
    assert.deepEqual([found.times.length, found.times[0]], [25, '2026-11-14T12:00:00.000Z'])
    const { p50_ms, p95_ms, ...counts } = found.totals
    assert.deepEqual(counts, {
      ...{ visits: 12, pages: 10, people: 4, hit_ratio: 0.7 },
      ...{ hit: 6, stale: 1, rendered: 2, failed: 1, passed: 1, sitemap: 1 },
    })
    // Seven of ten took a millisecond; the slowest is in the twentieth part.
    assert(p50_ms! > 0.8 && p50_ms! < 1.2, `${p50_ms}`)
    assert(p95_ms! > 7_000 && p95_ms! < 12_000, `${p95_ms}`)
    assert.deepEqual(totals(found.categories), ['search 11', 'ai 1'])
    assert.deepEqual(totals(found.crawlers), ['Googlebot 10', 'Bingbot 1', 'GPTBot 1'])
    const verdicts = found.verdicts.map(({ name, kind, total }) => `${name} (${kind}) ${total}`)
    assert.deepEqual(verdicts.slice(0, 3), ['hit (hit) 6', 'rendered (rendered) 2', 'pass; asset (passed) 1'])
    assert.deepEqual(totals(found.statuses), ['2xx 11', '3xx 0', '4xx 1', '5xx 0', 'none 0'])
    assert.deepEqual(found.hit_ratio.slice(-2), [0, 0.7778])
    assert.deepEqual([found.hit_ratio[0], found.p50_ms[0]], [null, null])
    assert.deepEqual([found.people.total, found.people.visits.at(-1)], [4, 4])
    assert.deepEqual(found.verdicts[1]!.visits.slice(-2), [1, 1])
  })

  // Proves decided "Traffic"
  it('200: by UTC days, as far back as it is kept', async () => {
    const found = await traffic('/api/domains/shop.example.com/traffic?from=2026-08-18&step=day')
    assert.deepEqual([found.times.length, found.times[0]], [90, '2026-08-18T00:00:00.000Z'])
    assert.deepEqual(
      found.times.flatMap((time, at) => {
        const count = found.verdicts.reduce((sum, { visits }) => sum + visits[at]!, 0)
        return count === 0 ? [] : [`${time.slice(0, 10)} ${count}`]
      }),
      ['2026-08-18 1', '2026-11-12 3', '2026-11-15 12'],
    )
  })

  // Proves decided "CSV"
  it('200: CSV by `format` and by `Accept`; JSON to everybody else', async () => {
    const path = '/api/domains/shop.example.com/traffic?from=2026-11-15T11:00Z'
    const { text, headers } = await api.get(`${path}&format=csv`, owner.key)
    assert.equal(headers.get('content-type'), 'text/csv; charset=utf-8')
    assert.match(headers.get('content-disposition')!, /filename="traffic-shop.example.com-2026-11-15.csv"$/)
    const [names, , twelve, rest] = text.split('\r\n')
    assert.match(
      names!,
      /^time,visits,people,hit,.*,category search,.*,"verdict pass; asset",.*,device mobile$/,
    )
    assert.match(
      twelve!,
      /^2026-11-15T12:00:00\.000Z,11,4,6,1,1,1,1,1,0\.7778,[\d.]+,[\d.]+,10,1,9,1,1,6,1,1,1,1,1,10,0,1,0,0,8,0,0,8,0$/,
    )
    assert.equal(names!.split(',').length, twelve!.split(',').length)
    assert.equal(rest, '')

    const typeFor = async (accept: string, query = '') => {
      const answer = await api.call('GET', path + query, { key: owner.key, headers: { accept } })
      return answer.headers.get('content-type')?.split(';', 1)[0]
    }
    assert.equal(await typeFor('application/json;q=0.5, Text/CSV;q=0.9'), 'text/csv')
    assert.equal(await typeFor('text/csv;q=0.5, */*'), 'application/json')
    assert.equal(await typeFor('text/csv', '&format=json'), 'application/json')
  })

  // Proves decided "Traffic"
  it('400: what is wrong with the range is named', async () => {
    const cases = {
      'from=2026-11-16': 'from must not lie in the future',
      'to=1969-12-31': 'to must be a day (2026-11-01) or a moment in UTC (2026-11-01T12:00:00Z)',
      'step=week': 'step must be "hour" or "day"',
    }
    for (const [query, error] of Object.entries(cases)) {
      assertAnswer(await api.get(`/api/domains/shop.example.com/traffic?${query}`, owner.key), 400, error)
    }
  })
})

describe('GET /api/domains/:domain/traffic/paths', () => {
  const paths = async (query = '') =>
    (await api.get(`/api/domains/shop.example.com/traffic/paths${query}`, owner.key)).body

  // Proves decided "Traffic by path"
  it('200: what was asked for most, and what failed most, in whole days', async () => {
    assert.deepEqual(await paths('?from=2026-11-15'), {
      domain: 'shop.example.com',
      ...{ from: '2026-11-15', to: '2026-11-15' },
      top: [
        { path: '/', visits: 7, verdict: 'stale', status: 200 },
        { path: '/=1+1', visits: 1, verdict: 'rendered', status: 200 },
        { path: '/gone', visits: 1, verdict: 'rendered', status: 404 },
        { path: '/slow', visits: 1, verdict: 'pass; timed-out', status: 200 },
      ],
      failing: [
        { path: '/gone', visits: 1, verdict: 'rendered', status: 404 },
        { path: '/slow', visits: 1, verdict: 'pass; timed-out', status: 200 },
      ],
      others: { top: 0, failing: 0 },
    })
    const { from, top } = await paths('?limit=1')
    assert.deepEqual([from, top], ['2026-10-16', [{ path: '/', visits: 10, verdict: 'stale', status: 200 }]])
  })

  it('200: visits to paths that are not told apart are counted', async () => {
    await api.pool.query(`insert into traffic_path values ($1, '2026-11-01', false, '', 12, '', 0)`, [shop])
    assert.deepEqual((await paths())['others'], { top: 12, failing: 0 })
    const path = '/api/domains/shop.example.com/traffic/paths?format=csv&limit=1'
    const rows = ['top,/,10,stale,200', 'top,all others,12,,', 'failing,/gone,1,rendered,404', '']
    assert.deepEqual((await api.get(path, owner.key)).text.split('\r\n').slice(1), rows)
  })

  // Proves decided "Traffic by path"
  it('400: as many paths as may be asked for, and one more', async () => {
    for (const limit of [1, 300]) assert('top' in (await paths(`?limit=${limit}`)))
    const wrong = { 0: 'must be at least 1', 301: 'must be at most 300', 1.5: 'must be an integer' }
    for (const [limit, words] of Object.entries(wrong)) {
      assert.deepEqual(await paths(`?limit=${limit}`), { error: `limit ${words}` })
    }
  })
})

describe('GET /api/domains/:domain/traffic/renders', () => {
  const month = (path = '') => api.get(`/api/domains/shop.example.com/traffic/renders${path}`, owner.key)

  // Proves decided "Monthly renders"
  it('200: the forecast is of the last seven whole days; of today only what has been counts', async () => {
    assert.equal((await month()).body['forecast'], null)
    await api.pool.query(`update domain set created_at = '2026-01-01' where id = $1`, [shop])
    await api.pool.query(
      `insert into render_count values ($1, '2026-11-01', 500), ($1, '2026-10-01', 9999)`,
      [shop],
    )
    await api.pool.query(
      `insert into render_day values ($1, '2026-11-07', 9999), ($1, '2026-11-08', 10), ($1, '2026-11-09', 10),
        ($1, '2026-11-10', 40), ($1, '2026-11-11', 40), ($1, '2026-11-12', 400), ($1, '2026-11-13', 40), ($1, '2026-11-15', 77)`,
      [shop],
    )
    const { body } = await month()
    assert.deepEqual(body['forecast'], {
      per_day: 40,
      days_left: 15.48,
      renders: Math.round(500 + 40 * (15 + 11.5 / 24)),
      reaches_limit_on: null,
    })
    const lines = (await month('?format=csv')).text.split('\r\n')
    assert.equal(lines[0], 'day,renders,renders_of_month,limit,forecast_of_month')
    assert.deepEqual(lines.slice(-3), ['2026-11-14,0,10539,200000,', '2026-11-15,77,10616,200000,1119', ''])
  })
})

describe('GET /api/traffic and /api/traffic/domains', () => {
  // Proves decided "Traffic"
  it("200: all domains of the account together, and no other's", async () => {
    const found = await traffic('/api/traffic')
    assert.deepEqual([found.totals['visits'], found.totals['people']], [14, 4])
    assert.deepEqual(totals(found.categories), ['search 11', 'ai 3'])
  })

  // Proves decided "Traffic summary of domains"
  it('200: each domain by name, with what its last day and week were like and who came last', async () => {
    await api.domain(owner, 'new.example.com')
    const { body } = await api.get('/api/traffic/domains', owner.key)
    const domains = body['domains'] as Record<string, unknown>[]
    assert.deepEqual(valuesOf(domains, 'domain'), ['blog.example.com', 'new.example.com', 'shop.example.com'])
    const pages = (pages: number, hit_ratio: number | null) => ({ pages, hit_ratio })
    assert.deepEqual(valuesOf(domains, 'day'), [pages(2, 1), pages(0, null), pages(10, 0.7)])
    assert.deepEqual(valuesOf(domains, 'week'), [pages(2, 1), pages(0, null), pages(13, 0.5385)])
    const at = new Date(TEST_START_MS).toISOString()
    assert.deepEqual(valuesOf(domains, 'last_crawler'), [
      { name: 'GPTBot', category: 'ai', at },
      null,
      { name: 'Googlebot', category: 'search', at },
    ])
    const { used, limit } = domains[2]!['renders'] as { used: number; limit: number }
    assert.deepEqual([used, limit], [500, 200_000])
  })
})

it("what is read is the account's own, each time by SQL: also where another's domain is named", async () => {
  const stranger = await api.account()
  const { account, domain } = { account: stranger.id, domain: shop }
  const range = { fromMs: Date.UTC(2026, 10, 15), toMs: Date.UTC(2026, 10, 16), step: 'day' } as const
  const days = { from: '2026-11-01', to: '2026-11-30' }
  const found = async (of: TrafficOf) => {
    const { totals } = await readTraffic(api.pool, of, range)
    const { top, failing } = await readPaths(api.pool, of, days, 10)
    const renders = await readRenders(api.pool, of, 100, TEST_START_MS)
    const summaries = await readSummaries(api.pool, of.account, TEST_START_MS)
    return [totals.visits, totals.people, top.length, failing.length, renders.length, summaries.length]
  }
  for (const each of [domain, null]) {
    assert.deepEqual(await found({ account, domain: each }), [0, 0, 0, 0, 0, 0])
  }
  assert.deepEqual(await found({ account: owner.id, domain }), [12, 4, 4, 2, 1, 3])
})

describe('GET /api/plan', () => {
  // Proves decided "Plan"
  it('200: what the plan allows and how much of it is in use', async () => {
    const { body } = await api.get('/api/plan', owner.key)
    assert.deepEqual(body['plan'], {
      name: 'agency_plus',
      sites: { used: 3, limit: 100 },
      renders: { used: 500, limit_per_domain: 200_000, stops_at: 240_000 },
      api_keys: { included: true, used: 1, limit: 5 },
      webhooks: { included: true, used: 0, limit_per_domain: 5, requests_per_hour: 10, urls_per_request: 20 },
      requests: { paths_per_refresh: 1_000, body_bytes: 1_048_576 },
    })
  })
})
