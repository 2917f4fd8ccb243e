import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  startTestApi,
  storePages,
  storeRedirectAndSitemap,
  type TestAccount,
  type TestApi,
} from '../../../test/support/api.ts'
import { createToken } from '../../accounts/keys.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { createListener } from '../../db/listener.ts'
import { silentLog } from '../../log.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
})
after(() => api.close())

const remove = (name: string, key = owner.key) => api.call('DELETE', `/api/domains/${name}`, { key })
const NOT_FOUND = [404, { error: 'Domain not found' }]

describe('DELETE /api/domains/:domain', () => {
  // Proves interface 1/4, interface 2/10, interface 3/5, interface 4.1/3, interface 4.1/9
  it('200: tells what it removed, and all that hung on it is gone', async () => {
    const domain = await api.domain(owner, 'gone.example.com')
    const kept = await api.domain(owner, 'kept.example.com')
    for (const { id } of [domain, kept]) {
      await storePages(api, id, ['/', '/a'])
      await storeRedirectAndSitemap(api, id)
    }
    const { token } = await createToken(api.pool, owner.id, domain.name, 'cms', DEFAULT_PLANS)
    await api.post('/api/cache/refresh', owner.key, { domain: domain.name, paths: ['/b'] })
    await api.post('/api/cache/refresh', owner.key, { domain: kept.name, paths: ['/b'] })

    const { status, body } = await remove('GONE.example.com')
    assert.equal(status, 200)
    assert.deepEqual(body, {
      deleted: {
        id: domain.id,
        custom_domain: 'gone.example.com',
        origin_url: 'https://origin.example.com',
        is_active: true,
      },
    })
    for (const table of ['page', 'redirect', 'sitemap', 'job', 'webhook_token']) {
      const { rows } = await api.pool.query(`select 1 from ${table} where domain_id = $1`, [domain.id])
      assert.equal(rows.length, 0, table)
    }
    assert.equal((await api.post('/api/webhook/refresh', undefined, { urls: ['/'] })).status, 401)
    const hook = await api.call('POST', '/api/webhook/refresh', { token, body: { urls: ['/'] } })
    assert.deepEqual([hook.status, hook.body], [401, { error: 'Invalid token' }])
    assert.deepEqual((await api.get('/api/cache/stats', owner.key)).body, { totalKeys: 4, domainCount: 1 })
    assert.equal((await api.get('/api/domains/gone.example.com', owner.key)).status, 404)
  })

  it('200: the name is free again, also for somebody else, who gets none of its pages', async () => {
    const other = await api.account()
    const first = await api.domain(owner, 'moves.example.com')
    await storePages(api, first.id, ['/', '/secret'])
    await remove('moves.example.com')
    await api.domain(other, 'moves.example.com')
    assert.deepEqual((await api.get('/api/cache/list/moves.example.com', other.key)).body, {
      domain: 'moves.example.com',
      cachedPages: 0,
      pages: [],
    })
    assert.equal((await api.get('/api/cache/list/moves.example.com', owner.key)).status, 404)
  })

  it('200: every node forgets its pages and its name', async () => {
    const { id } = await api.domain(owner, 'told.example.com')
    const listener = await createListener(api.database.connection, silentLog())
    try {
      const heard: unknown[] = []
      const { promise, resolve } = Promise.withResolvers<void>()
      listener.on('invalidate', (payload) => {
        heard.push(JSON.parse(payload))
        if (heard.length === 3) resolve()
      })
      await listener.settled()
      await remove('told.example.com')
      await promise
      assert.deepEqual(heard, [{ domain: id }, { host: 'told.example.com' }, { account: owner.id }])
    } finally {
      await listener.close()
    }
  })

  // Proves interface 4.1/9, interface 4.1/10, interface 7/7
  it("404: unknown, deleted before, or another account's, which stays", async () => {
    await api.domain(owner, 'mine.example.com')
    const stranger = await api.account()
    for (const answer of [
      await remove('unknown.example.com'),
      await remove('gone.example.com'),
      await remove('mine.example.com', stranger.key),
    ]) {
      assert.deepEqual([answer.status, answer.body], NOT_FOUND)
    }
    assert.equal((await api.get('/api/domains/mine.example.com', owner.key)).status, 200)
  })

  it('404: of 50 that delete at once, one did it', async () => {
    const { id } = await api.domain(owner, 'once.example.com')
    await storePages(api, id, ['/', '/a', '/b'])
    const statuses = (await Promise.all(Array.from({ length: 50 }, () => remove('once.example.com')))).map(
      ({ status }) => status,
    )
    assert.deepEqual(
      [200, 404].map((wanted) => statuses.filter((status) => status === wanted).length),
      [1, 49],
    )
  })
})
