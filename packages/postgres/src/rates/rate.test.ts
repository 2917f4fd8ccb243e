import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { openTestDatabase } from '../../../../test/support/database.ts'
import { transaction } from '../transaction.ts'
import { Rate, type RateLimit, removeOldRates } from './rate.ts'

const { pool, column } = await openTestDatabase()
beforeEach(() => pool.query('truncate rate'))

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const START_MS = Date.UTC(2026, 10, 15, 12)
const LIMIT = { what: 'five', most: 5, withinMs: HOUR_MS }

const takeTimes = async (rate: Rate, times: number, nowMs: number) => {
  for (let n = 0; n < times; n++) assert.equal(await rate.take(pool, 'domain 1', { nowMs }), null, `use ${n}`)
}

for (const window of ['sliding', 'fixed'] as const) {
  describe(`a ${window} rate`, () => {
    const limit: RateLimit = { ...LIMIT, window }
    const rate = new Rate(limit)

    it('allows as many uses as its limit and not one more, and a refusal writes nothing', async () => {
      await takeTimes(rate, 5, START_MS)
      const before = await column('select row(moments, ends_at)::text from rate')
      assert.notEqual(await rate.take(pool, 'domain 1', { nowMs: START_MS + MINUTE_MS }), null)
      assert.deepEqual(await column('select row(moments, ends_at)::text from rate'), before)
    })

    it('allows exactly its limit of many uses at once', async () => {
      const taken = await Promise.all(Array.from({ length: 12 }, () => rate.take(pool, 'domain 1')))
      assert.equal(taken.filter((refusal) => refusal === null).length, 5)
    })

    it('gives its last place to one of two uses at once', async () => {
      await takeTimes(rate, 4, START_MS)
      const use = () => rate.take(pool, 'domain 1', { nowMs: START_MS })
      const taken = await Promise.all([use(), use()])
      assert.equal(taken.filter((refusal) => refusal === null).length, 1)
    })

    it('counts each subject and each limit alone', async () => {
      await takeTimes(rate, 5, START_MS)
      assert.equal(await rate.take(pool, 'domain 2', { nowMs: START_MS }), null)
      const other = new Rate({ ...limit, what: 'another' })
      assert.equal(await other.take(pool, 'domain 1', { nowMs: START_MS }), null)
      assert.notEqual(await rate.take(pool, 'domain 1', { nowMs: START_MS }), null)
    })

    it('says how long to wait, in whole seconds that are not too few', async () => {
      await takeTimes(rate, 5, START_MS)
      const refusal = await rate.take(pool, 'domain 1', { nowMs: START_MS + 59 * MINUTE_MS + 1 })
      assert.equal(refusal?.waitMs, MINUTE_MS - 1)
      assert.deepEqual(refusal?.headers, { 'Retry-After': '60' })
      const last = await rate.take(pool, 'domain 1', { nowMs: START_MS + HOUR_MS - 1 })
      assert.deepEqual(last?.headers, { 'Retry-After': '1' })
      assert.equal(await rate.take(pool, 'domain 1', { nowMs: START_MS + HOUR_MS }), null)
    })

    it('takes several uses together or none of them', async () => {
      assert.equal(await rate.take(pool, 'domain 1', { count: 3, nowMs: START_MS }), null)
      assert.notEqual(await rate.take(pool, 'domain 1', { count: 3, nowMs: START_MS }), null)
      assert.equal(await rate.take(pool, 'domain 1', { count: 2, nowMs: START_MS }), null)
      assert.notEqual(await rate.take(pool, 'domain 2', { count: 6, nowMs: START_MS }), null)
      assert.equal(await rate.take(pool, 'domain 2', { count: 5, nowMs: START_MS }), null)
    })

    it('a use that is given back may be taken again, and no more than there are', async () => {
      await rate.giveBack(pool, 'domain 1')
      await takeTimes(rate, 5, START_MS)
      await rate.giveBack(pool, 'domain 1')
      assert.equal(await rate.take(pool, 'domain 1', { nowMs: START_MS }), null)
      assert.notEqual(await rate.take(pool, 'domain 1', { nowMs: START_MS }), null)
      for (let n = 0; n < 7; n++) await rate.giveBack(pool, 'domain 1')
      await takeTimes(rate, 5, START_MS)
      assert.notEqual(await rate.take(pool, 'domain 1', { nowMs: START_MS }), null)
    })

    it('a use of a transaction that is rolled back does not count', async () => {
      await takeTimes(rate, 4, START_MS)
      const failing = transaction(pool, async (client) => {
        assert.equal(await rate.take(client, 'domain 1', { nowMs: START_MS }), null)
        throw new Error('rolled back')
      })
      await assert.rejects(failing, /rolled back/)
      assert.equal(await rate.take(pool, 'domain 1', { nowMs: START_MS }), null)
    })
  })
}

it('a sliding rate allows a use as soon as the oldest one is old enough', async () => {
  const rate = new Rate({ ...LIMIT, window: 'sliding' })
  await takeTimes(rate, 3, START_MS)
  await takeTimes(rate, 2, START_MS + 50 * MINUTE_MS)
  assert.equal(
    (await rate.take(pool, 'domain 1', { nowMs: START_MS + 51 * MINUTE_MS }))?.waitMs,
    9 * MINUTE_MS,
  )
  await takeTimes(rate, 3, START_MS + HOUR_MS)
  const refusal = await rate.take(pool, 'domain 1', { nowMs: START_MS + HOUR_MS })
  assert.equal(refusal?.waitMs, 50 * MINUTE_MS)
  assert.deepEqual(await column('select cardinality(moments) from rate'), [5])
})

it('a fixed rate begins anew an hour after the first use of its window, also if the last one was just now', async () => {
  const rate = new Rate({ ...LIMIT, window: 'fixed' })
  await takeTimes(rate, 1, START_MS)
  await takeTimes(rate, 4, START_MS + 59 * MINUTE_MS)
  assert.equal((await rate.take(pool, 'domain 1', { nowMs: START_MS + HOUR_MS - 1 }))?.waitMs, 1)
  await takeTimes(rate, 5, START_MS + HOUR_MS)
  const refusal = await rate.take(pool, 'domain 1', { nowMs: START_MS + HOUR_MS })
  assert.equal(refusal?.waitMs, HOUR_MS)
})

it('rows that count no more are removed a quarter of an hour later', async () => {
  await pool.query(
    `insert into rate select 'domain ' || m, 'five', '{}', now() - make_interval(mins => m) from unnest(array[-1, 14, 16, 17]) m`,
  )
  assert.equal(await removeOldRates(pool, { step: 1 }), 2)
  assert.deepEqual(await column('select subject from rate order by ends_at'), ['domain 14', 'domain -1'])
})
