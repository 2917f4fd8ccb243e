import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { problemText } from '../problem.ts'
import {
  MAX_DAYS,
  quantileMs,
  type RequestedRange,
  roundedMs,
  stepOf,
  TIME_STEPS,
  timeRange,
} from './time-range.ts'
import { hitRatio, kindOfVerdict, noVisits } from './verdict-kind.ts'

const NOW = Date.parse('2026-11-15T12:30:00Z')
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function found(asked: RequestedRange, nowMs = NOW): string {
  const told = timeRange(asked, nowMs)
  if ('problem' in told) return problemText(told.problem)
  const { fromMs, toMs, step } = told.range
  return `${new Date(fromMs).toISOString().slice(0, 16)} ${new Date(toMs).toISOString().slice(0, 16)} ${step}`
}

describe('the range that is asked for', () => {
  const cases: [RequestedRange, string][] = [
    [{}, '2026-11-14T12:00 2026-11-15T13:00 hour'],
    [{ step: 'day' }, '2026-10-16T00:00 2026-11-16T00:00 day'],
    [{ from: '2026-11-08T12:30:00Z' }, '2026-11-08T12:00 2026-11-15T13:00 hour'],
    [{ from: '2026-11-08T12:29:59.999Z' }, '2026-11-08T00:00 2026-11-16T00:00 day'],
    [{ from: '2026-11-01T10:59Z', to: '2026-11-01T11:01Z' }, '2026-11-01T10:00 2026-11-01T12:00 hour'],
    [{ to: '2026-11-10' }, '2026-11-09T00:00 2026-11-10T00:00 hour'],
    [{ from: '2026-11-15', to: '2030-01-01' }, '2026-11-15T00:00 2026-11-15T13:00 hour'],
  ]
  it('is rounded to whole steps, with hours or days as suits', () => {
    for (const [asked, range] of cases) assert.equal(found(asked), range, JSON.stringify(asked))
    const onTheHour = found({ from: '2026-11-15T12:00Z' }, NOW - HOUR_MS / 2)
    assert.equal(onTheHour, '2026-11-15T12:00 2026-11-15T13:00 hour')
  })

  // Proves decided "Traffic"
  it('is accepted at its longest and refused one step past it, in each step', () => {
    for (const [step, ms] of [
      ['hour', HOUR_MS],
      ['day', DAY_MS],
    ] as const) {
      const days = MAX_DAYS[step]
      const from = (past: number) => new Date(NOW - days * DAY_MS - past).toISOString()
      assert.match(found({ from: from(0), step }), new RegExp(`${step}$`))
      const problem = `from must be at most ${days} days before to, in steps of one ${step}`
      assert.equal(found({ from: from(ms), step }), problem)
    }
  })

  it('is refused with the name of the wrong field', () => {
    const words = 'must be a day (2026-11-01) or a moment in UTC (2026-11-01T12:00:00Z)'
    const wrong = 'yesterday 2026-11-1 2026-02-31 0000-01-01T00:00:00Z 2026-11-01T12:00:00+01:00'
    for (const from of ['', ...wrong.split(' ')]) assert.equal(found({ from }), `from ${words}`, from)
    assert.equal(found({ to: '2026-11-01 12:00' }), `to ${words}`)
    assert.equal(found({ from: '2026-11-15T12:30:00.001Z' }), 'from must not lie in the future')
    for (const to of ['2026-11-01', '2026-10-31'])
      assert.equal(found({ from: '2026-11-01', to }), 'to must be later than from', to)
  })
})

it('quantiles are right to within a fifth; of nothing there is none', () => {
  for (const none of [[], [0, 0]]) assert.equal(quantileMs(none, 0.5), null)
  const all = Array.from({ length: 1_000 }, (_, at) => 0.1 * 1.01 ** at)
  const counts = new Array<number>(TIME_STEPS).fill(0)
  for (const ms of all) counts[stepOf(ms / 1_000)]! += 1
  for (const share of [0.05, 0.5, 0.95]) {
    const exact = all[Math.floor(share * all.length)]!
    const told = quantileMs(counts, share)!
    assert(Math.abs(told / exact - 1) < 0.2, `${share}: ${told} for ${exact}`)
  }
  const steps = [Number.POSITIVE_INFINITY, 0, -1, Number.NaN].map(stepOf)
  assert.deepEqual(steps, [TIME_STEPS - 1, 0, 0, 0])
  assert.deepEqual([12.3456, 0.071_23, 1_234, null].map(roundedMs), [12.3, 0.0712, 1230, null])
})

it('each verdict belongs to exactly one kind', () => {
  const kinds = {
    hit: ['hit'],
    stale: ['stale'],
    rendered: ['rendered'],
    sitemap: ['sitemap'],
    soft_404: ['pass; soft-404'],
    passed: ['pass; asset', 'pass; category', 'pass; not-a-crawler', 'pass; inactive', 'pass; forged'],
    failed: ['pass; late', 'pass; timed-out', 'pass; over-quota', 'pass; database', 'pass; a-new-outcome'],
  }
  for (const [kind, verdicts] of Object.entries(kinds)) {
    for (const verdict of verdicts) assert.equal(kindOfVerdict(verdict), kind, verdict)
  }
})

// Proves decided "What counts as traffic"
it('the hit ratio is of requests for pages: what passes by rule, soft 404s and sitemaps are none', () => {
  assert.equal(hitRatio({ ...noVisits(), passed: 5, sitemap: 3 }), null)
  assert.equal(
    hitRatio({ hit: 5, stale: 1, rendered: 2, failed: 1, soft_404: 50, passed: 100, sitemap: 7 }),
    0.6667,
  )
})
