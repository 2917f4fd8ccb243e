import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'

import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, 'one.example.com')
})
after(() => api.close())

// Proves decided "DNS state"
it('200 and 404: where the name of a domain leads', async () => {
  const { status, body } = await api.get('/api/domains/ONE.example.com/dns', owner.key)
  assert.equal(status, 200)
  assert.deepEqual(body, {
    domain: 'one.example.com',
    state: 'elsewhere',
    addresses: ['93.184.216.34'],
    aliases: [],
    checked_at: '2026-11-15T12:30:00.000Z',
    target: null,
    edge_port: null,
  })
  const other = await api.account()
  assert.equal((await api.get('/api/domains/one.example.com/dns', other.key)).status, 404)
})

// Proves decided "Domain check"
it('200: what would be wrong with a new domain, of the fields that are given', async () => {
  const check = async (fields: object) =>
    (await api.post('/api/domains/check', owner.key, fields)).body as Record<string, unknown>
  assert.deepEqual(await check({ custom_domain: 'Neu.Example.com' }), {
    custom_domain: { name: 'neu.example.com', problem: null },
    origin_url: null,
    target: null,
  })
  assert.deepEqual((await check({ custom_domain: 'one.example.com' }))['custom_domain'], {
    name: 'one.example.com',
    problem: 'is already registered',
  })
  assert.equal(
    ((await check({ custom_domain: 'one' }))['custom_domain'] as { name: string | null }).name,
    null,
  )
  assert.deepEqual((await check({ origin_url: 'https://Shop.example.com/' }))['origin_url'], {
    url: 'https://shop.example.com',
    problem: null,
    status: 200,
    warning: null,
  })
  assert.deepEqual((await check({ origin_url: 'http://127.0.0.1' }))['origin_url'], {
    url: null,
    problem:
      'must not be an internal address, unless the operator allows it (PREPAINT_ALLOW_PRIVATE_ORIGINS)',
    status: null,
    warning: null,
  })
  const { body } = await api.get('/api/domains', owner.key)
  assert.equal((body['domains'] as unknown[]).length, 1)
})
