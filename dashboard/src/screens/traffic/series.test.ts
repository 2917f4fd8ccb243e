import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import type { Traffic } from '../../api/types.ts'
import type { ChartSeries } from '../../charts/shape.ts'
import {
  byCategory,
  byCrawler,
  byDevice,
  byForm,
  byVerdict,
  CRAWLERS_SHOWN,
  hitRatioOf,
  limitMarks,
  monthOfRenders,
} from './series.ts'

const named = (name: string, total: number) => ({ name, visits: [total, 0], total })
const traffic = (parts: Partial<Traffic>): Traffic => ({
  times: ['2026-11-15T11:00:00.000Z', '2026-11-15T12:00:00.000Z'],
  totals: {
    ...{ visits: 0, pages: 0, hit: 0, stale: 0, rendered: 0, failed: 0, passed: 0, sitemap: 0, people: 0 },
    ...{ hit_ratio: null, p50_ms: null, p95_ms: null },
  },
  ...{ categories: [], purposes: [], crawlers: [], verdicts: [], statuses: [], forms: [], variants: [] },
  ...{ hit_ratio: [null, null], p50_ms: [null, null], p95_ms: [null, null] },
  people: { visits: [0, 0], total: 0, p50_ms: null, p95_ms: null },
  ...parts,
})
const short = (series: readonly ChartSeries[]) =>
  series.map(({ name, whole, colour }) => `${name} ${whole} ${colour}`)

describe('charts of traffic', () => {
  it('categories keep their colours and order', () => {
    const found = byCategory(
      traffic({ categories: [named('other', 9), named('ai', 5), named('search', 1_200)] }),
    )
    assert.deepEqual(short(found), ['Search 1,200 0', 'AI 5 1', 'Other crawlers 9 7'])
  })

  it('forms and devices that were asked for', () => {
    const forms = [named('html', 7), named('markdown', 0), named('card', 2)] as Traffic['forms']
    assert.deepEqual(short(byForm(traffic({ forms }))), ['HTML 7 0', 'Card 2 2'])
    const variants = [named('desktop', 5), named('mobile', 4)] as Traffic['variants']
    assert.deepEqual(short(byDevice(traffic({ variants }))), ['Desktop 5 0', 'Phone 4 1'])
  })

  it('shows the most frequent crawlers, and all others as one', () => {
    const crawlers = [
      { ...named('other', 50), category: 'search', purpose: null },
      ...[0, 1, 2, 3, 4, 5, 6, 7, 8].map((at) => ({
        ...named(`bot${at}`, 20 - at),
        category: 'ai',
        purpose: null,
      })),
      { ...named('other', 1), category: 'ai', purpose: null },
    ]
    const found = byCrawler(traffic({ crawlers }))
    assert.equal(found.length, CRAWLERS_SHOWN - 1)
    assert.deepEqual(short(found).slice(-2), ['bot5 15 5', 'All others 90 7'])
    assert.deepEqual(found.at(-1)?.values, [90, 0])
    const some = (from: number, to: number) =>
      short(byCrawler(traffic({ crawlers: crawlers.slice(from, to) })))
    assert.deepEqual(some(0, 2), ['bot0 20 0', 'All others 50 7'])
    assert.deepEqual(some(1, 3), ['bot0 20 0', 'bot1 19 1'])
    assert.deepEqual(byCrawler(traffic({})), [])
  })

  it('groups verdicts by kind', () => {
    const of = (name: string, kind: 'hit' | 'failed', total: number) => ({
      ...named(name, total),
      ...{ kind, p50_ms: null, p95_ms: null },
    })
    const verdicts = [of('pass; late', 'failed', 2), of('hit', 'hit', 8), of('pass; crashed', 'failed', 1)]
    assert.deepEqual(short(byVerdict(traffic({ verdicts }))), ['Hit 8 2', 'Failed 3 5'])
  })

  it('shows a dash without visits', () => {
    assert.deepEqual(short(hitRatioOf(traffic({}))), ['Hit ratio – 2'])
  })
})

describe('the month of renders', () => {
  const days = (...renders: number[]) =>
    renders.map((each, at) => ({ day: `2026-02-${String(at + 1).padStart(2, '0')}`, renders: each }))

  it('is cumulative by day, with the forecast until the last day', () => {
    const { times, series } = monthOfRenders({
      ...{ days: days(10, 0, 5), used: 15, limit: 100 },
      forecast: { renders: 65 },
    })
    assert.deepEqual([times.length, times.at(-1)], [28, '2026-02-28T00:00:00.000Z'])
    assert.deepEqual(series[0]?.values.slice(0, 5), [10, 10, 15, null, null])
    assert.deepEqual(series[1]?.values.slice(1, 5), [null, 15, 17, 19])
    assert.equal(series[1]?.values.at(-1), 65)
    assert.deepEqual(
      series.map(({ whole }) => whole),
      ['15', '65'],
    )
  })

  it('starts with the renders from before daily counts existed', () => {
    const { series } = monthOfRenders({ days: days(0, 5), used: 30, limit: 100, forecast: null })
    assert.deepEqual(
      series.map(({ values }) => values.slice(0, 3)),
      [[25, 30, null]],
    )
  })

  it('leaves out a limit far above the data', () => {
    const marks = (limit: number) => limitMarks({ days: [], used: 10, limit, forecast: { renders: 25 } })
    assert.deepEqual(
      [100, 101, 0].map((limit) => marks(limit).length),
      [1, 0, 0],
    )
    assert.deepEqual(marks(100), [{ value: 100, name: 'Limit 100' }])
  })
})
