import assert from 'node:assert/strict'
import { after, it } from 'node:test'

import { until } from '../../../test/support/condition.ts'
import { FACEBOOK, GOOGLEBOT, PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import { startTestTraffic, storedLines } from '../../../test/support/traffic.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { pageId } from '../../store/page-id.ts'
import { readFormRequests } from './read-summaries.ts'
import { readTraffic } from './read-traffic.ts'

const edge = await startTestEdge({
  parts: { answered: (...asked) => traffic.count(...asked) },
  origin: (req, res) => {
    if (req.url === '/sitemap.xml') res.setHeader('content-type', 'application/xml')
    res.end(
      req.url === '/sitemap.xml'
        ? '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://red.example/</loc></url></urlset>'
        : 'origin',
    )
  },
})
const traffic = startTestTraffic(edge.pool, { nowMs: edge.nowMs })
after(async () => {
  await traffic.close()
  await edge.close()
})

/** The lines of a domain, without their hour, once so many visits are stored. */
async function counted(domain: DomainId, visits: number): Promise<string[]> {
  await until(`${visits} visits are counted`, async () => {
    await traffic.flush()
    const sql = 'select sum(visits)::int as visits from traffic_hour where domain_id = $1'
    return (await edge.pool.query(sql, [domain])).rows[0].visits >= visits
  })
  return (await storedLines(edge.pool, domain)).map((line) => line.slice('12:00 '.length))
}

// Proves decided "What counts as traffic"
it('live requests are counted as they were answered, at the domain that was asked', async () => {
  edge.script(
    { kind: 'rendered', status: 200, headers: [], html: '<p>a page</p>' },
    { kind: 'rendered', status: 404, headers: [], html: '<p>there is none</p>' },
    { kind: 'timed-out', afterMs: 1 },
  )
  const asked: [path: string, verdict: string, asking?: Parameters<TestEdge['ask']>[1]][] = [
    ['/a?utm_source=mail', 'rendered'],
    ['/a', 'hit', { headers: { 'if-none-match': '*', via: '1.1 cdn.example' } }],
    ['/gone', 'rendered'],
    ['/slow?b=1&utm_source=x&a=2', 'pass; timed-out'],
    ['/app.js', 'pass; asset'],
    ['/a', 'pass; method', { method: 'POST', body: 'x' }],
    ['/sitemap.xml', 'pass; sitemap'],
    ['/sitemap.xml', 'hit'],
    ['/a', 'pass; not-a-crawler', { agent: PERSON }],
    ['/a', 'pass; not-a-crawler', { agent: PERSON, headers: { via: '1.1 prepaint' } }],
    ['/never-rendered', 'pass; loop', { headers: { via: '1.1 prepaint' } }],
    ['/a', 'none; unknown-host', { host: 'nobody.example' }],
  ]
  for (const [path, verdict, asking] of asked) assert.equal(await edge.verdict(path, asking), verdict, path)
  // What goes through the origin is counted when it has gone out to its end.
  const lines = [
    'people pass; not-a-crawler 1',
    'search Googlebot hit 1',
    'search Googlebot pass; asset 1',
    'search Googlebot pass; method 1',
    'search Googlebot pass; timed-out 1',
    'search Googlebot rendered 2',
    'search Googlebot sitemap 2',
  ]
  assert.deepEqual(await counted(edge.red, 9), lines)
  assert.deepEqual(await storedLines(edge.pool, edge.blue), [])

  const { rows } = await edge.pool.query(
    `select path, is_failing, visits::int, verdict, status from traffic_path where domain_id = $1
      order by is_failing, visits desc, path`,
    [edge.red],
  )
  assert.deepEqual(
    rows.map((row) => Object.values(row).join(' ')),
    [
      '/a false 2 hit 304',
      '/gone false 1 rendered 404',
      '/slow?a=2&b=1 false 1 pass; timed-out 200',
      '/gone true 1 rendered 404',
      '/slow?a=2&b=1 true 1 pass; timed-out 200',
    ],
  )
})

it('a crawler of the domain’s own list counts in its category, without a name', async () => {
  const crawlers = { add: [{ pattern: 'ShopWatch', category: 'seo' }] }
  await edge.set(`settings = '${JSON.stringify({ crawlers })}'`, 'blue.example')
  await edge.settled()
  await edge.verdict('/', { host: 'blue.example', agent: 'ShopWatch/1' })
  await edge.verdict('/', { host: 'blue.example', agent: GOOGLEBOT })
  assert.deepEqual(await counted(edge.blue, 2), ['search Googlebot hit 1', 'seo other rendered 1'])
})

it('pages that were served are counted by device and form; passed requests by none', async () => {
  const domain = await edge.addDomain('phones.example')
  await edge.set(`settings = '{"devices":"both","cards":"on"}'`, 'phones.example')
  await edge.settled()
  const ask = (path: string, agent: string, headers = {}) =>
    edge.verdict(path, { host: 'phones.example', agent, headers })
  const phone = `Android Mobile ${GOOGLEBOT}`
  for (const agent of [GOOGLEBOT, phone, phone]) await ask('/', agent)
  await ask('/app.js', phone)
  await ask('/', FACEBOOK)
  // A conversion, a hit of the fast lane, and a render.
  for (const path of ['/', '/', '/new']) await ask(path, 'some-agent/1.0', { accept: 'text/markdown' })
  const lines = await counted(domain, 8)
  assert(lines.includes('other other hit 2') && lines.includes('other other rendered 1'))
  const last = await edge.pool.query('select crawler from traffic_last where domain_id = $1', [domain])
  assert.deepEqual(last.rows, [{ crawler: 'Facebook' }])
  const of = { account: edge.account, domain }
  const hourMs = edge.nowMs() - (edge.nowMs() % 3_600_000)
  const range = { fromMs: hourMs - 3_600_000, toMs: hourMs + 7_200_000, step: 'hour' } as const
  const { variants, forms } = await readTraffic(edge.pool, of, range)
  const totals = [...variants, ...forms].map(({ name, total }) => `${name} ${total}`)
  assert.deepEqual(totals, ['desktop 5', 'mobile 2', 'html 3', 'markdown 3', 'card 1'])
  const requests = (path: string) =>
    readFormRequests(edge.pool, pageId(domain, path as PagePath), edge.nowMs())
  assert.deepEqual(await requests('/'), { html: 3, markdown: 2, card: 1 })
  assert.deepEqual(await requests('/new'), { html: 0, markdown: 1, card: 0 })
})
