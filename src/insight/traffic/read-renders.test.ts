import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openTestDatabase } from '../../../test/support/database.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { AccountId, DomainId } from '../../ids.ts'
import { forecastRenders, type MonthOfRenders, readMonths, readRenders } from './read-renders.ts'

const NOW = Date.UTC(2026, 10, 10)
const of = { account: 1 as AccountId, domain: 1 as DomainId }

const database = await openTestDatabase()
await database.pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
await database.pool.query(
  `insert into domain (account_id, custom_domain, origin_url, created_at)
   values (1, 'shop.example', 'http://o.example', '2026-10-01')`,
)

const days = async (renders: Record<string, number>) => {
  await database.pool.query('truncate render_day')
  await database.pool.query(
    'insert into render_day select 1, key::date, value::integer from jsonb_each_text($1::jsonb)',
    [JSON.stringify(renders)],
  )
}
const pace = async () =>
  (await readRenders(database.pool, of, 10_000, NOW, DEFAULT_PLANS))[0]?.forecast?.per_day

// Proves decided "Monthly renders"
it('days on which a smaller plan was used up do not count for the pace', async () => {
  await days({ '2026-11-01': 700, '2026-11-02': 500, '2026-11-08': 690, '2026-11-09': 710 })
  // 1,200 by the second: at 120 % of `starter` until the seventh, on another plan from the eighth on.
  assert.equal(await pace(), 700)
  await days({ '2026-11-01': 700, '2026-11-02': 300, '2026-11-09': 710 })
  assert.equal(await pace(), 710, 'at 100 %')
})

it('other quiet days do, and months begin anew', async () => {
  await days({ '2026-11-01': 700, '2026-11-02': 499, '2026-11-08': 690, '2026-11-09': 710 })
  assert.equal(await pace(), 0)
  await days({ '2026-10-31': 501, '2026-11-01': 700, '2026-11-02': 499, '2026-11-09': 710 })
  assert.equal(await pace(), 0)
})

it('of all domains at once the same as of one: a young domain has its own whole days', async () => {
  await days({ '2026-10-31': 1_000, '2026-11-03': 10, '2026-11-07': 20, '2026-11-08': 30, '2026-11-09': 50 })
  await database.pool.query(`insert into render_count values (1, '2026-11-01', 110)`)
  for (const [born, perDay] of [
    ['2026-10-01', 10],
    ['2026-11-06 23:59:59.999', 30],
    ['2026-11-07 00:00:00', 40],
    ['2026-11-08 12:00', 50],
    ['2026-11-09 00:00:01', undefined],
  ] as const) {
    await database.pool.query('update domain set created_at = $1', [`${born}Z`])
    const [{ days: each, ...month }] = (await readRenders(database.pool, of, 10_000, NOW, DEFAULT_PLANS)) as [
      MonthOfRenders,
    ]
    assert.deepEqual(await readMonths(database.pool, of.account, 10_000, NOW, DEFAULT_PLANS), [month])
    assert.deepEqual([month.used, month.forecast?.per_day, each.length], [110, perDay, 10], born)
    assert.deepEqual(each[8], { day: '2026-11-09', renders: 50 })
  }
})

// Ten days are left of November.
const NOVEMBER_21 = Date.UTC(2026, 10, 21)

describe('the forecast of a month', () => {
  // Proves decided "Monthly renders"
  it('is month-to-date and the median of the last days for each day that is left', () => {
    assert.deepEqual(
      forecastRenders({ used: 400, limit: 1_000, days: [10, 20, 30, 40, 50, 60, 70], nowMs: NOVEMBER_21 }),
      { per_day: 40, days_left: 10, renders: 800, reaches_limit_on: null },
    )
  })

  it('one day of a deploy changes nothing, nor does the order of days', () => {
    const pace = (days: number[]) =>
      forecastRenders({ used: 0, limit: 9e9, days, nowMs: NOVEMBER_21 })?.per_day
    assert.equal(pace([5, 5, 5, 9_000, 5, 5, 5]), 5)
    assert.equal(pace([3, 1, 2]), 2)
    assert.equal(pace([1, 4]), 2.5)
    assert.equal(pace([0, 0, 0, 0, 7, 7, 7]), 0)
  })

  it('the part of today that is left counts as a part of a day', () => {
    const noon = forecastRenders({ used: 10, limit: 1_000, days: [8], nowMs: NOVEMBER_21 + 12 * 3_600_000 })
    assert.deepEqual([noon?.days_left, noon?.renders], [9.5, 86])
    const last = forecastRenders({ used: 10, limit: 1_000, days: [8], nowMs: Date.UTC(2026, 11, 1) - 1 })
    assert.deepEqual([last?.days_left, last?.renders], [0, 10])
  })

  it('says on which day the limit is reached: at it, one past it, or not in this month', () => {
    const on = (used: number, limit: number, days = [10]) =>
      forecastRenders({ used, limit, days, nowMs: NOVEMBER_21 })?.reaches_limit_on
    assert.equal(on(50, 100), '2026-11-26')
    assert.equal(on(0, 99), '2026-11-30')
    assert.equal(on(0, 100), null, 'in the first moment of the next month')
    assert.equal(on(100, 100), '2026-11-21')
    assert.equal(on(120, 100, [0]), '2026-11-21')
    assert.equal(on(99, 100, [0]), null)
  })

  it('of a domain without a whole day there is none', () => {
    assert.equal(forecastRenders({ used: 5, limit: 10, days: [], nowMs: NOVEMBER_21 }), null)
  })
})
