import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { after, before, beforeEach, describe, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../../test/support/database.ts'
import { transaction } from '../../db/transaction.ts'
import type { AccountId } from '../../ids.ts'
import { createAccount, setSuspended } from '../accounts.ts'
import { DEFAULT_PLANS } from '../plans.ts'
import { changePassword, hashPassword, setPassword, signIn } from './passwords.ts'
import { endSession, IDLE_DAYS, readSession, SESSION_DAYS, startSession } from './sessions.ts'

const PASSWORD = 'correct horse'
const CLIENT = { address: '192.0.2.7', userAgent: 'Firefox' }
const NOW = Date.parse('2026-11-15T12:30:00.000Z')
const DAY_MS = 86_400_000

let database: TestDatabase
before(async () => {
  database = await testDatabase()
})
after(() => database.close())
beforeEach(() => database.pool.query('delete from account'))

/** A hash takes a tenth of a second. */
const HASH = await hashPassword(PASSWORD)
async function owner(email = 'owner@example.com', hash: string | null = HASH) {
  const account = await createAccount(database.pool, DEFAULT_PLANS, { email, plan: 'pro', password: null })
  await database.pool.query('update account set password_hash = $2 where id = $1', [account.id, hash])
  return account
}
const start = (email = 'owner@example.com', password = PASSWORD) =>
  signIn(database.pool, { email, password }, CLIENT, NOW)
const read = (token: string, atMs = NOW) => readSession(database.pool, token, atMs)
const wrongCredentials = { code: 'wrong_credentials' }

describe('signing in', () => {
  it('with the e-mail in any case and the password: the token finds the session again', async () => {
    const { id } = await owner()
    const { session, token } = await start('Owner@Example.com')
    assert.deepEqual(
      { ...session, id: 0 },
      { id: 0, account: id, email: 'owner@example.com', plan: 'pro', role: 'owner' },
    )
    assert.deepEqual(await read(token), { session, renewed: false })
    const { rows } = await database.pool.query('select address, user_agent from sign_in_session')
    assert.deepEqual(rows, [{ address: CLIENT.address, user_agent: CLIENT.userAgent }])
  })

  it('the token is random and stored only as its hash', async () => {
    await owner()
    const [first, second] = [(await start()).token, (await start()).token]
    assert.match(first, /^pp_se_[\w-]{43}$/)
    assert.notEqual(first, second)
    const { rows } = await database.pool.query('select s::text as row from sign_in_session s')
    assert(!JSON.stringify(rows).includes(first.slice(6)))
  })

  it('a wrong password, an unknown e-mail, an account without a password: the same refusal', async () => {
    await owner()
    await owner('none@example.com', null)
    for (const email of [
      'owner@example.com',
      'nobody@example.com',
      'none@example.com',
      'no e-mail',
      'a\0b',
    ]) {
      await assert.rejects(start(email, 'wrong horse'), wrongCredentials)
    }
    const { rowCount } = await database.pool.query('select from sign_in_session')
    assert.equal(rowCount, 0)
  })

  it('takes as long for an e-mail that has no account: one hash', async (t) => {
    await owner()
    const scrypt = t.mock.method(crypto, 'scrypt')
    syncBuiltinESMExports()
    t.after(() => {
      scrypt.mock.restore()
      syncBuiltinESMExports()
    })
    for (const [at, email] of ['owner@example.com', 'nobody@example.com'].entries()) {
      await assert.rejects(start(email, 'wrong horse'), wrongCredentials)
      assert.equal(scrypt.mock.callCount(), at + 1, email)
    }
  })

  it('not to a suspended account, which only a client that knows the password is told', async () => {
    const { id } = await owner()
    const { token } = await start()
    await setSuspended(database.pool, id, true, NOW)
    assert.equal(await read(token), null)
    await assert.rejects(start(), { code: 'account_suspended' })
    await assert.rejects(start('owner@example.com', 'wrong horse'), wrongCredentials)
    assert.equal(await startSession(database.pool, id, CLIENT, NOW), null)
    await setSuspended(database.pool, id, false, NOW)
    assert.notEqual(await startSession(database.pool, id, CLIENT, NOW), null)
  })

  it('a session that outlived the suspension of its account is refused', async () => {
    await owner()
    const { token } = await start()
    await database.pool.query('update account set suspended_at = now()')
    await assert.rejects(read(token), { code: 'account_suspended' })
  })

  it('a token that is changed, unknown, or none', async () => {
    await owner()
    const { token } = await start()
    for (const wrong of [token.slice(0, -1), `${token}x`, `~${token}`, 'pp_se_', '', 'x'.repeat(10_000)]) {
      assert.equal(await read(wrong), null)
    }
    assert.notEqual(await read(token), null)
  })
})

describe('the end of a session', () => {
  it('signing out ends it on the server, and no other', async () => {
    await owner()
    const [first, second] = [await start(), await start()]
    assert.equal(await endSession(database.pool, first.session.account, first.session.id), true)
    assert.equal(await read(first.token), null)
    assert.notEqual(await read(second.token), null)
    const stranger = await owner('stranger@example.com')
    assert.equal(await endSession(database.pool, stranger.id, second.session.id), false)
    assert.notEqual(await read(second.token), null)
  })

  it('a week without use', async () => {
    await owner()
    const { token } = await start()
    assert.notEqual(await read(token, NOW + IDLE_DAYS * DAY_MS - 1), null)
    const unused = await start()
    assert.equal(await read(unused.token, NOW + IDLE_DAYS * DAY_MS), null)
  })

  it('thirty days, even if it is used every day; it is renewed at most once a day', async () => {
    await owner()
    const { token } = await start()
    const found = []
    for (let hours = 12; hours <= SESSION_DAYS * 24; hours += 12) {
      found.push((await read(token, NOW + hours * 3_600_000))?.renewed)
    }
    assert.equal(found.at(-1), undefined)
    assert.equal(found.length, 2 * SESSION_DAYS)
    for (const [at, renewed] of found.slice(0, -1).entries()) assert.equal(renewed, at % 2 === 1, `${at}`)
  })

  it('with the account, and when its password is set anew', async () => {
    const { id } = await owner()
    const { token } = await start()
    await reset(id, 'another horse')
    assert.equal(await read(token), null)
    await assert.rejects(start(), wrongCredentials)
    const again = await start('owner@example.com', 'another horse')
    await database.pool.query('delete from account')
    assert.equal(await read(again.token), null)
  })

  it('a session that starts while the password is set anew does not outlive it', async () => {
    const { id } = await owner()
    for (let round = 0; round < 3; round++) {
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
})

describe('a change of password', () => {
  it('needs the old one, ends all other sessions, and goes on with a new token', async () => {
    await owner()
    const [here, elsewhere] = [await start(), await start()]
    const change = (current: string, next: string) =>
      changePassword(database.pool, here.session, { current, next }, NOW)
    await assert.rejects(change('wrong horse', 'another horse'), { code: 'wrong_password' })
    await assert.rejects(change(PASSWORD, 'short'), {
      code: 'invalid_field',
      word: 'password must have 8 to 128 characters',
    })
    assert.notEqual(await read(here.token), null)

    const token = await change(PASSWORD, 'another horse')
    assert.equal(await read(here.token), null)
    assert.equal(await read(elsewhere.token), null)
    assert.deepEqual((await read(token))?.session, here.session)
    await assert.rejects(start(), wrongCredentials)
  })

  it('of two at once, one wins', async () => {
    await owner()
    const { session } = await start()
    const both = await Promise.allSettled(
      ['first horse', 'second horse'].map((next) =>
        changePassword(database.pool, session, { current: PASSWORD, next }, NOW),
      ),
    )
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  })
})

function reset(account: AccountId, password: string): Promise<void> {
  return transaction(database.pool, (client) => setPassword(client, account, password))
}
