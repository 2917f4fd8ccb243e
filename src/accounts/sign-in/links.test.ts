import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../../test/support/database.ts'
import { createAccount, findAccount } from '../accounts.ts'
import { DEFAULT_PLANS } from '../plans.ts'
import { createLink, hasOperator, type NewLink, readLink, useLink } from './links.ts'
import { verifyPassword } from './passwords.ts'
import { startSession } from './sessions.ts'

const NOW = Date.parse('2026-11-15T12:30:00.000Z')
const HOUR = 3_600_000
const PASSWORD = 'correct horse'

let database: TestDatabase
before(async () => {
  database = await testDatabase()
})
after(() => database.close())
beforeEach(() => database.pool.query('truncate account, sign_in_link cascade'))

const make = async (link: NewLink) => (await createLink(database.pool, DEFAULT_PLANS, link, NOW)).token
const read = (token: string, atMs = NOW) => readLink(database.pool, token, atMs)
const use = (token: string, input: { email?: string; password?: string } = {}, atMs = NOW) =>
  useLink(
    database.pool,
    DEFAULT_PLANS,
    token,
    { email: input.email ?? null, password: input.password ?? PASSWORD },
    atMs,
  )
const invitation = (email = 'guest@example.com'): NewLink => ({
  kind: 'invitation',
  email,
  plan: 'pro',
  role: 'owner',
})
const gone = { code: 'link_not_found' }

async function passwordOf(email: string): Promise<string> {
  const { rows } = await database.pool.query<{ password_hash: string }>(
    'select password_hash from account where email = $1',
    [email],
  )
  return rows[0]?.password_hash ?? ''
}

describe('the first link', () => {
  it("makes the operator's account, with the e-mail that he gives", async () => {
    assert.equal(await hasOperator(database.pool), false)
    const token = await make({ kind: 'first', plan: 'enterprise' })
    assert.deepEqual(await read(token), {
      kind: 'first',
      email: null,
      expires_at: new Date(NOW + 24 * HOUR).toISOString(),
    })
    const account = await use(token, { email: 'Boss@Example.com' })
    const { id, email, plan, role } = await findAccount(database.pool, 'boss@example.com')
    assert.deepEqual(
      { id, email, plan, role },
      {
        id: account,
        email: 'boss@example.com',
        plan: 'enterprise',
        role: 'operator',
      },
    )
    assert.equal(await hasOperator(database.pool), true)
  })

  it('lets nobody in once there is an operator', async () => {
    const token = await make({ kind: 'first', plan: 'pro' })
    const account = { email: 'boss@example.com', plan: 'pro', role: 'operator', password: PASSWORD } as const
    await createAccount(database.pool, DEFAULT_PLANS, account)
    await assert.rejects(read(token), gone)
    await assert.rejects(use(token, { email: 'late@example.com' }), gone)
  })

  it('a newer one ends the one before it', async () => {
    const older = await make({ kind: 'first', plan: 'pro' })
    const newer = await make({ kind: 'first', plan: 'pro' })
    await assert.rejects(read(older), gone)
    await read(newer)
  })
})

describe('an invitation', () => {
  it('makes the account that was offered, whatever e-mail is given', async () => {
    const token = await make(invitation('Guest@Example.com'))
    assert.equal((await read(token)).email, 'guest@example.com')
    await use(token, { email: 'other@example.com' })
    assert.equal((await findAccount(database.pool, 'guest@example.com')).role, 'owner')
    assert(await verifyPassword(PASSWORD, await passwordOf('guest@example.com')))
    await assert.rejects(findAccount(database.pool, 'other@example.com'), { code: 'account_not_found' })
  })

  it('names what is wrong, and then can be used still', async () => {
    await assert.rejects(make(invitation('nobody')), { code: 'invalid_field' })
    await assert.rejects(make({ ...invitation(), plan: 'gold' } as NewLink), { code: 'invalid_field' })
    const token = await make(invitation())
    await assert.rejects(use(token, { password: 'short' }), {
      code: 'invalid_field',
      word: 'password must have 8 to 128 characters',
    })
    await use(token)
  })

  it('is not made for somebody who has an account, and makes none twice', async () => {
    const token = await make(invitation())
    await createAccount(database.pool, DEFAULT_PLANS, {
      email: 'guest@example.com',
      plan: 'pro',
      password: null,
    })
    await assert.rejects(make(invitation()), { code: 'account_exists' })
    await assert.rejects(use(token), { code: 'account_exists' })
  })

  it('is known only by its hash', async () => {
    const token = await make(invitation())
    const { rows } = await database.pool.query('select l::text as row from sign_in_link l')
    assert(!JSON.stringify(rows).includes(token.slice(6)))
  })
})

describe('a reset', () => {
  it('sets the password and ends all sessions', async () => {
    const { id } = await createAccount(database.pool, DEFAULT_PLANS, {
      email: 'owner@example.com',
      plan: 'pro',
      password: 'forgotten horse',
    })
    await startSession(database.pool, id, { address: '', userAgent: '' }, NOW)
    const token = await make({ kind: 'reset', account: id })
    assert.equal((await read(token)).email, 'owner@example.com')
    assert.equal(await use(token), id)
    assert(await verifyPassword(PASSWORD, await passwordOf('owner@example.com')))
    const { rowCount } = await database.pool.query('select from sign_in_session')
    assert.equal(rowCount, 0)
  })
})

it('works once, of two at once for one of them', async () => {
  const token = await make(invitation())
  const both = await Promise.allSettled([use(token), use(token)])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  await assert.rejects(read(token), gone)
  await assert.rejects(use(token), gone)
})

it('ends: the first after a day, an invitation after a week, a reset after an hour', async () => {
  const { id } = await createAccount(database.pool, DEFAULT_PLANS, {
    email: 'owner@example.com',
    plan: 'pro',
    password: null,
  })
  const lives: [NewLink, number][] = [
    [{ kind: 'first', plan: 'pro' }, 24 * HOUR],
    [invitation(), 7 * 24 * HOUR],
    [{ kind: 'reset', account: id }, HOUR],
  ]
  for (const [link, life] of lives) {
    const token = await make(link)
    await read(token, NOW + life - 1)
    await assert.rejects(read(token, NOW + life), gone)
    await assert.rejects(use(token, { email: 'late@example.com' }, NOW + life), gone)
  }
})

it('a token that is none', async () => {
  for (const token of ['', 'pp_in_', 'x'.repeat(10_000)]) await assert.rejects(read(token), gone)
})
