import assert from 'node:assert/strict'
import { beforeEach, it } from 'node:test'
import { openTestDatabase } from '../../test/support/database.ts'
import type { AccountId } from '../ids.ts'
import { takeOfRate } from './account-rate.ts'

const [red, blue] = [1, 2] as [AccountId, AccountId]
const FIVE = { what: 'five', most: 5, withinMs: 3_600_000 }

const database = await openTestDatabase()
await database.pool.query(
  `insert into account (email, plan) values ('a@example.com', 'pro'), ('b@example.com', 'pro')`,
)
beforeEach(() => database.pool.query('truncate account_rate'))

const take = (account: AccountId, rate = FIVE) => takeOfRate(database.pool, account, rate)
const age = (minutes: number) =>
  database.pool.query(
    `update account_rate set moments = array(select at - make_interval(mins => $1) from unnest(moments) at)`,
    [minutes],
  )

it('so many and not one more, of many at once too; others have their own', async () => {
  const taken = await Promise.all(Array.from({ length: 12 }, () => take(red)))
  assert.equal(taken.filter((seconds) => seconds === null).length, 5)
  assert.equal(await take(blue), null)
  assert.equal(await take(red, { ...FIVE, what: 'another' }), null)
})

it('the next one when the first is old enough; what was refused makes nobody wait longer', async () => {
  for (let n = 0; n < 3; n++) await take(red)
  await age(50)
  for (let n = 0; n < 2; n++) await take(red)
  const seconds = await take(red)
  assert(seconds !== null && seconds > 590 && seconds <= 600, `${seconds}`)
  await age(11)
  for (let n = 0; n < 3; n++) assert.equal(await take(red), null)
  assert.notEqual(await take(red), null)
  const { rows } = await database.pool.query('select cardinality(moments) as kept from account_rate')
  assert.deepEqual(rows, [{ kept: 5 }])
})
