import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestApi, storePages, storeRedirectAndSitemap, type TestApi } from '../../../test/support/api.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { updateDomain } from '../../sites/domain-changes.ts'

let api: TestApi
before(async () => {
  api = await startTestApi()
})
after(() => api.close())

describe('POST /api/cache/purge-all and GET /api/cache/stats', () => {
  // Proves interface 4.2/4, interface 4.2/6, interface 4.2/15, interface 4.2/17, decided "Inactive domain"
  // Proves decided "`stats.totalKeys`"
  it('200: stats says what purge-all then deletes: all domains of the caller, inactive ones too, and of nobody else', async () => {
    const [owner, other] = [await api.account(), await api.account()]
    const domains = [await api.domain(owner, 'a.example.com'), await api.domain(owner, 'b.example.com')]
    const strangers = await api.domain(other, 'c.example.com')
    for (const { id } of [...domains, strangers]) {
      await storePages(api, id, ['/', '/a', '/b'])
      await storeRedirectAndSitemap(api, id)
    }
    const view = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    await updateDomain(api.pool, owner.id, domains[1]!.name, { isActive: false }, view)

    assert.deepEqual((await api.get('/api/cache/stats', owner.key)).body, { totalKeys: 10, domainCount: 2 })
    const { status, body } = await api.post('/api/cache/purge-all', owner.key)
    assert.deepEqual(
      [status, body],
      [200, { message: 'Purged 10 cache entries of 2 domains', keysDeleted: 10 }],
    )
    assert.deepEqual((await api.get('/api/cache/stats', owner.key)).body, { totalKeys: 0, domainCount: 2 })
    assert.deepEqual((await api.get('/api/cache/stats', other.key)).body, { totalKeys: 5, domainCount: 1 })
  })

  it('200: an account without domains', async () => {
    const { key } = await api.account()
    assert.deepEqual((await api.get('/api/cache/stats', key)).body, { totalKeys: 0, domainCount: 0 })
    assert.deepEqual((await api.post('/api/cache/purge-all', key)).body, {
      message: 'Purged 0 cache entries of 0 domains',
      keysDeleted: 0,
    })
  })

  // Proves decided "Content type of a body"
  it('200: a body, or none, or an empty one of any type, is not looked at', async () => {
    const { key } = await api.account()
    for (const body of [undefined, {}, { domain: 'x' }, []]) {
      assert.equal((await api.post('/api/cache/purge-all', key, body)).status, 200)
    }
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal((await api.call('POST', '/api/cache/purge-all', { key, body: '', headers })).status, 200)
  })
})
