import assert from 'node:assert/strict'
import { it } from 'node:test'
import { assertAnswer, openApi } from '../../../../test/support/api.ts'
import { until } from '../../../../test/support/condition.ts'

const api = await openApi()
const owner = await api.account()
const cookie = await api.session(owner)
const PATH = '/api/domains/shop.example.com/site-token'
await api.domain(owner, 'shop.example.com')

const asOwner = (method: string, path = PATH) => api.call(method, path, { cookie })
const offer = (token: string) =>
  api.call('POST', '/api/render', { token, body: { url: 'https://shop.example.com/' } })

// Proves decided "Site tokens"
it('201: a token with at least 190 random bits, which is told once and of which only the hash is stored', async () => {
  assert.deepEqual((await asOwner('GET')).body, { site_token: null })
  const { status, body } = await asOwner('POST')
  assert.equal(status, 201)
  const token = String(body['token'])
  assert.match(token, /^pp_site_[\w-]{32,}$/)
  assert.equal(body['replaces_until'], null)
  const { rows } = await api.pool.query('select * from site_token')
  assert(!JSON.stringify(rows).includes(token))
  const created_at = new Date(api.clock.nowMs()).toISOString()
  const shown = { created_at, last_used_at: null, replaces_until: null, created_by: owner.email }
  assert.deepEqual((await asOwner('GET')).body, { site_token: shown })
  assert.deepEqual((await api.get(PATH, owner.key)).body, { site_token: shown })
  assert.equal((await offer(token)).status, 200)
  const used = async () =>
    ((await asOwner('GET')).body['site_token'] as { last_used_at: string | null }).last_used_at
  assert.equal(await until('the use is noted', used), created_at)
})

// Proves decided "Site tokens"
it('200: a new token leaves the old one valid for seven days; DELETE ends both at once', async () => {
  const first = String((await asOwner('POST')).body['token'])
  const { body } = await asOwner('POST')
  const replaced = new Date(api.clock.nowMs() + 7 * 86_400_000).toISOString()
  assert.equal(body['replaces_until'], replaced)
  const second = String(body['token'])
  assert.deepEqual([(await offer(first)).status, (await offer(second)).status], [200, 200])
  const shown = (await asOwner('GET')).body['site_token'] as { replaces_until: string }
  assert.equal(shown.replaces_until, replaced)
  assert.deepEqual((await asOwner('DELETE')).body, { deleted: { domain: 'shop.example.com' } })
  for (const token of [first, second]) assertAnswer(await offer(token), 401, 'Invalid API key')
  assert.deepEqual((await asOwner('GET')).body, { site_token: null })
  assert.equal((await asOwner('DELETE')).status, 200)
})

it('401: an API key makes and ends no token; a site token is a key for nothing else', async () => {
  for (const method of ['POST', 'DELETE']) {
    assertAnswer(await api.call(method, PATH, { key: owner.key }), 401, 'Sign in first')
  }
  const token = String((await asOwner('POST')).body['token'])
  for (const { method, url } of api.contract.operations.filter(({ security }) => security === 'ApiKey')) {
    const path = url.replace('{domain}', 'shop.example.com')
    assertAnswer(await api.call(method, path, { key: token }), 401, 'Invalid API key')
  }
  const request = { token, body: { all: true } }
  assertAnswer(await api.call('POST', '/api/webhook/refresh', request), 401, 'Invalid token')
})

it('404: a domain that is unknown or of another account', async () => {
  await api.domain(await api.account(), 'other.example.com')
  for (const name of ['nobody.example.com', 'other.example.com']) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      assertAnswer(await asOwner(method, `/api/domains/${name}/site-token`), 404, 'Domain not found')
    }
  }
})
