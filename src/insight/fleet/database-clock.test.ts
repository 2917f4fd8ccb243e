import assert from 'node:assert/strict'
import { it } from 'node:test'

import { until } from '../../../test/support/condition.ts'
import { openTestDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { systemClock } from '../../clock.ts'
import { silentLog } from '../../log.ts'
import { startDatabaseClock } from './database-clock.ts'

const database = await openTestDatabase({ empty: true })

const log = silentLog()
/** How far from the database's clock, whose machine is ours. A query here takes less than this. */
const NEAR_MS = 2_000

it('the time is that of the database, whatever the machine says', async () => {
  const machine = { nowMs: () => systemClock.nowMs() + 600_000 }
  const clock = await startDatabaseClock({ pool: database.pool, log, machine })
  assert.ok(Math.abs(clock.nowMs() - systemClock.nowMs()) < NEAR_MS)
  assert.ok(Math.abs(clock.machineAheadMs - 600_000) < NEAR_MS)
  assert.ok(Number.isInteger(clock.nowMs()))
  clock.close()
})

/** A database whose clock is so far ahead of the monotonic one, and that takes a while to answer. */
function world() {
  const state = { aheadMs: 1e12, monotonicMs: 0, answerMs: 0, readAt: 0, away: false, asked: 0 }
  const pool = {
    async query() {
      state.asked++
      if (state.away) throw new Error('away')
      const ms = state.monotonicMs + state.aheadMs + state.readAt * state.answerMs
      state.monotonicMs += state.answerMs
      return { rows: [{ ms }] }
    },
  } as object as TestDatabase['pool']
  const start = () =>
    startDatabaseClock(
      { pool, log, stopwatch: () => state.monotonicMs / 1_000, machine: { nowMs: () => 0 } },
      { everyMs: 5 },
    )
  const looked = async () => {
    const { asked } = state
    await until('the database was asked again', () => state.asked >= asked + 2)
  }
  return { state, start, looked }
}

it('goes on while the database is away, and is set right when it is back', async () => {
  const { state, start, looked } = world()
  const clock = await start()
  assert.equal(clock.nowMs(), 1e12)
  state.away = true
  state.monotonicMs = 60_000
  await looked()
  assert.equal(clock.nowMs(), 1e12 + 60_000)
  state.aheadMs += 30_000
  state.away = false
  await looked()
  assert.equal(clock.nowMs(), 1e12 + 90_000)
  clock.close()
})

it('an answer that may be as old as its question moves it only as far as it proves', async () => {
  for (const [readAt, driftMs, moved] of [
    // Read at the beginning or at the end of a second of waiting: nothing is proven.
    [0, 0, 0],
    [1, 0, 0],
    // Half a second was lost, or a good second: so much of it is proven.
    [0, -500, -500],
    [1, -500, 0],
    [1, -1_200, -200],
    [0, 1_200, 200],
  ] as const) {
    const { state, start, looked } = world()
    const clock = await start()
    Object.assign(state, { answerMs: 1_000, readAt, aheadMs: 1e12 + driftMs })
    await looked()
    clock.close()
    await new Promise(setImmediate)
    assert.equal(clock.nowMs() - state.monotonicMs, 1e12 + moved, `${readAt} ${driftMs}`)
  }
})

it('a small step back is waited out, a large one is taken', async () => {
  const { state, start, looked } = world()
  const clock = await start()
  assert.equal(clock.nowMs(), 1e12)
  state.aheadMs -= 999
  await looked()
  assert.equal(clock.nowMs(), 1e12)
  state.monotonicMs += 1_500
  assert.equal(clock.nowMs(), 1e12 + 501)
  state.aheadMs -= 600_000
  await looked()
  assert.equal(clock.nowMs(), 1e12 + 501 - 600_000)
  clock.close()
})
