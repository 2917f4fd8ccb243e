import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { assertAnswer, cookieOf, openApi } from '../../../test/support/api.ts'
import { createAccount } from '../../accounts/accounts.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { createLink } from '../../accounts/sign-in/links.ts'

const PASSWORD = 'correct horse'
const HOME = { 'sec-fetch-site': 'same-origin' }

const api = await openApi()
beforeEach(async () => {
  await api.pool.query('truncate account, sign_in_failure, sign_in_link cascade')
  const account = { email: 'a@example.com', plan: 'starter', password: PASSWORD }
  await createAccount(api.pool, DEFAULT_PLANS, account)
})

const signIn = (body: object = {}, headers: Record<string, string> = HOME) =>
  api.call('POST', '/api/session', { body: { email: 'a@example.com', password: PASSWORD, ...body }, headers })
const signedIn = async () => cookieOf((await signIn()).headers.getSetCookie())
const whoIs = (cookie: string) => api.call('GET', '/api/session', { cookie })
const WEAK = 'password must have 8 to 128 characters'

describe('signing in', () => {
  it('200: sets the cookie and says who it is; the cookie is enough for what a key may do, also on a plan without keys', async () => {
    const plan = {
      name: 'starter',
      site_limit: 1,
      monthly_render_limit: 1_000,
      api_keys: false,
      webhooks: false,
    }
    const account = { email: 'a@example.com', role: 'owner', plan }
    const answer = await signIn({ email: 'A@Example.com' })
    assertAnswer(answer, 200, { account })
    const cookie = cookieOf(answer.headers.getSetCookie())
    assertAnswer(await whoIs(cookie), 200, { account })
    assertAnswer(await api.call('GET', '/api/domains', { cookie }), 200, { domains: [] })
  })

  it('429: after five wrong passwords, the right one too, for a quarter of an hour', async () => {
    for (let at = 0; at < 5; at++) assert.equal((await signIn({ password: 'wrong' })).status, 401)
    const refused = await signIn()
    assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '900'])
    api.clock.atMs += 900_000
    assert.equal((await signIn()).status, 200)
  })

  it('400: names the field', async () => {
    assertAnswer(await signIn({ email: 7 }), 400, 'email must be a string')
    assertAnswer(await signIn({ password: '' }), 400, 'password must not be empty')
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
      assertAnswer(await signIn({}, from), 403, 'Request from another site refused')
      const body = { custom_domain: 'a.example.com', origin_url: 'https://o.example.com' }
      const created = await api.call('POST', '/api/domains', { body, headers: { ...from, cookie } })
      assertAnswer(created, 403, 'Request from another site refused')
    }
  })

  it('a page of ours is known by Sec-Fetch-Site, in older browsers by Origin; reading needs neither', async () => {
    assert.equal((await signIn({}, { origin: api.url })).status, 200)
    const cookie = await signedIn()
    assert.equal((await api.call('GET', '/api/domains', { headers: { cookie } })).status, 200)
  })
})

it('401: without a cookie, with a key instead, with a cookie that was changed; a key that was sent counts, whatever the cookie', async () => {
  const owner = await api.account()
  for (const request of [{}, { key: owner.key }, { cookie: 'prepaint-session=abc.def' }]) {
    assertAnswer(await api.call('GET', '/api/session', request), 401, 'Sign in first')
  }
  const both = { cookie: await signedIn(), key: 'pp_live_none' }
  assertAnswer(await api.call('GET', '/api/domains', both), 401, 'Invalid API key')
})

describe('signing out', () => {
  it('204: here only; 200: everywhere', async () => {
    const [here, there] = [await signedIn(), await signedIn()]
    const answer = await api.call('DELETE', '/api/session', { cookie: here })
    assert.equal(answer.status, 204)
    assert.match(answer.headers.getSetCookie()[0] ?? '', /^prepaint-session=;.*Max-Age=0/)
    assert.deepEqual([(await whoIs(here)).status, (await whoIs(there)).status], [401, 200])
    const third = await signedIn()
    assertAnswer(await api.call('DELETE', '/api/sessions', { cookie: there }), 200, { ended: 2 })
    for (const cookie of [there, third]) assert.equal((await whoIs(cookie)).status, 401)
  })

  it('at one place, that the list shows; 404 for one that is not his', async () => {
    const [here, there] = [await signedIn(), await signedIn()]
    const { body } = await api.call('GET', '/api/sessions', { cookie: here })
    const sessions = body['sessions'] as { id: number; current: boolean; address: string }[]
    assert.deepEqual(
      sessions.map(({ current, address }) => `${current} ${address}`),
      ['false 127.0.0.1', 'true 127.0.0.1'],
    )
    const end = async (id: number | string, cookie: string) =>
      (await api.call('DELETE', `/api/sessions/${id}`, { cookie })).status
    const strangers = await api.session(await api.account())
    for (const id of ['0', 'x', '99999999999', sessions[0]!.id]) assert.equal(await end(id, strangers), 404)
    assert.equal(await end(sessions[0]!.id, here), 204)
    assert.deepEqual([(await whoIs(here)).status, (await whoIs(there)).status], [200, 401])
  })
})

describe('a change of password', () => {
  const change = (cookie: string, current_password: string, new_password = 'another horse') =>
    api.call('PUT', '/api/password', { cookie, body: { current_password, new_password } })

  it('204: ends all other sessions and goes on in this one with a new cookie', async () => {
    const [here, there] = [await signedIn(), await signedIn()]
    const answer = await change(here, PASSWORD)
    assert.equal(answer.status, 204)
    assert.equal((await whoIs(cookieOf(answer.headers.getSetCookie()))).status, 200)
    for (const old of [here, there]) assert.equal((await whoIs(old)).status, 401)
    assert.equal((await signIn()).status, 401)
    assert.equal((await signIn({ password: 'another horse' })).status, 200)
  })

  it('403: not with a wrong password; 400: not to one that is too short; 429: not by guessing', async () => {
    const cookie = await signedIn()
    assertAnswer(await change(cookie, PASSWORD, 'short'), 400, WEAK)
    for (let at = 0; at < 5; at++) assertAnswer(await change(cookie, 'wrong'), 403, 'Wrong password')
    assert.equal((await change(cookie, PASSWORD)).status, 429)
    assert.equal((await whoIs(cookie)).status, 200)
  })
})

describe('a link that lets somebody in', () => {
  const GONE = 'This link is used, expired or invalid'
  const post = (what: 'read' | 'use', body: object, headers = HOME) =>
    api.call('POST', `/api/links/${what}`, { body, headers })
  const link = async () =>
    (await createLink(api.pool, DEFAULT_PLANS, { kind: 'first', plan: 'pro' }, api.clock.nowMs())).token
  const boss = { email: 'boss@example.com', password: PASSWORD }

  it('200: says what it offers, makes the account and signs it in; then it is gone', async () => {
    const token = await link()
    const expires_at = new Date(api.clock.nowMs() + 86_400_000).toISOString()
    assertAnswer(await post('read', { token }), 200, { link: { kind: 'first', email: null, expires_at } })
    const used = await post('use', { token, ...boss })
    assertAnswer(await whoIs(cookieOf(used.headers.getSetCookie())), 200, used.body)
    assert.equal((used.body['account'] as { role: string }).role, 'operator')
    for (const what of ['read', 'use'] as const) {
      assertAnswer(await post(what, { token, ...boss, email: 'other@example.com' }), 404, GONE)
    }
  })

  it('400, 403, 404, 409: says what is wrong, and the link can still be used', async () => {
    const token = await link()
    assertAnswer(await post('read', {}), 400, 'token is required')
    assertAnswer(await post('use', { ...boss, token: 'x' }), 404, GONE)
    assertAnswer(await post('use', { token, ...boss, password: 'short' }), 400, WEAK)
    assertAnswer(await post('use', { token, password: PASSWORD }), 400, 'email must be an e-mail address')
    assert.equal((await post('use', { token, ...boss, email: 'a@example.com' })).status, 409)
    assert.equal((await post('use', { token, ...boss }, { 'sec-fetch-site': 'cross-site' })).status, 403)
    assert.equal((await post('use', { token, ...boss })).status, 200)
  })
})
