import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  startTestApi,
  storePages,
  storeRedirectAndSitemap,
  type TestAccount,
  type TestApi,
} from '../../../test/support/api.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { DomainId, DomainName } from '../../ids.ts'
import { updateDomain } from '../../sites/domain-changes.ts'

let api: TestApi
let owner: TestAccount
let domain: { id: DomainId; name: DomainName }
let other: { id: DomainId; name: DomainName }
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  domain = await api.domain(owner, 'shop.example.com')
  other = await api.domain(owner, 'other.example.com')
})
after(() => api.close())

beforeEach(async () => {
  await api.pool.query('truncate page, redirect, sitemap')
  await storePages(api, domain.id, ['/', '/a', '/a?x=1&y=2', '/blog/1', '/blog/2', '/blogs'])
  await storeRedirectAndSitemap(api, domain.id)
  await storePages(api, other.id, ['/', '/a'])
  await storeRedirectAndSitemap(api, other.id)
})

const purge = (body?: unknown) => api.post('/api/cache/purge', owner.key, body)
const left = async (id = domain.id) => {
  const { rows } = await api.pool.query<{ path: string }>(
    `select path from page where domain_id = $1 union all select 'redirect ' || path from redirect where domain_id = $1
     union all select 'sitemap ' || path from sitemap where domain_id = $1`,
    [id],
  )
  return rows.map(({ path }) => path).sort()
}

describe('POST /api/cache/purge', () => {
  // Proves interface 1/5, interface 4.2/2, interface 4.2/9, interface 4.2/10
  it('200: without a path, the whole domain, with its redirects and sitemaps, and no other', async () => {
    const { status, body } = await purge({ domain: 'SHOP.example.com' })
    assert.equal(status, 200)
    assert.deepEqual(body, { message: 'Purged 8 cache entries of shop.example.com', keysDeleted: 8 })
    assert.deepEqual(await left(), [])
    assert.deepEqual(await left(other.id), ['/', '/a', 'redirect /old', 'sitemap /sitemap.xml'])
  })

  // Proves interface 4.2/8, interface 4.2/10, decided "`purge` with `path`"
  it('200: with a path, that page, and the whole sitemap and redirect caches', async () => {
    const { body } = await purge({ domain: domain.name, path: '/a' })
    assert.equal(body['keysDeleted'], 3)
    assert.deepEqual(await left(), ['/', '/a?x=1&y=2', '/blog/1', '/blog/2', '/blogs'])
  })

  it('200: a path is normalised as live traffic is', async () => {
    const { body } = await purge({ domain: domain.name, path: '/a?y=2&utm_source=mail&x=1' })
    assert.equal(body['keysDeleted'], 3)
    assert(!(await left()).includes('/a?x=1&y=2'))
  })

  it("200: a path is normalised by the domain's own query rule", async () => {
    const view = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    await updateDomain(api.pool, owner.id, domain.name, { settings: { query: 'ignore' } }, view)
    const { body } = await purge({ domain: domain.name, path: '/a?y=2' })
    await updateDomain(api.pool, owner.id, domain.name, { settings: { query: 'keep' } }, view)
    assert.equal(body['keysDeleted'], 3)
    assert(!(await left()).includes('/a'))
  })

  // Proves decided "`purge` with `path`"
  it('200: a star at the end purges by prefix', async () => {
    assert.equal((await purge({ domain: domain.name, path: '/blog/*' })).body['keysDeleted'], 4)
    assert.deepEqual(await left(), ['/', '/a', '/a?x=1&y=2', '/blogs'])
    assert.equal((await purge({ domain: domain.name, path: '/*' })).body['keysDeleted'], 4)
    assert.deepEqual(await left(), [])
  })

  it('200: nothing there is no error', async () => {
    await purge({ domain: domain.name })
    const { status, body } = await purge({ domain: domain.name, path: '/never' })
    assert.deepEqual([status, body['keysDeleted']], [200, 0])
  })

  // Proves decided "Inactive domain"
  it('200: an inactive domain can be purged', async () => {
    const view = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    await updateDomain(api.pool, owner.id, domain.name, { isActive: false }, view)
    assert.equal((await purge({ domain: domain.name })).body['keysDeleted'], 8)
    await updateDomain(api.pool, owner.id, domain.name, { isActive: true }, view)
  })

  // Proves interface 7/17, decided "Null or empty required fields"
  it('404: a domain that nobody has, and what is no name', async () => {
    for (const name of ['unknown.example.com', '127.0.0.1', 'x', '', 'a\0b.com', 'x'.repeat(5_000)]) {
      const { status, body } = await purge({ domain: name })
      assert.deepEqual([status, body], [404, { error: 'Domain not found' }], name)
    }
  })

  // Proves interface 4.2/2, interface 7/17, decided "Missing or wrong fields in a body"
  // Proves decided "Null or empty required fields"
  describe('400: a field that is wrong is named', () => {
    const cases: [unknown, string][] = [
      [undefined, 'domain is required'],
      [{}, 'domain is required'],
      [[], 'body must be an object'],
      ['null', 'domain is required'],
      [{ domain: 5 }, 'domain must be a string'],
      [{ domain: null }, 'domain must be a string'],
      [{ domain: 'shop.example.com', path: 5 }, 'path must be a string'],
      [{ domain: 'shop.example.com', path: null }, 'path must be a string'],
      [{ domain: 'shop.example.com', path: '' }, 'path must start with /'],
      [{ domain: 'shop.example.com', path: 'a' }, 'path must start with /'],
      [{ domain: 'shop.example.com', path: '*' }, 'path must start with /'],
      [{ domain: 'shop.example.com', path: '/a\0' }, 'path is not the path of a page'],
      [{ domain: 'shop.example.com', path: `/${'a'.repeat(2_048)}` }, 'path is not the path of a page'],
      [{ domain: 'shop.example.com', path: `/${'a'.repeat(2_048)}*` }, 'path is not the path of a page'],
    ]
    for (const [body, error] of cases) {
      it(`${JSON.stringify(body)?.slice(0, 60)}: ${error}`, async () => {
        const answer = await purge(body)
        assert.deepEqual([answer.status, answer.body], [400, { error }])
        assert.equal((await left()).length, 8)
      })
    }
  })
})
