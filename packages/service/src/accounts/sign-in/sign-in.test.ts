import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { beforeEach, describe, it } from 'node:test'
import { AppError } from '@prepaint/contract/errors.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { openTestDatabase } from '../../../../../test/support/database.ts'
import { createAccount, findAccount, setSuspended } from '../accounts.ts'
import { countedAttempt, FAILURE_WINDOW_MS, MOST_FAILURES } from './attempts.ts'
import { createLink, type NewLink, readLink, useLink } from './links.ts'
import { changePassword, hashPassword, setPassword, signIn, verifyPassword } from './passwords.ts'
import { startSession, takeSession } from './sessions.ts'

const PASSWORD = 'correct horse'
const NOW = Date.parse('2026-11-15T12:30:00.000Z')
const database = await openTestDatabase()
const { pool } = database

describe('sessions', async () => {
  const CLIENT = { address: '192.0.2.7', userAgent: 'Firefox' }
  const DAY_MS = 86_400_000

  beforeEach(() => pool.query('delete from account'))

  /** A hash takes a tenth of a second. */
  const HASH = await hashPassword(PASSWORD)
  async function owner(email = 'owner@example.com', hash: string | null = HASH) {
    const account = await createAccount(pool, DEFAULT_PLANS, { email, plan: 'pro', password: null })
    await pool.query('update account set password_hash = $2 where id = $1', [account.id, hash])
    return account
  }
  const start = (email = 'owner@example.com', password = PASSWORD) =>
    signIn(pool, { email, password }, CLIENT, NOW)
  const read = (token: string, atMs = NOW) => takeSession(pool, token, atMs)
  const reset = (account: AccountId, password: string): Promise<void> =>
    transaction(pool, (client) => setPassword(client, account, password))
  const wrongCredentials = { code: 'wrong_credentials' }

  it('the token is random and stored only as its hash; one that is changed, or none, finds nothing', async () => {
    const { id } = await owner()
    const [{ session, token }, second] = [await start('Owner@Example.com'), await start()]
    assert.equal(session.account, id)
    assert.deepEqual(await read(token), { session, renewed: false })
    assert.match(token, /^pp_se_[\w-]{43}$/)
    assert.notEqual(token, second.token)
    const { rows } = await pool.query('select s::text as row from sign_in_session s')
    assert(!JSON.stringify(rows).includes(token.slice(6)))
    for (const wrong of [`${token}x`, `~${token}`, '', 'x'.repeat(10_000)])
      assert.equal(await read(wrong), null)
  })

  it('a wrong password, an unknown e-mail, an account without a password: the same refusal after one hash', async (t) => {
    await owner()
    await owner('none@example.com', null)
    const scrypt = t.mock.method(crypto, 'scrypt')
    syncBuiltinESMExports()
    t.after(() => {
      scrypt.mock.restore()
      syncBuiltinESMExports()
    })
    for (const [at, name] of ['owner', 'nobody', 'none'].entries()) {
      await assert.rejects(start(`${name}@example.com`, 'wrong horse'), wrongCredentials)
      assert.equal(scrypt.mock.callCount(), at + 1, name)
    }
    await assert.rejects(start('a\0b'), wrongCredentials)
  })

  it('nobody signs in to a suspended account, which only a client that knows the password is told', async () => {
    const { id } = await owner()
    const { token } = await start()
    await setSuspended(pool, id, true, NOW)
    assert.equal(await read(token), null)
    await assert.rejects(start(), { code: 'account_suspended' })
    await assert.rejects(start('owner@example.com', 'wrong horse'), wrongCredentials)
    assert.equal(await startSession(pool, id, CLIENT, NOW), null)
    await setSuspended(pool, id, false, NOW)
    const again = await startSession(pool, id, CLIENT, NOW)
    await pool.query('update account set suspended_at = now()')
    await assert.rejects(read(again!.token), { code: 'account_suspended' }, 'it outlived the suspension')
  })

  it('a session ends: a week without use', async () => {
    await owner()
    const [used, unused] = [await start(), await start()]
    assert.notEqual(await read(used.token, NOW + 7 * DAY_MS - 1), null)
    assert.equal(await read(unused.token, NOW + 7 * DAY_MS), null)
  })

  it('a session ends: thirty days, even if it is used every day; it is renewed at most once a day', async () => {
    await owner()
    const { token } = await start()
    const found = []
    for (let hours = 12; hours <= 30 * 24; hours += 12) {
      found.push((await read(token, NOW + hours * 3_600_000))?.renewed)
    }
    const each = Array.from({ length: 59 }, (_, at) => at % 2 === 1)
    assert.deepEqual(found, [...each, undefined])
  })

  it('a session that starts while the password is set anew does not outlive it', async () => {
    const { id } = await owner()
    for (let round = 0; round < 2; round++) {
      const [old, next] = round % 2 === 0 ? [PASSWORD, 'another horse'] : ['another horse', PASSWORD]
      const [, ...started] = await Promise.allSettled([
        reset(id, next),
        ...Array.from({ length: 4 }, () => start('owner@example.com', old)),
      ])
      for (const each of started) {
        if (each.status === 'fulfilled') assert.equal(await read(each.value.token), null)
        else assert.equal(each.reason.code, 'wrong_credentials')
      }
    }
  })

  it('of two changes of the password at once, one wins', async () => {
    await owner()
    const { session } = await start()
    const change = (next: string) => changePassword(pool, session, { current: PASSWORD, next }, NOW)
    const both = await Promise.allSettled([change('first horse'), change('second horse')])
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  })
})

describe('failed attempts', () => {
  beforeEach(() => database.pool.query('truncate rate'))

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

  for (const [kind, email, address, free] of [
    ['pair', () => 'a@example.com', () => '192.0.2.1', ['b@example.com', '192.0.2.1']],
    ['address', (at: number) => `user-${at}@example.com`, () => '192.0.2.1', ['x@example.com', '192.0.2.2']],
    ['account', () => 'a@example.com', (at: number) => `2001:db8::${at}`, ['b@example.com', '192.0.2.1']],
  ] as const) {
    it(`${MOST_FAILURES[kind]} failures are the most of one ${kind}`, async () => {
      for (let at = 0; at < MOST_FAILURES[kind]; at++) {
        await check(email(at), address(at))
        await fail(` ${email(at).toUpperCase()}`, address(at))
      }
      await assert.rejects(check(email(1_000), address(1_000)), refused)
      await check(free[0], free[1])
    })
  }

  it('is forgiven after a quarter of an hour; the answer says when', async () => {
    for (let at = 0; at < MOST_FAILURES.pair; at++) await fail('a@example.com', '192.0.2.1', NOW + at)
    const refusal = await check('a@example.com', '192.0.2.1', NOW + 60_000).catch((error: unknown) => error)
    assert(refusal instanceof AppError)
    assert.equal(refusal.headers['Retry-After'], String(14 * 60))
    await assert.rejects(check('a@example.com', '192.0.2.1', NOW + FAILURE_WINDOW_MS - 1), refused)
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
    const look = () => {
      looked++
      return wrong()
    }
    const attempts = Array.from({ length: 30 }, () => attempt(look, 'a@example.com', '192.0.2.1'))
    const codes = (await Promise.allSettled(attempts)).map((each) => 'reason' in each && each.reason.code)
    assert.equal(looked, MOST_FAILURES.pair)
    assert.equal(codes.filter((code) => code === 'too_many_failures').length, 30 - MOST_FAILURES.pair)
    // Those who were refused count for nobody: one address does not lock an owner out everywhere.
    const { rows } = await database.pool.query('select distinct cardinality(moments) as failures from rate')
    assert.deepEqual(rows, [{ failures: MOST_FAILURES.pair }])
  })
})

describe('links', async () => {
  const HOUR = 3_600_000

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

  it('an invitation makes the account that was offered, whatever e-mail is given; it is known only by its hash', async () => {
    const token = await make(invitation('Guest@Example.com'))
    const { rows } = await pool.query('select l::text as row from sign_in_link l')
    assert(!JSON.stringify(rows).includes(token.slice(6)))
    assert.equal((await read(token)).email, 'guest@example.com')
    await use(token, 'other@example.com')
    assert.equal((await findAccount(pool, 'guest@example.com')).role, 'owner')
    assert(await hasPassword('guest@example.com'))
    await assert.rejects(findAccount(pool, 'other@example.com'), { code: 'account_not_found' })
  })

  it('an invitation is not made for somebody who has an account, and makes none twice', async () => {
    const token = await make(invitation())
    await open('guest@example.com')
    await assert.rejects(make(invitation()), { code: 'account_exists' })
    await assert.rejects(use(token), { code: 'account_exists' })
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
})

// Made by @better-auth/utils 0.5.1 from a password with a ligature, which NFKC takes apart.
const FOREIGN =
  'e1705ba87328428481e1dee8439b7d92:fa5d302fe36f66daec9769663d74ab22e7fa6626780c7b38e65b120470ae5235afcbb97577824ad0175bd89d40c51db57aa9bd975643722fcccdb5517c71f39c'

it('reads hashes that better-auth wrote, which earlier versions used', async () => {
  assert.equal(await verifyPassword('correct horse ﬁne', FOREIGN), true)
  assert.equal(await verifyPassword('correct horse fine', FOREIGN), true)
  assert.equal(await verifyPassword('correct horse fin', FOREIGN), false)
})

it('writes the same form, with a salt of its own each time; a stored value that is no hash matches nothing', async () => {
  const [first, second] = [await hashPassword('secret-one'), await hashPassword('secret-one')]
  assert.match(first, /^[0-9a-f]{32}:[0-9a-f]{128}$/)
  assert.notEqual(first, second)
  assert.equal(await verifyPassword('secret-one', first), true)
  for (const broken of ['', ':', 'salt:', 'salt:zz', 'plain text'])
    assert.equal(await verifyPassword('', broken), false)
})
