import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { cookieOf, startTestApi, type TestApi, type TestRequest } from '../../../test/support/api.ts'
import { createAccount } from '../../accounts/accounts.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'

const PASSWORD = 'correct horse'
const HOME = { 'sec-fetch-site': 'same-origin' }

let api: TestApi
before(async () => {
  api = await startTestApi()
})
after(() => api.close())
beforeEach(async () => {
  await api.pool.query('truncate account, sign_in_failure cascade')
  await createAccount(api.pool, DEFAULT_PLANS, {
    email: 'a@example.com',
    plan: 'starter',
    password: PASSWORD,
  })
})

const signIn = (body: object = {}, headers: Record<string, string> = HOME) =>
  api.call('POST', '/api/session', { body: { email: 'a@example.com', password: PASSWORD, ...body }, headers })
const signedIn = async () => cookieOf((await signIn()).headers.getSetCookie())
const as = (cookie: string, more: TestRequest = {}): TestRequest => ({ cookie, ...more })

describe('signing in', () => {
  it('200: sets the cookie and says who it is; the cookie is enough for what a key may do, also on a plan without keys', async () => {
    const answer = await signIn({ email: 'A@Example.com' })
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, {
      account: {
        email: 'a@example.com',
        role: 'owner',
        plan: {
          name: 'starter',
          site_limit: 1,
          monthly_render_limit: 1_000,
          api_keys: false,
          webhooks: false,
        },
      },
    })
    const cookie = cookieOf(answer.headers.getSetCookie())
    assert.deepEqual((await api.call('GET', '/api/session', as(cookie))).body, answer.body)
    assert.deepEqual((await api.call('GET', '/api/domains', as(cookie))).body, { domains: [] })
  })

  it('401: a wrong password and an unknown e-mail are told alike', async () => {
    for (const body of [{ password: 'wrong' }, { email: 'b@example.com' }, { email: 'a\0@example.com' }]) {
      const { status, body: said, headers } = await signIn(body)
      assert.deepEqual([status, said], [401, { error: 'Wrong e-mail or password' }])
      assert.deepEqual(headers.getSetCookie(), [])
    }
  })

  it('429: after five wrong passwords, the right one too, for a quarter of an hour', async () => {
    for (let at = 0; at < 5; at++) assert.equal((await signIn({ password: 'wrong' })).status, 401)
    const refused = await signIn()
    assert.equal(refused.status, 429)
    assert.equal(refused.headers.get('retry-after'), '900')
    api.clock.atMs += 900_000
    assert.equal((await signIn()).status, 200)
  })

  it('400: names the field', async () => {
    assert.deepEqual((await signIn({ email: 7 })).body, { error: 'email must be a string' })
    assert.deepEqual((await signIn({ password: '' })).body, { error: 'password must not be empty' })
    assert.equal((await signIn({ password: 'x'.repeat(1_001) })).status, 400)
  })
})

describe('requests of another site', () => {
  it('403: nobody is signed in by one, and nothing is changed with the cookie of somebody', async () => {
    const cookie = await signedIn()
    const headers: Record<string, string>[] = [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { 'sec-fetch-site': 'cross-site', origin: api.url },
    ]
    for (const from of headers) {
      assert.equal((await signIn({}, from)).status, 403, JSON.stringify(from))
      const body = { custom_domain: 'a.example.com', origin_url: 'https://o.example.com' }
      const created = await api.call('POST', '/api/domains', { body, headers: { ...from, cookie } })
      assert.equal(created.status, 403, JSON.stringify(from))
      assert.deepEqual(created.body, { error: 'Request from another site refused' })
    }
  })

  it('a page of ours is known by Sec-Fetch-Site, in older browsers by Origin; reading needs neither', async () => {
    assert.equal((await signIn({}, { origin: api.url })).status, 200)
    const cookie = await signedIn()
    assert.equal((await api.call('GET', '/api/domains', { headers: { cookie } })).status, 200)
  })
})

describe('who is not signed in', () => {
  it('401: without a cookie, with a key instead, with a cookie that was changed', async () => {
    const owner = await api.account()
    const wants = { error: 'Sign in first' }
    for (const request of [{}, { key: owner.key }, as('prepaint-session=abc.def')]) {
      const { status, body } = await api.call('GET', '/api/session', request)
      assert.deepEqual([status, body], [401, wants])
    }
  })

  it('a key that was sent counts, whatever the cookie', async () => {
    const cookie = await signedIn()
    const { status, body } = await api.call('GET', '/api/domains', { cookie, key: 'pp_live_none' })
    assert.deepEqual([status, body], [401, { error: 'Invalid API key' }])
  })
})

describe('signing out', () => {
  it('204: here only', async () => {
    const [here, there] = [await signedIn(), await signedIn()]
    const answer = await api.call('DELETE', '/api/session', as(here))
    assert.equal(answer.status, 204)
    assert.match(answer.headers.getSetCookie()[0] ?? '', /^prepaint-session=;.*Max-Age=0/)
    assert.equal((await api.call('GET', '/api/session', as(here))).status, 401)
    assert.equal((await api.call('GET', '/api/session', as(there))).status, 200)
  })

  it('200: everywhere', async () => {
    const [here, there] = [await signedIn(), await signedIn()]
    assert.deepEqual((await api.call('DELETE', '/api/sessions', as(here))).body, { ended: 2 })
    for (const cookie of [here, there]) {
      assert.equal((await api.call('GET', '/api/session', as(cookie))).status, 401)
    }
  })

  it('at one place, that the list shows; 404 for one that is not his', async () => {
    const [here, there] = [await signedIn(), await signedIn()]
    const { body } = await api.call('GET', '/api/sessions', as(here))
    const sessions = body['sessions'] as { id: number; current: boolean; address: string }[]
    assert.deepEqual(
      sessions.map(({ current, address }) => [current, address]),
      [
        [false, '127.0.0.1'],
        [true, '127.0.0.1'],
      ],
    )
    const other = await api.account()
    const strangers = await api.session(other)
    for (const id of ['0', 'x', '99999999999', String(sessions[0]!.id)]) {
      const { status } = await api.call('DELETE', `/api/sessions/${id}`, as(strangers))
      assert.equal(status, 404, id)
    }
    assert.equal((await api.call('DELETE', `/api/sessions/${sessions[0]!.id}`, as(here))).status, 204)
    assert.equal((await api.call('GET', '/api/session', as(there))).status, 401)
    assert.equal((await api.call('GET', '/api/session', as(here))).status, 200)
  })
})

describe('a change of password', () => {
  const change = (cookie: string, current: string, next = 'another horse') =>
    api.call('PUT', '/api/password', as(cookie, { body: { current_password: current, new_password: next } }))

  it('204: ends all other sessions and goes on in this one', async () => {
    const [here, there] = [await signedIn(), await signedIn()]
    const answer = await change(here, PASSWORD)
    assert.equal(answer.status, 204)
    const cookie = cookieOf(answer.headers.getSetCookie())
    assert.equal((await api.call('GET', '/api/session', as(cookie))).status, 200)
    for (const old of [here, there])
      assert.equal((await api.call('GET', '/api/session', as(old))).status, 401)
    assert.equal((await signIn()).status, 401)
    assert.equal((await signIn({ password: 'another horse' })).status, 200)
  })

  it('403: not with a wrong password; 400: not to one that is too short; 429: not by guessing', async () => {
    const cookie = await signedIn()
    assert.deepEqual((await change(cookie, PASSWORD, 'short')).body, {
      error: 'password must have 8 to 128 characters',
    })
    for (let at = 0; at < 5; at++) {
      assert.deepEqual((await change(cookie, 'wrong')).body, { error: 'Wrong password' })
    }
    assert.equal((await change(cookie, PASSWORD)).status, 429)
  })
})
