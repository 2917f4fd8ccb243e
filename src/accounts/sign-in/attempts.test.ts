import assert from 'node:assert/strict'
import { beforeEach, it } from 'node:test'

import { openTestDatabase } from '../../../test/support/database.ts'
import { AppError } from '../../errors.ts'
import { countedAttempt, FAILURE_WINDOW_MS, MOST_FAILURES } from './attempts.ts'

const NOW = Date.parse('2026-11-15T12:30:00.000Z')
const database = await openTestDatabase()
beforeEach(() => database.pool.query('truncate sign_in_failure'))

const wrong = () => Promise.reject(new AppError('wrong_credentials'))
const attempt = (tryIt: () => Promise<unknown>, email: string, address: string, atMs = NOW) =>
  countedAttempt(database.pool, { email, address }, atMs, 'wrong_credentials', tryIt)
const fail = (email: string, address: string, atMs = NOW) =>
  assert.rejects(attempt(wrong, email, address, atMs), { code: 'wrong_credentials' })
/** Whether somebody would be let in, without anything of it being counted. */
const check = (email: string, address: string, atMs = NOW) =>
  attempt(() => Promise.reject(new AppError('account_suspended')), email, address, atMs).catch((error) => {
    if (error.code !== 'account_suspended') throw error
  })
const refused = { code: 'too_many_failures' }

it('one address at one account: the fifth failure is the last, for this account and this address', async () => {
  for (let at = 0; at < MOST_FAILURES.pair; at++) {
    await check('a@example.com', '192.0.2.1')
    await fail('A@Example.com ', '192.0.2.1')
  }
  await assert.rejects(check('a@example.com', '192.0.2.1'), refused)
  await check('b@example.com', '192.0.2.1')
  await check('a@example.com', '192.0.2.2')
})

it('one address at many accounts: the twentieth is the last', async () => {
  for (let at = 0; at < MOST_FAILURES.address; at++) {
    await check(`user-${at}@example.com`, '192.0.2.1')
    await fail(`user-${at}@example.com`, '192.0.2.1')
  }
  await assert.rejects(check('other@example.com', '192.0.2.1'), refused)
  await check('other@example.com', '192.0.2.2')
})

it('many addresses at one account: the hundredth is the last', async () => {
  for (let at = 0; at < MOST_FAILURES.account; at++) {
    await check('a@example.com', `2001:db8::${at}`)
    await fail('a@example.com', `2001:db8::${at}`)
  }
  await assert.rejects(check('a@example.com', '192.0.2.1'), refused)
  await check('b@example.com', '192.0.2.1')
})

it('is forgiven after a quarter of an hour; the answer says when', async () => {
  for (let at = 0; at < MOST_FAILURES.pair; at++) await fail('a@example.com', '192.0.2.1', NOW + at)
  const refusal = await check('a@example.com', '192.0.2.1', NOW + 60_000).catch((error: unknown) => error)
  assert(refusal instanceof AppError)
  assert.equal(refusal.headers['Retry-After'], String(14 * 60))
  await assert.rejects(check('a@example.com', '192.0.2.1', NOW + FAILURE_WINDOW_MS - 1), refused)
  await check('a@example.com', '192.0.2.1', NOW + FAILURE_WINDOW_MS)
  await fail('a@example.com', '192.0.2.1', NOW + FAILURE_WINDOW_MS)
  await check('a@example.com', '192.0.2.1', NOW + FAILURE_WINDOW_MS)
})

it('a success makes what was mistyped before count no more, but not what was tried at others', async () => {
  for (let at = 1; at < MOST_FAILURES.pair; at++) await fail('a@example.com', '192.0.2.1')
  await attempt(async () => 'in', 'a@example.com', '192.0.2.1')
  for (let at = 1; at < MOST_FAILURES.pair; at++) await fail('a@example.com', '192.0.2.1')
  await check('a@example.com', '192.0.2.1')
  for (let at = 2 * MOST_FAILURES.pair - 2; at < MOST_FAILURES.address; at++)
    await fail(`u${at}@example.com`, '192.0.2.1')
  await assert.rejects(check('a@example.com', '192.0.2.1'), refused)
})

it('of many at once no more are looked at than may fail', async () => {
  let looked = 0
  const codes = await Promise.all(
    Array.from({ length: 30 }, () =>
      attempt(
        () => {
          looked++
          return wrong()
        },
        'a@example.com',
        '192.0.2.1',
      ).catch((error: AppError) => error.code),
    ),
  )
  assert.equal(looked, MOST_FAILURES.pair)
  assert.equal(codes.filter((code) => code === 'too_many_failures').length, 30 - MOST_FAILURES.pair)
  // Those who were refused count for nobody: one address does not lock an owner out everywhere.
  const { rows } = await database.pool.query('select distinct failures from sign_in_failure')
  assert.deepEqual(rows, [{ failures: MOST_FAILURES.pair }])
})

it('what was no failure is not counted, also many at once', async () => {
  for (let at = 0; at < MOST_FAILURES.address + 1; at++) {
    await attempt(async () => 'in', 'a@example.com', '192.0.2.1')
    await check('a@example.com', '192.0.2.1')
  }
  const { rows } = await database.pool.query('select sum(failures)::int as n from sign_in_failure')
  assert.deepEqual(rows, [{ n: 0 }])
})
