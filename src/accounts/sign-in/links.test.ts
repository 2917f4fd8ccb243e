import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'

import { openTestDatabase } from '../../../test/support/database.ts'
import { createAccount, findAccount } from '../accounts.ts'
import { DEFAULT_PLANS } from '../plans.ts'
import { createLink, type NewLink, readLink, useLink } from './links.ts'
import { verifyPassword } from './passwords.ts'
import { startSession } from './sessions.ts'

const NOW = Date.parse('2026-11-15T12:30:00.000Z')
const HOUR = 3_600_000
const PASSWORD = 'correct horse'

const database = await openTestDatabase()
const { pool } = database
beforeEach(() => pool.query('truncate account, sign_in_link cascade'))

const make = async (link: NewLink) => (await createLink(pool, DEFAULT_PLANS, link, NOW)).token
const read = (token: string, atMs = NOW) => readLink(pool, token, atMs)
const use = (token: string, email: string | null = null, { password = PASSWORD, atMs = NOW } = {}) =>
  useLink(pool, DEFAULT_PLANS, token, { email, password }, atMs)
const invitation = (email = 'guest@example.com'): NewLink => ({
  ...{ kind: 'invitation', email, plan: 'pro', role: 'owner' },
})
const open = (email: string, role: 'owner' | 'operator' = 'owner') =>
  createAccount(pool, DEFAULT_PLANS, { email, plan: 'pro', role, password: 'forgotten horse' })
async function hasPassword(email: string): Promise<boolean> {
  const { rows } = await pool.query('select password_hash from account where email = $1', [email])
  return verifyPassword(PASSWORD, rows[0].password_hash)
}
const gone = { code: 'link_not_found' }

it('the first link lets nobody in once there is an operator; a newer one ends the one before it', async () => {
  const older = await make({ kind: 'first', plan: 'pro' })
  const newer = await make({ kind: 'first', plan: 'pro' })
  await assert.rejects(read(older), gone)
  await read(newer)
  await open('boss@example.com', 'operator')
  await assert.rejects(read(newer), gone)
  await assert.rejects(use(newer, 'late@example.com'), gone)
})

describe('an invitation', () => {
  it('makes the account that was offered, whatever e-mail is given; it is known only by its hash', async () => {
    const token = await make(invitation('Guest@Example.com'))
    const { rows } = await pool.query('select l::text as row from sign_in_link l')
    assert(!JSON.stringify(rows).includes(token.slice(6)))
    assert.equal((await read(token)).email, 'guest@example.com')
    await use(token, 'other@example.com')
    assert.equal((await findAccount(pool, 'guest@example.com')).role, 'owner')
    assert(await hasPassword('guest@example.com'))
    await assert.rejects(findAccount(pool, 'other@example.com'), { code: 'account_not_found' })
  })

  it('is not made for somebody who has an account, and makes none twice', async () => {
    const token = await make(invitation())
    await open('guest@example.com')
    await assert.rejects(make(invitation()), { code: 'account_exists' })
    await assert.rejects(use(token), { code: 'account_exists' })
  })
})

it('a reset sets the password and ends all sessions', async () => {
  const { id } = await open('owner@example.com')
  await startSession(pool, id, { address: '', userAgent: '' }, NOW)
  const token = await make({ kind: 'reset', account: id })
  assert.equal((await read(token)).email, 'owner@example.com')
  assert.equal(await use(token), id)
  assert(await hasPassword('owner@example.com'))
  assert.equal((await pool.query('select from sign_in_session')).rowCount, 0)
})

it('works once, of two at once for one of them; a token that is none', async () => {
  const token = await make(invitation())
  const both = await Promise.allSettled([use(token), use(token)])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  await assert.rejects(use(token), gone)
  for (const none of [token, '', 'pp_in_', 'x'.repeat(10_000)]) await assert.rejects(read(none), gone)
})

it('ends: the first after a day, an invitation after a week, a reset after an hour', async () => {
  const { id } = await open('owner@example.com')
  const lives: [NewLink, number][] = [
    [{ kind: 'first', plan: 'pro' }, 24 * HOUR],
    [invitation(), 7 * 24 * HOUR],
    [{ kind: 'reset', account: id }, HOUR],
  ]
  for (const [link, life] of lives) {
    const token = await make(link)
    await read(token, NOW + life - 1)
    await assert.rejects(read(token, NOW + life), gone)
    await assert.rejects(use(token, 'late@example.com', { atMs: NOW + life }), gone)
  }
})
