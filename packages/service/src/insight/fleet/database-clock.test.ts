import assert from 'node:assert/strict'
import { it } from 'node:test'
import { systemClock, systemStopwatch } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { until } from '../../../../../test/support/condition.ts'
import { openTestDatabase } from '../../../../../test/support/database.ts'
import { DatabaseClock } from './database-clock.ts'

const { pool } = await openTestDatabase()
const log = silentLog()

it('the clock shows the time of the database if that of the machine is wrong', async () => {
  const machine = { nowMs: () => systemClock.nowMs() + 600_000 }
  const clock = await DatabaseClock.start(pool, log, { stopwatch: systemStopwatch, machine })
  // A query to the database, whose machine is ours, takes less than two seconds.
  assert(Math.abs(clock.nowMs() - systemClock.nowMs()) < 2_000)
  assert(Math.abs(clock.machineAheadMs - 600_000) < 2_000)
  assert(Number.isInteger(clock.nowMs()))
  clock.close()
})

it('the clock runs on while the database cannot be reached, and is corrected when it is back', async () => {
  /** A database whose clock is so far ahead of the monotonic one. */
  const state = { aheadMs: 1e12, monotonicMs: 0, away: false, asked: 0 }
  const query = async () => {
    state.asked++
    if (state.away) throw new Error('away')
    return { rows: [{ ms: state.monotonicMs + state.aheadMs }] }
  }
  const clocks = { stopwatch: () => state.monotonicMs / 1_000, machine: { nowMs: () => 0 } }
  const clock = await DatabaseClock.start({ query } as object as pg.Pool, log, clocks, { everyMs: 5 })
  const looked = async () => {
    const { asked } = state
    await until('the database was asked again', () => state.asked >= asked + 2)
  }
  assert.equal(clock.nowMs(), 1e12)
  state.away = true
  state.monotonicMs = 60_000
  await looked()
  assert.equal(clock.nowMs(), 1e12 + 60_000)
  state.aheadMs += 30_000
  state.away = false
  await looked()
  assert.equal(clock.nowMs(), 1e12 + 90_000)
  // A small step back is waited out, a large one is taken.
  state.aheadMs -= 999
  await looked()
  assert.equal(clock.nowMs(), 1e12 + 90_000)
  state.aheadMs -= 600_000
  await looked()
  assert.equal(clock.nowMs(), 1e12 + 90_000 - 600_999)
  clock.close()
})
