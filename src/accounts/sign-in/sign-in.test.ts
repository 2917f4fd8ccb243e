import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../../test/support/database.ts'
import { silentLog } from '../../log.ts'
import { createAccount, setPassword } from '../accounts.ts'
import { DEFAULT_PLANS } from '../plans.ts'
import { createSignIn, type SignIn } from './sign-in.ts'

const PASSWORD = 'correct horse'
const FROM = { address: '192.0.2.7', userAgent: 'Firefox' }

let database: TestDatabase
let signIn: SignIn
before(async () => {
  database = await testDatabase()
  signIn = make()
})
after(() => database.close())
beforeEach(async () => {
  await database.pool.query('delete from account')
})

function make(options: { secure?: boolean; secret?: string } = {}): SignIn {
  return createSignIn({
    pool: database.pool,
    log: silentLog(),
    secret: async () => options.secret ?? 'n8s6Kq0dJx2vTz4wYb7cRf1hLm3pQg5uEa9iXo',
    secure: options.secure ?? false,
    baseUrl: 'http://127.0.0.1:3000',
  })
}

const owner = (email = 'owner@example.com') =>
  createAccount(database.pool, DEFAULT_PLANS, { email, plan: 'pro', password: PASSWORD })

const sent = (lines: readonly string[]) => lines.map((line) => line.split(';', 1)[0]).join('; ')

async function signedIn(email = 'owner@example.com') {
  const { session, cookies } = await signIn.signIn({ email, password: PASSWORD }, FROM)
  return { session, cookie: sent(cookies), cookies }
}

describe('signing in', () => {
  it('with e-mail in any case and password gives a session that the cookie finds again', async () => {
    const { id } = await owner()
    const { session, cookie } = await signedIn('Owner@Example.com')
    assert.deepEqual(
      { ...session, id: 0 },
      { id: 0, account: id, email: 'owner@example.com', plan: 'pro', role: 'owner' },
    )
    assert.deepEqual((await signIn.read(cookie))?.session, session)
    const { rows } = await database.pool.query('select ip_address, user_agent from sign_in_session')
    assert.deepEqual(rows, [{ ip_address: FROM.address, user_agent: FROM.userAgent }])
  })

  it('the cookie is for us only: no script, no other site, over https only there', async () => {
    await owner()
    const [line = ''] = (await signedIn()).cookies
    assert.match(line, /^prepaint-session=/)
    assert.match(line, /; HttpOnly/)
    assert.match(line, /; SameSite=Strict/i)
    assert.match(line, /; Path=\//)
    assert.doesNotMatch(line, /Secure|Domain/)

    const https = await make({ secure: true }).signIn(
      { email: 'owner@example.com', password: PASSWORD },
      FROM,
    )
    assert.match(https.cookies[0] ?? '', /^__Host-prepaint-session=.*; Secure/)
    assert.doesNotMatch(https.cookies[0] ?? '', /Domain/)
  })

  it('a wrong password, an unknown e-mail, an account without a password: the same refusal', async () => {
    await owner()
    await createAccount(database.pool, DEFAULT_PLANS, {
      email: 'none@example.com',
      plan: 'pro',
      password: null,
    })
    for (const email of ['owner@example.com', 'nobody@example.com', 'none@example.com', 'no e-mail']) {
      await assert.rejects(signIn.signIn({ email, password: 'wrong horse' }, FROM), {
        code: 'wrong_credentials',
      })
    }
    const { rowCount } = await database.pool.query('select from sign_in_session')
    assert.equal(rowCount, 0)
  })

  it('a changed cookie, one signed with another secret, and none: nobody', async () => {
    await owner()
    const { cookie } = await signedIn()
    assert.equal(await signIn.read(undefined), null)
    assert.equal(await signIn.read('prepaint-session=abc.def'), null)
    assert.equal(await signIn.read(cookie.replace(/=./, '=~')), null)
    const [name, value = ''] = cookie.split('=')
    assert.equal(await signIn.read(`${name}=${value.slice(0, -6)}`), null)
    assert.equal(await make({ secret: 'Zk3vXq8mWb1nRt6yLs9pJd2fHg5cVa7uTe0oIx4' }).read(cookie), null)
  })

  it('by a link gives such a session too', async () => {
    const { id } = await owner()
    const { session, cookies } = await signIn.admit(id, FROM)
    assert.equal(session.account, id)
    assert.deepEqual((await signIn.read(sent(cookies)))?.session, session)
  })
})

describe('the end of a session', () => {
  it('signing out ends it on the server too, and no other', async () => {
    await owner()
    const first = await signedIn()
    const second = await signedIn()
    const lines = await signIn.signOut(first.cookie)
    assert.match(lines[0] ?? '', /Max-Age=0/)
    assert.equal(await signIn.read(first.cookie), null)
    assert.notEqual(await signIn.read(second.cookie), null)
  })

  it('a week without use, and thirty days in any case', async () => {
    await owner()
    const { cookie } = await signedIn()
    const age = (days: number, left: string) =>
      database.pool.query(
        `update sign_in_session set created_at = now() - make_interval(days => $1), expires_at = now() + $2::interval`,
        [days, left],
      )
    await age(6, '1 minute')
    assert.notEqual(await signIn.read(cookie), null)
    await age(7, '-1 minute')
    assert.equal(await signIn.read(cookie), null)

    const used = await signedIn()
    await age(29, '6 days 23 hours')
    assert.notEqual(await signIn.read(used.cookie), null)
    await age(31, '6 days 23 hours')
    assert.equal(await signIn.read(used.cookie), null)
  })

  it('with the account, and when its password is set anew', async () => {
    const { id } = await owner()
    const { cookie } = await signedIn()
    await setPassword(database.pool, id, 'another horse')
    assert.equal(await signIn.read(cookie), null)
    await assert.rejects(signedIn(), { code: 'wrong_credentials' })
    const again = await signIn.signIn({ email: 'owner@example.com', password: 'another horse' }, FROM)
    await database.pool.query('delete from account')
    assert.equal(await signIn.read(sent(again.cookies)), null)
  })
})

describe('a change of password', () => {
  it('needs the old one, ends all other sessions, and goes on with a new token', async () => {
    await owner()
    const here = await signedIn()
    const elsewhere = await signedIn()
    const change = (current: string, next: string) => signIn.changePassword(here.cookie, { current, next })
    await assert.rejects(change('wrong horse', 'another horse'), { code: 'wrong_password' })
    await assert.rejects(change(PASSWORD, 'short'), {
      code: 'invalid_field',
      word: 'password must have 8 to 128 characters',
    })
    assert.notEqual(await signIn.read(here.cookie), null)

    const cookie = sent(await change(PASSWORD, 'another horse'))
    assert.equal(await signIn.read(here.cookie), null)
    assert.equal(await signIn.read(elsewhere.cookie), null)
    assert.equal((await signIn.read(cookie))?.session.email, 'owner@example.com')
    await assert.rejects(signedIn(), { code: 'wrong_credentials' })
  })
})
