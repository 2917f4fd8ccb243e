import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { forecastRenders } from './read-renders.ts'

// Ten days are left of November.
const NOW = Date.UTC(2026, 10, 21)

describe('the forecast of a month', () => {
  // Proves decided "Monthly renders"
  it('is month-to-date and the median of the last days for each day that is left', () => {
    assert.deepEqual(
      forecastRenders({ used: 400, limit: 1_000, days: [10, 20, 30, 40, 50, 60, 70], nowMs: NOW }),
      { per_day: 40, days_left: 10, renders: 800, reaches_limit_on: null },
    )
  })

  it('one day of a deploy changes nothing, nor does the order of days', () => {
    const pace = (days: number[]) => forecastRenders({ used: 0, limit: 9e9, days, nowMs: NOW })?.per_day
    assert.equal(pace([5, 5, 5, 9_000, 5, 5, 5]), 5)
    assert.equal(pace([3, 1, 2]), 2)
    assert.equal(pace([1, 4]), 2.5)
    assert.equal(pace([0, 0, 0, 0, 7, 7, 7]), 0)
  })

  it('the part of today that is left counts as a part of a day', () => {
    const noon = forecastRenders({ used: 10, limit: 1_000, days: [8], nowMs: NOW + 12 * 3_600_000 })
    assert.deepEqual([noon?.days_left, noon?.renders], [9.5, 86])
    const last = forecastRenders({ used: 10, limit: 1_000, days: [8], nowMs: Date.UTC(2026, 11, 1) - 1 })
    assert.deepEqual([last?.days_left, last?.renders], [0, 10])
  })

  it('says on which day the limit is reached: at it, one past it, or not in this month', () => {
    const on = (used: number, limit: number, days = [10]) =>
      forecastRenders({ used, limit, days, nowMs: NOW })?.reaches_limit_on
    assert.equal(on(50, 100), '2026-11-26')
    assert.equal(on(0, 99), '2026-11-30')
    assert.equal(on(0, 100), null, 'in the first moment of the next month')
    assert.equal(on(100, 100), '2026-11-21')
    assert.equal(on(120, 100, [0]), '2026-11-21')
    assert.equal(on(99, 100, [0]), null)
  })

  it('of a domain without a whole day there is none', () => {
    assert.equal(forecastRenders({ used: 5, limit: 10, days: [], nowMs: NOW }), null)
  })
})
