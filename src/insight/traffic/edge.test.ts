import assert from 'node:assert/strict'
import { after, it } from 'node:test'

import { until } from '../../../test/support/condition.ts'
import { FACEBOOK, GOOGLEBOT, openEdge } from '../../../test/support/edge.ts'
import { startTestTraffic, storedLines } from '../../../test/support/traffic.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { pageId } from '../../store/page-id.ts'
import { readFormRequests } from './read-summaries.ts'
import { readTraffic } from './read-traffic.ts'

const edge = await openEdge({ parts: { answered: (...asked) => traffic.count(...asked) } })
const traffic = startTestTraffic(edge.pool, { nowMs: edge.nowMs })
after(() => traffic.close())

/** The lines of a domain, without their hour, once so many visits are stored. */
async function counted(domain: DomainId, visits: number): Promise<string[]> {
  await until(`${visits} visits are counted`, async () => {
    await traffic.flush()
    const sql = 'select sum(visits)::int as visits from traffic_hour where domain_id = $1'
    return (await edge.pool.query(sql, [domain])).rows[0].visits >= visits
  })
  return (await storedLines(edge.pool, domain)).map((line) => line.slice('12:00 '.length))
}

it('a crawler of the domain’s own list counts in its category, without a name', async () => {
  await edge.settings({ crawlers: { add: [{ pattern: 'ShopWatch', category: 'seo' }] } }, 'blue.example')
  await edge.verdict('/', { host: 'blue.example', agent: 'ShopWatch/1' })
  await edge.verdict('/', { host: 'blue.example', agent: GOOGLEBOT })
  // Not counted: a request of our own renderer, and one of no domain.
  await edge.verdict('/', { host: 'blue.example', headers: { via: '1.1 prepaint' } })
  await edge.verdict('/', { host: 'nobody.example' })
  await edge.verdict('/gone', { host: 'blue.example', headers: { via: '1.1 cdn.example' } })
  const lines = ['search Googlebot hit 1', 'search Googlebot rendered 1', 'seo other rendered 1']
  assert.deepEqual(await counted(edge.blue, 3), lines)
})

it('pages that were served are counted by device and form; passed requests by none', async () => {
  const domain = await edge.addDomain('phones.example')
  await edge.settings({ devices: 'both', cards: 'on' }, 'phones.example')
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
