import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import { readRenders } from '@prepaint/service/insight/traffic/read-renders.ts'
import { readPaths } from '@prepaint/service/insight/traffic/read-summaries.ts'
import { readTraffic } from '@prepaint/service/insight/traffic/read-traffic.ts'
import { assertAnswer, openApi, TEST_START_MS, valuesOf } from '../../../../test/support/api.ts'
import { GPTBOT, startTestTraffic, type TestVisit } from '../../../../test/support/traffic.ts'

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
  from: string
  step: string
  times: string[]
  totals: Record<string, number | null>
  categories: Listed[]
  crawlers: Listed[]
  verdicts: (Listed & { kind: string; visits: number[] })[]
  statuses: Listed[]
  hit_ratio: (number | null)[]
  p50_ms: (number | null)[]
  people: { total: number; visits: number[] }
}

const OF_SHOP = '/api/domains/shop.example.com/traffic'
const get = (path: string) => api.get(path, owner.key)
async function traffic(path: string): Promise<Traffic> {
  const { status, body, text } = await get(path)
  assert.equal(status, 200, text)
  return { ...body, ...(body['traffic'] as object) } as Traffic
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
      ...{ hit: 6, stale: 1, rendered: 2, failed: 1, soft_404: 0, passed: 1, sitemap: 1 },
    })
    // Seven of ten took a millisecond; the slowest is in the twentieth part.
    assert(p50_ms! > 0.8 && p50_ms! < 1.2, `${p50_ms}`)
    assert(p95_ms! > 7_000 && p95_ms! < 12_000, `${p95_ms}`)
    assert.deepEqual(totals(found.categories), ['search 11', 'ai 1'])
    assert.deepEqual(totals(found.crawlers), ['Googlebot 10', 'Bingbot 1', 'GPTBot 1'])
    const verdicts = found.verdicts.map(({ name, kind, total }) => `${name} (${kind}) ${total}`)
    assert.deepEqual(verdicts.slice(0, 3), ['hit (hit) 6', 'rendered (rendered) 2', 'pass; asset (passed) 1'])
    assert.deepEqual(found.verdicts[1]!.visits.slice(-2), [1, 1])
    assert.deepEqual(totals(found.statuses), ['2xx 11', '3xx 0', '4xx 1', '5xx 0', 'none 0'])
    assert.deepEqual([found.hit_ratio[0], ...found.hit_ratio.slice(-2)], [null, 0, 0.7778])
    assert.deepEqual([found.p50_ms[0], found.people.total, found.people.visits.at(-1)], [null, 4, 4])
  })

  // Proves decided "Traffic"
  it('200: by UTC days, as far back as it is kept; 400: what is wrong with the range is named', async () => {
    const found = await traffic(`${OF_SHOP}?from=2026-08-18&step=day`)
    assert.deepEqual([found.times.length, found.times[0]], [90, '2026-08-18T00:00:00.000Z'])
    const days = found.times.map((time, at) => {
      return `${time.slice(0, 10)} ${found.verdicts.reduce((sum, { visits }) => sum + visits[at]!, 0)}`
    })
    const busy = days.filter((day) => !day.endsWith(' 0'))
    assert.deepEqual(busy, ['2026-08-18 1', '2026-11-12 3', '2026-11-15 12'])
    assertAnswer(await get(`${OF_SHOP}?from=2026-11-16`), 400, 'from must not lie in the future')
    assertAnswer(await get(`${OF_SHOP}?step=week`), 400, 'step must be "hour" or "day"')
  })

  // Proves decided "CSV"
  it('200: CSV by `format` and by `Accept`; JSON to everybody else', async () => {
    const path = `${OF_SHOP}?from=2026-11-15T11:00Z`
    const { text, headers } = await get(`${path}&format=csv`)
    assert.equal(headers.get('content-type'), 'text/csv; charset=utf-8')
    assert.match(headers.get('content-disposition')!, /filename="traffic-shop.example.com-2026-11-15.csv"$/)
    const [names, , twelve, rest] = text.split('\r\n')
    assert.match(
      names!,
      /^time,visits,people,hit,.*,category search,.*,"verdict pass; asset",.*,device mobile$/,
    )
    assert.match(
      twelve!,
      /^2026-11-15T12:00:00\.000Z,11,4,6,1,1,1,0,1,1,0\.7778,[\d.]+,[\d.]+,10,1,9,1,1,6,1,1,1,1,1,10,0,1,0,0,8,0,0,8,0$/,
    )
    assert.deepEqual([names!.split(',').length, rest], [twelve!.split(',').length, ''])

    const typeFor = async (accept: string, query = '') => {
      const answer = await api.call('GET', path + query, { key: owner.key, headers: { accept } })
      return answer.headers.get('content-type')?.split(';', 1)[0]
    }
    assert.equal(await typeFor('application/json;q=0.5, Text/CSV;q=0.9'), 'text/csv')
    assert.equal(await typeFor('text/csv;q=0.5, */*'), 'application/json')
    assert.equal(await typeFor('text/csv', '&format=json'), 'application/json')
    assert.equal(await typeFor('text/csv;q=5, */*;q=0.1'), 'application/json')
    assert.equal(
      await typeFor('application/json;profile="a, text/csv, b";q=0.5, text/csv;q=0.4'),
      'application/json',
    )
  })
})

// Proves decided "Traffic by path"
it('/traffic/paths: 200: what was asked for most, and what failed most, in whole days; others are counted', async () => {
  const paths = async (query = '') => (await get(`${OF_SHOP}/paths${query}`)).body
  const failing = [
    { path: '/gone', visits: 1, verdict: 'rendered', status: 404 },
    { path: '/slow', visits: 1, verdict: 'pass; timed-out', status: 200 },
  ]
  const top = [
    { path: '/', visits: 7, verdict: 'stale', status: 200 },
    { path: '/=1+1', visits: 1, verdict: 'rendered', status: 200 },
    ...failing,
  ]
  const day = { from: '2026-11-15', to: '2026-11-15' }
  const others = { top: 0, failing: 0 }
  const ofDay = { domain: 'shop.example.com', ...day, top, failing, others }
  assert.deepEqual(await paths('?from=2026-11-15'), ofDay)
  const first = await paths('?limit=1')
  const most = { path: '/', visits: 10, verdict: 'stale', status: 200 }
  assert.deepEqual([first['from'], first['top']], ['2026-10-16', [most]])

  await api.pool.query(`insert into traffic_path values ($1, '2026-11-01', false, '', 12, '', 0)`, [shop])
  assert.deepEqual((await paths())['others'], { top: 12, failing: 0 })
  const rows = ['top,/,10,stale,200', 'top,all others,12,,', 'failing,/gone,1,rendered,404', '']
  assert.deepEqual((await get(`${OF_SHOP}/paths?format=csv&limit=1`)).text.split('\r\n').slice(1), rows)

  assert('top' in (await paths('?limit=300')))
  const wrong = { 0: 'must be at least 1', 301: 'must be at most 300' }
  for (const [limit, words] of Object.entries(wrong)) {
    const problems = [{ path: ['limit'], message: words }]
    assert.deepEqual(await paths(`?limit=${limit}`), { error: `limit ${words}`, problems })
  }
})

// Proves decided "Monthly renders"
it('/traffic/renders: 200: the forecast is of the last seven whole days; of today only what has been counts', async () => {
  assert.equal((await get(`${OF_SHOP}/renders`)).body['forecast'], null)
  await api.pool.query(`update domain set created_at = '2026-01-01' where id = $1`, [shop])
  const months = `insert into render_count values ($1, '2026-11-01', 500), ($1, '2026-10-01', 9999)`
  await api.pool.query(months, [shop])
  await api.pool.query(
    `insert into render_day values ($1, '2026-11-07', 9999), ($1, '2026-11-08', 10), ($1, '2026-11-09', 10),
      ($1, '2026-11-10', 40), ($1, '2026-11-11', 40), ($1, '2026-11-12', 400), ($1, '2026-11-13', 40), ($1, '2026-11-15', 77)`,
    [shop],
  )
  const renders = Math.round(500 + 40 * (15 + 11.5 / 24))
  const forecast = { per_day: 40, days_left: 15.48, renders, reaches_limit_on: null }
  assert.deepEqual((await get(`${OF_SHOP}/renders`)).body['forecast'], forecast)
  const lines = (await get(`${OF_SHOP}/renders?format=csv`)).text.split('\r\n')
  assert.equal(lines[0], 'day,renders,renders_of_month,limit,forecast_of_month')
  assert.deepEqual(lines.slice(-3), ['2026-11-14,0,10539,200000,', '2026-11-15,77,10616,200000,1119', ''])
})

// Proves decided "Traffic"
it("/api/traffic: 200: all domains of the account together, and no other's", async () => {
  const found = await traffic('/api/traffic')
  assert.deepEqual([found.totals['visits'], found.totals['people']], [14, 4])
  assert.deepEqual(totals(found.categories), ['search 11', 'ai 3'])
})

// Proves decided "Traffic summary of domains"
it('/api/traffic/domains: 200: each domain by name, with what its last day and week were like and who came last', async () => {
  await api.domain(owner, 'new.example.com')
  const { domains } = (await get('/api/traffic/domains')).body
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
  assert.partialDeepStrictEqual(valuesOf(domains, 'renders')[2], { used: 500, limit: 200_000 })
})

it("what is read is the account's own, each time by SQL: also where another's domain is named", async () => {
  const range = { fromMs: Date.UTC(2026, 10, 15), toMs: Date.UTC(2026, 10, 16), step: 'day' } as const
  const days = { from: '2026-11-01', to: '2026-11-30' }
  const found = async (account: AccountId) => {
    const of = { account, domains: [shop] }
    const { totals } = await readTraffic(api.pool, of, range)
    const { top, failing } = await readPaths(api.pool, of, days, 10)
    const renders = await readRenders(api.pool, of, 100, TEST_START_MS)
    return [totals.visits, totals.people, top.length, failing.length, renders.length]
  }
  assert.deepEqual(await found((await api.account()).id), [0, 0, 0, 0, 0])
  assert.deepEqual(await found(owner.id), [12, 4, 4, 2, 1])
})

// Proves decided "Plan"
it('GET /api/plan: 200: what the plan allows and how much of it is in use', async () => {
  assert.deepEqual((await get('/api/plan')).body['plan'], {
    name: 'agency_plus',
    sites: { used: 3, limit: 100 },
    renders: { used: 500, limit_per_domain: 200_000, stops_at: 240_000 },
    api_keys: { included: true, used: 1, limit: 5 },
    webhooks: { included: true, used: 0, limit_per_domain: 5, requests_per_hour: 10, urls_per_request: 20 },
    requests: { paths_per_refresh: 1_000, body_bytes: 1_048_576 },
  })
})

it('/traffic/unrecognised: 200: automatic clients of the last 30 days, with the newest user agent; 404 of another account', async () => {
  const day = new Date(TEST_START_MS).toISOString().slice(0, 10)
  await api.pool.query(
    `insert into traffic_unrecognised values
       ($1, $2, 'curl', 'tool', 7, 'curl/8.5.0', '2026-11-15T10:00:00Z'), ($1, $2, '', 'unknown', 2, '', '2026-11-15T10:00:00Z'),
       ($1, $2::date - 1, 'curl', 'tool', 1, 'curl/7', '2026-11-14T10:00:00Z'),
       ($1, $2, 'Acme', 'unknown', 3, 'Acme/1', '2026-11-15T11:00:00Z')`,
    [shop, day],
  )
  const { status, body } = await get(`${OF_SHOP}/unrecognised`)
  assert.equal(status, 200)
  assert.deepEqual(body, {
    domain: 'shop.example.com',
    from: '2026-10-16',
    to: '2026-11-15',
    clients: [
      ...[{ name: 'curl', kind: 'tool', visits: 8, user_agent: 'curl/8.5.0' }].map((client) => ({
        ...client,
        last_seen_at: '2026-11-15T10:00:00.000Z',
      })),
      {
        ...{ name: 'Acme', kind: 'unknown', visits: 3, user_agent: 'Acme/1' },
        last_seen_at: '2026-11-15T11:00:00.000Z',
      },
    ],
    others: 2,
  })
  assert.deepEqual((await get(`${OF_SHOP}/unrecognised?from=2026-11-15&limit=1`)).body['others'], 5)
  assertAnswer(await get(`${OF_SHOP}/unrecognised?limit=101`), 400, 'limit must be at most 100')
  const foreign = await get('/api/domains/other.example.com/traffic/unrecognised')
  assertAnswer(foreign, 404, 'Domain not found')
})
