import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { DEFAULT_DOMAIN_SETTINGS } from '../../sites/domain-settings.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, 'shop.example.com')
  await api.domain(owner, 'bücher.example')
})
after(() => api.close())

describe('GET /api/domains/:domain', () => {
  // Proves decided "Update"
  it('200: the domain of the list, and its settings', async () => {
    const { status, body } = await api.get('/api/domains/shop.example.com', owner.key)
    assert.equal(status, 200)
    const { settings, indexnow_key, ...domain } = body['domain'] as Record<string, unknown>
    assert.deepEqual(settings, DEFAULT_DOMAIN_SETTINGS)
    assert.equal(indexnow_key, null)
    const list = (await api.get('/api/domains', owner.key)).body['domains'] as Record<string, unknown>[]
    assert.deepEqual(
      domain,
      list.find(({ custom_domain }) => custom_domain === 'shop.example.com'),
    )
  })

  // Proves interface 2/2
  it('200: in any case, and an IDN in either spelling', async () => {
    for (const name of [
      'SHOP.Example.Com',
      'b%C3%BCcher.example',
      'B%C3%9CCHER.example',
      'xn--bcher-kva.example',
    ]) {
      assert.equal((await api.get(`/api/domains/${name}`, owner.key)).status, 200, name)
    }
  })

  // Proves interface 3/7, decided "`ssl_enabled`"
  it('200: ssl_enabled follows what is stored about the certificate', async () => {
    const ssl = async () =>
      ((await api.get('/api/domains/shop.example.com', owner.key)).body['domain'] as Record<string, unknown>)[
        'ssl_enabled'
      ]
    assert.equal(await ssl(), false)
    const [from, to] = [new Date(api.clock.nowMs() + 30_000), new Date(api.clock.nowMs() + 60_000)]
    await api.pool.query(
      `insert into certificate (domain_id, source, chain, key_sealed, not_before, not_after)
       select id, 'own', '', '', $1, $2 from domain where custom_domain = 'shop.example.com'`,
      [from, to],
    )
    assert.equal(await ssl(), true, 'it is served, though the clock of its CA is ahead of ours')
    api.clock.atMs += 60_001
    assert.equal(await ssl(), false, 'it has ended')
    api.clock.atMs -= 60_001
  })

  it("404: unknown, another account's, or no name at all: existence is not told", async () => {
    const stranger = await api.account()
    const answers = [
      await api.get('/api/domains/unknown.example.com', owner.key),
      await api.get('/api/domains/shop.example.com', stranger.key),
      await api.get('/api/domains/127.0.0.1', owner.key),
      await api.get('/api/domains/%00', owner.key),
      await api.get('/api/domains/a%2Fb', owner.key),
      await api.get(`/api/domains/${'a'.repeat(5_000)}`, owner.key),
    ]
    for (const { status, body } of answers)
      assert.deepEqual([status, body], [404, { error: 'Domain not found' }])
  })
})
