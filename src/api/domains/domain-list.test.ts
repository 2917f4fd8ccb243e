import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestApi, type TestApi } from '../../../test/support/api.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { takeRender } from '../../accounts/quota.ts'

let api: TestApi
before(async () => {
  api = await startTestApi()
})
after(() => api.close())

describe('GET /api/domains', () => {
  // Proves interface 4.1/1
  it('200: an account without domains', async () => {
    const { status, body } = await api.get('/api/domains', (await api.account()).key)
    assert.deepEqual([status, body], [200, { domains: [] }])
  })

  // Proves interface 4.1/1
  it('200: all domains of the caller, by name, with exactly the fields of the contract, and no others', async () => {
    const [owner, other] = [await api.account(), await api.account()]
    await api.domain(owner, 'b.example.com')
    await api.domain(owner, 'a.example.com')
    await api.domain(other, 'c.example.com')
    const { body } = await api.get('/api/domains', owner.key)
    const domains = body['domains'] as Record<string, unknown>[]
    assert.deepEqual(
      domains.map((domain) => domain['custom_domain']),
      ['a.example.com', 'b.example.com'],
    )
    assert.deepEqual(Object.keys(domains[0]!), [
      'id',
      'custom_domain',
      'origin_url',
      'ssl_enabled',
      'renders_used',
      'monthly_render_limit',
      'is_active',
      'created_at',
      'updated_at',
    ])
  })

  // Proves interface 1/7, interface 2/5
  it('200: renders of the UTC month, which begin anew with the next', async () => {
    const owner = await api.account()
    const domain = await api.domain(owner, 'counted.example.com')
    const used = async () =>
      ((await api.get('/api/domains', owner.key)).body['domains'] as Record<string, unknown>[])[0]![
        'renders_used'
      ]
    api.clock.atMs = Date.parse('2026-11-30T23:59:59.999Z')
    const limit = DEFAULT_PLANS['agency_plus']!.monthly_render_limit
    for (let n = 0; n < 3; n++) await takeRender(api.pool, domain.id, limit, api.clock.nowMs())
    assert.equal(await used(), 3)
    api.clock.atMs = Date.parse('2026-12-01T00:00:00.000Z')
    assert.equal(await used(), 0)
    await takeRender(api.pool, domain.id, limit, api.clock.nowMs())
    assert.equal(await used(), 1)
  })

  // Proves interface 4/3
  it('200: query parameters are none of its business', async () => {
    const { key } = await api.account()
    assert.equal((await api.get('/api/domains?page=2&limit=%00&api_key=x', key)).status, 200)
  })
})
