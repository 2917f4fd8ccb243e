import assert from 'node:assert/strict'
import { after, before, beforeEach, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../db/test-database.ts'
import { AppError } from '../errors.ts'
import {
  checkFailures,
  FAILURE_WINDOW_MS,
  forgetFailures,
  MOST_FAILURES,
  noteFailure,
} from './sign-in-failures.ts'

const NOW = Date.parse('2026-11-15T12:30:00.000Z')
let database: TestDatabase
before(async () => {
  database = await testDatabase()
})
after(() => database.close())
beforeEach(() => database.pool.query('truncate sign_in_failure'))

const fail = (email: string, address: string, atMs = NOW) =>
  noteFailure(database.pool, { email, address }, atMs)
const check = (email: string, address: string, atMs = NOW) =>
  checkFailures(database.pool, { email, address }, atMs)
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
  for (let at = 0; at < MOST_FAILURES.pair; at++) await fail('a@example.com', '192.0.2.1')
  await forgetFailures(database.pool, { email: 'a@example.com', address: '192.0.2.1' })
  await check('a@example.com', '192.0.2.1')
  for (let at = MOST_FAILURES.pair; at < MOST_FAILURES.address; at++)
    await fail(`u${at}@example.com`, '192.0.2.1')
  await assert.rejects(check('a@example.com', '192.0.2.1'), refused)
})

it('counts each of many at once', async () => {
  await Promise.all(Array.from({ length: 20 }, () => fail('a@example.com', '192.0.2.1')))
  const { rows } = await database.pool.query('select distinct failures from sign_in_failure')
  assert.deepEqual(rows, [{ failures: 20 }])
})
