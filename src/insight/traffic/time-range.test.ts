import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { MAX_DAYS, type RequestedRange, startsOf, timeRange } from './time-range.ts'

const NOW = Date.parse('2026-11-15T12:30:00Z')
const DAY_MS = 86_400_000

function found(asked: RequestedRange, nowMs = NOW): string {
  const told = timeRange(asked, nowMs)
  if ('problem' in told) return told.problem
  const { fromMs, toMs, step } = told.range
  return `${new Date(fromMs).toISOString().slice(0, 16)} ${new Date(toMs).toISOString().slice(0, 16)} ${step}`
}

describe('the range that is asked for', () => {
  const cases: [RequestedRange, string][] = [
    [{}, '2026-11-14T12:00 2026-11-15T13:00 hour'],
    [{ step: 'day' }, '2026-10-16T00:00 2026-11-16T00:00 day'],
    [{ from: '2026-11-15' }, '2026-11-15T00:00 2026-11-15T13:00 hour'],
    [{ from: '2026-11-08T12:30:00Z' }, '2026-11-08T12:00 2026-11-15T13:00 hour'],
    [{ from: '2026-11-08T12:29:59.999Z' }, '2026-11-08T00:00 2026-11-16T00:00 day'],
    [{ from: '2026-11-01', to: '2026-11-02' }, '2026-11-01T00:00 2026-11-02T00:00 hour'],
    [{ from: '2026-11-01T10:59Z', to: '2026-11-01T11:01Z' }, '2026-11-01T10:00 2026-11-01T12:00 hour'],
    [{ to: '2026-11-10' }, '2026-11-09T00:00 2026-11-10T00:00 hour'],
    [{ from: '2026-11-15', to: '2030-01-01' }, '2026-11-15T00:00 2026-11-15T13:00 hour'],
    [{ from: '2026-11-15T12:30:00Z' }, '2026-11-15T12:00 2026-11-15T13:00 hour'],
  ]
  for (const [asked, range] of cases) {
    it(JSON.stringify(asked), () => assert.equal(found(asked), range))
  }

  it('on the very hour, the hour that begins', () => {
    assert.equal(
      found({ from: '2026-11-15T12:00Z' }, NOW - 1_800_000),
      '2026-11-15T12:00 2026-11-15T13:00 hour',
    )
  })

  // Proves decided "Traffic"
  it('at the longest and one step past it, in each step', () => {
    for (const step of ['hour', 'day'] as const) {
      const most = MAX_DAYS[step] * DAY_MS
      const from = (ms: number) => new Date(NOW - ms).toISOString()
      assert.match(found({ from: from(most), step }), new RegExp(`${step}$`))
      assert.equal(
        found({ from: from(most + (step === 'day' ? DAY_MS : 3_600_000)), step }),
        `from must be at most ${MAX_DAYS[step]} days before to, in steps of one ${step}`,
      )
    }
  })

  it('what is wrong is named', () => {
    const words = 'must be a day (2026-11-01) or a moment in UTC (2026-11-01T12:00:00Z)'
    for (const from of [
      '',
      'yesterday',
      '1',
      '2026-11-1',
      '2026-13-01',
      '2026-02-31',
      '2026-11-01T12:00:00+01:00',
    ]) {
      assert.equal(found({ from }), `from ${words}`, from)
    }
    assert.equal(found({ to: '2026-11-01 12:00' }), `to ${words}`)
    assert.equal(found({ from: '2026-11-15T12:30:00.001Z' }), 'from must not lie in the future')
    for (const to of ['2026-11-01', '2026-10-31']) {
      assert.equal(found({ from: '2026-11-01', to }), 'to must be later than from')
    }
  })
})

it('the steps of a range are told by their starts', () => {
  const told = timeRange({ from: '2026-11-14', to: '2026-11-15T10:00Z', step: 'day' }, NOW)
  assert('range' in told)
  assert.deepEqual(startsOf(told.range), ['2026-11-14T00:00:00.000Z', '2026-11-15T00:00:00.000Z'])
})
