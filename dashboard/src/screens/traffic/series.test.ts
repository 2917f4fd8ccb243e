import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Traffic } from '../../api/types.ts'
import type { ChartSeries } from '../../charts/shape.ts'
import {
  byCrawler,
  CRAWLERS_SHOWN,
  firstVisitOf,
  monthOfRenders,
  ratioBefore,
  trafficFrom,
  visitsBefore,
} from './series.ts'

const named = (name: string, total: number) => ({ name, visits: [total, 0], total })
/** Traffic with only what a chart reads. */
const traffic = (parts: object) => parts as Traffic
const short = (series: readonly ChartSeries[]) =>
  series.map(({ name, whole, colour }) => `${name} ${whole} ${colour}`)

it('a chart by crawler shows the most frequent ones, and all others as one', () => {
  const bots = Array.from({ length: 9 }, (_, at) => named(`bot${at}`, 20 - at))
  const seriesOf = (...crawlers: object[]) => byCrawler(traffic({ crawlers }))
  const found = seriesOf(named('other', 50), ...bots, named('other', 1))
  assert.equal(found.length, CRAWLERS_SHOWN - 1)
  assert.deepEqual(short(found).slice(-2), ['bot5 15 5', 'All others 90 7'])
  assert.deepEqual(short(seriesOf(...bots.slice(0, 2))), ['bot0 20 0', 'bot1 19 1'])
})

it('the period before is one dashed line, whose steps stand below those of this period', () => {
  const now = traffic({ times: ['a', 'b', 'c'] })
  const before = traffic({
    categories: [named('search', 3), named('ai', 1)],
    hit_ratio: [0.5, null],
    totals: { hit_ratio: 0.5 },
  })
  const [line] = visitsBefore(now, before)
  assert.deepEqual([line?.values, line?.whole, line?.isDashed], [[4, 0, null], '4', true])
  assert.deepEqual(ratioBefore(now, before)[0]?.values, [0.5, null, null])
  assert.deepEqual(visitsBefore(now, null), [])
})

it('the traffic of a new site begins with its first visit, of a crawler or a person', () => {
  const one = (visits: number[]) => [{ name: 'x', visits, total: 1 }]
  const whole = traffic({
    times: ['a', 'b', 'c'],
    ...{ categories: one([0, 0, 1]), purposes: [], crawlers: one([0, 0, 1]), verdicts: one([0, 0, 1]) },
    ...{ statuses: one([0, 0, 1]), forms: one([0, 0, 1]), variants: one([0, 0, 1]) },
    people: { visits: [0, 2, 0], total: 2 },
    hit_ratio: [null, null, 1],
    p50_ms: [null, null, 5],
    p95_ms: [null, null, 9],
  })
  assert.equal(firstVisitOf(whole), 1)
  assert.equal(firstVisitOf(traffic({ verdicts: [], people: { visits: [0, 0], total: 0 } })), 0)
  const shown = trafficFrom(whole, 1)
  assert.deepEqual(
    [shown.times, shown.people.visits, shown.p50_ms],
    [
      ['b', 'c'],
      [2, 0],
      [null, 5],
    ],
  )
  for (const list of ['categories', 'crawlers', 'verdicts', 'statuses', 'forms', 'variants'] as const) {
    assert.deepEqual(shown[list][0]?.visits, [0, 1], list)
  }
  assert.equal(trafficFrom(whole, 0), whole)
})

const days = (...renders: number[]) =>
  renders.map((made, at) => ({ day: `2026-02-${String(at + 1).padStart(2, '0')}`, renders: made }))

it('the renders of a month are added up by day, and continued by the forecast until the last day', () => {
  const month = { days: days(10, 0, 5), used: 15, limit: 100, forecast: { renders: 65 } }
  const { times, series } = monthOfRenders(month)
  assert.deepEqual([times.length, times.at(-1)], [28, '2026-02-28T00:00:00.000Z'])
  assert.deepEqual(series[0]?.values.slice(0, 5), [10, 10, 15, null, null])
  assert.deepEqual(series[1]?.values.slice(1, 5), [null, 15, 17, 19])
  assert.equal(series[1]?.values.at(-1), 65)
  // It starts with the renders from before daily counts existed.
  const older = monthOfRenders({ days: days(0, 5), used: 30, limit: 100, forecast: null })
  assert.deepEqual(older.series[0]?.values.slice(0, 3), [25, 30, null])
})
