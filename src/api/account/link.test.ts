import assert from 'node:assert/strict'
import { after, before, beforeEach, it } from 'node:test'
import { cookieOf, startTestApi, type TestApi } from '../../../test/support/api.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { createLink } from '../../accounts/sign-in/links.ts'

let api: TestApi
before(async () => {
  api = await startTestApi()
})
after(() => api.close())
beforeEach(() => api.pool.query('truncate account, sign_in_link cascade'))

const headers = { 'sec-fetch-site': 'same-origin' }
const post = (what: 'read' | 'use', body: object) => api.call('POST', `/api/links/${what}`, { body, headers })
const first = async () =>
  (await createLink(api.pool, DEFAULT_PLANS, { kind: 'first', plan: 'enterprise' }, api.clock.nowMs())).token
const GONE = { error: 'This link is used, expired or invalid' }

it('200: says what it offers, makes the account and signs it in; then it is gone', async () => {
  const token = await first()
  const { body } = await post('read', { token })
  assert.deepEqual(body['link'], { kind: 'first', email: null, expires_at: '2026-11-16T12:30:00.000Z' })

  const used = await post('use', { token, email: 'boss@example.com', password: 'correct horse' })
  assert.equal(used.status, 200)
  const cookie = cookieOf(used.headers.getSetCookie())
  const who = await api.call('GET', '/api/session', { cookie })
  assert.deepEqual(who.body, used.body)
  assert.equal((who.body['account'] as { role: string }).role, 'operator')
  for (const what of ['read', 'use'] as const) {
    const again = await post(what, { token, email: 'other@example.com', password: 'correct horse' })
    assert.deepEqual([again.status, again.body], [404, GONE])
  }
})

it('400, 404, 409: says what is wrong, and the link can still be used', async () => {
  const token = await first()
  assert.deepEqual((await post('read', {})).body, { error: 'token is required' })
  assert.deepEqual((await post('use', { token: 'x', password: 'correct horse' })).body, GONE)
  assert.deepEqual((await post('use', { token, email: 'boss@example.com', password: 'short' })).body, {
    error: 'password must have 8 to 128 characters',
  })
  assert.deepEqual((await post('use', { token, password: 'correct horse' })).body, {
    error: 'email must be an e-mail address',
  })
  const { email } = await api.account()
  assert.equal((await post('use', { token, email, password: 'correct horse' })).status, 409)
  assert.equal(
    (await post('use', { token, email: 'boss@example.com', password: 'correct horse' })).status,
    200,
  )
})

it('403: not from another site', async () => {
  const token = await first()
  const body = { token, email: 'boss@example.com', password: 'correct horse' }
  const { status } = await api.call('POST', '/api/links/use', {
    body,
    headers: { 'sec-fetch-site': 'cross-site' },
  })
  assert.equal(status, 403)
  assert.equal((await post('read', { token })).status, 200)
})
