import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'

import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'

let api: TestApi
let owner: TestAccount
let cookie: string
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  cookie = await api.session(owner)
  await api.domain(owner, 'one.example.com')
})
after(() => api.close())

describe('API keys', () => {
  it('201, 200, 204: made, shown once, used, listed, revoked', async () => {
    const made = await api.call('POST', '/api/keys', {
      cookie,
      body: { name: 'deploys', expires_at: '2027-01-31T12:00:00Z' },
    })
    assert.equal(made.status, 201)
    const { id, key } = made.body as { id: number; key: string }
    assert.equal((await api.get('/api/domains', key)).status, 200)

    const listed = await api.call('GET', '/api/keys', { cookie })
    const found = (listed.body['keys'] as { id: number; name: string; expires_at: string }[]).find(
      (each) => each.id === id,
    )
    assert.deepEqual([found?.name, found?.expires_at], ['deploys', '2027-01-31T12:00:00.000Z'])
    assert(!listed.text.includes(key))

    assert.equal((await api.call('DELETE', `/api/keys/${id}`, { cookie })).status, 204)
    assert.equal((await api.get('/api/domains', key)).status, 401)
  })

  it('400, 403, 404: names what is wrong', async () => {
    const make = (body: object, by = cookie) => api.call('POST', '/api/keys', { cookie: by, body })
    assert.deepEqual((await make({ name: 'a', expires_at: 'tomorrow' })).body, {
      error: 'expires_at must be a time such as 2027-01-31T12:00:00Z',
    })
    assert.equal((await make({ name: 'a', expires_at: '2020-01-31T12:00:00Z' })).status, 400)
    assert.equal((await make({})).status, 400)
    const poor = await api.session(await api.account('agency'))
    assert.equal((await make({ name: 'a' }, poor)).status, 201)
    for (let at = 0; at < 3; at++) assert.equal((await make({ name: 'a' }, poor)).status, 201)
    assert.deepEqual((await make({ name: 'a' }, poor)).body, {
      error: 'API key limit reached (5 per account)',
    })
    for (const none of ['99999', '-1', '2147483648', '999999999999999', '9'.repeat(30)]) {
      assert.equal((await api.call('DELETE', `/api/keys/${none}`, { cookie })).status, 404, none)
      assert.equal((await api.call('DELETE', `/api/tokens/${none}`, { cookie })).status, 404, none)
    }
  })
})

describe('webhook tokens', () => {
  it('201, 200, 204: made, shown once, used, listed, revoked', async () => {
    const made = await api.call('POST', '/api/domains/one.example.com/tokens', {
      cookie,
      body: { name: 'cms' },
    })
    assert.equal(made.status, 201)
    const { id, token } = made.body as { id: number; token: string }
    const hook = () => api.call('POST', '/api/webhook/refresh', { token, body: { urls: ['/'] } })
    assert.equal((await hook()).status, 200)

    const listed = await api.call('GET', '/api/domains/one.example.com/tokens', { cookie })
    assert.equal((listed.body['tokens'] as { name: string }[])[0]?.name, 'cms')
    assert(!listed.text.includes(token))

    assert.equal((await api.call('DELETE', `/api/tokens/${id}`, { cookie })).status, 204)
    assert.equal((await hook()).status, 401)
  })

  it('403, 404: not on a plan without webhooks, not for a domain of another', async () => {
    const other = await api.account('agency')
    await api.domain(other, 'two.example.com')
    const theirs = await api.session(other)
    const make = (domain: string, by: string) =>
      api.call('POST', `/api/domains/${domain}/tokens`, { cookie: by, body: { name: 'cms' } })
    assert.deepEqual((await make('two.example.com', theirs)).body, {
      error: 'Webhook refresh requires Agency+ plan',
    })
    assert.equal((await make('one.example.com', theirs)).status, 404)
    assert.equal(
      (await api.call('GET', '/api/domains/one.example.com/tokens', { cookie: theirs })).status,
      404,
    )
  })
})
