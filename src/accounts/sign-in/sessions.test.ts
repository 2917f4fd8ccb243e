import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { beforeEach, describe, it } from 'node:test'

import { openTestDatabase } from '../../../test/support/database.ts'
import { transaction } from '../../db/transaction.ts'
import type { AccountId } from '../../ids.ts'
import { createAccount, setSuspended } from '../accounts.ts'
import { DEFAULT_PLANS } from '../plans.ts'
import { changePassword, hashPassword, setPassword, signIn } from './passwords.ts'
import { readSession, startSession } from './sessions.ts'

const PASSWORD = 'correct horse'
const CLIENT = { address: '192.0.2.7', userAgent: 'Firefox' }
const NOW = Date.parse('2026-11-15T12:30:00.000Z')
const DAY_MS = 86_400_000

const database = await openTestDatabase()
const { pool } = database
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
const read = (token: string, atMs = NOW) => readSession(pool, token, atMs)
const reset = (account: AccountId, password: string): Promise<void> =>
  transaction(pool, (client) => setPassword(client, account, password))
const wrongCredentials = { code: 'wrong_credentials' }

describe('signing in', () => {
  it('with the e-mail in any case and the password: the token finds the session again', async () => {
    const { id } = await owner()
    const { session, token } = await start('Owner@Example.com')
    const told = { account: id, email: 'owner@example.com', plan: 'pro', role: 'owner' }
    assert.deepEqual({ ...session, id: 0 }, { id: 0, ...told })
    assert.deepEqual(await read(token), { session, renewed: false })
    const { rows } = await pool.query('select address, user_agent from sign_in_session')
    assert.deepEqual(rows, [{ address: CLIENT.address, user_agent: CLIENT.userAgent }])
  })

  it('the token is random and stored only as its hash; one that is changed, or none, finds nothing', async () => {
    await owner()
    const [{ token }, second] = [await start(), await start()]
    assert.match(token, /^pp_se_[\w-]{43}$/)
    assert.notEqual(token, second.token)
    const { rows } = await pool.query('select s::text as row from sign_in_session s')
    assert(!JSON.stringify(rows).includes(token.slice(6)))
    for (const wrong of [token.slice(0, -1), `${token}x`, `~${token}`, 'pp_se_', '', 'x'.repeat(10_000)]) {
      assert.equal(await read(wrong), null)
    }
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
    for (const email of ['no e-mail', 'a\0b']) await assert.rejects(start(email), wrongCredentials)
    assert.equal((await pool.query('select from sign_in_session')).rowCount, 0)
  })

  it('not to a suspended account, which only a client that knows the password is told', async () => {
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
})

describe('the end of a session', () => {
  it('a week without use', async () => {
    await owner()
    const [used, unused] = [await start(), await start()]
    assert.notEqual(await read(used.token, NOW + 7 * DAY_MS - 1), null)
    assert.equal(await read(unused.token, NOW + 7 * DAY_MS), null)
  })

  it('thirty days, even if it is used every day; it is renewed at most once a day', async () => {
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

it('of two changes of the password at once, one wins', async () => {
  await owner()
  const { session } = await start()
  const both = await Promise.allSettled(
    ['first horse', 'second horse'].map((next) =>
      changePassword(pool, session, { current: PASSWORD, next }, NOW),
    ),
  )
  assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
})
