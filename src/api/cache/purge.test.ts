import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { assertAnswer, openApi, storePages, storeRedirectAndSitemap } from '../../../test/support/api.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { DomainName } from '../../ids.ts'
import { updateDomain } from '../../sites/domain-changes.ts'

const api = await openApi()
const owner = await api.account()
const domain = await api.domain(owner, 'shop.example.com')
const other = await api.domain(owner, 'other.example.com')
const stranger = await api.account()
const strangers = await api.domain(stranger, 'stranger.example.com')

beforeEach(async () => {
  await api.pool.query('truncate page, redirect, sitemap')
  await storePages(api, domain.id, ['/', '/a', '/a?x=1&y=2', '/blog/1', '/blog/2', '/blogs'])
  await storePages(api, other.id, ['/', '/a'])
  await storePages(api, strangers.id, ['/'])
  for (const { id } of [domain, other, strangers]) await storeRedirectAndSitemap(api, id)
})

const purge = (body?: unknown) => api.post('/api/cache/purge', owner.key, body)
const purged = async (path?: string) => (await purge({ domain: domain.name, path })).body['keysDeleted']
const left = async (id = domain.id) =>
  (
    await api.database.column<string>(
      `select path from page where domain_id = $1 union all select 'redirect ' || path from redirect where domain_id = $1
       union all select 'sitemap ' || path from sitemap where domain_id = $1`,
      id,
    )
  ).sort()
const update = (name: DomainName, change: Parameters<typeof updateDomain>[3]) =>
  updateDomain(api.pool, owner.id, name, change, { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() })

describe('POST /api/cache/purge', () => {
  // Proves interface 1/5, interface 4.2/2, interface 4.2/9, interface 4.2/10
  it('200: without a path, the whole domain, with its redirects and sitemaps, and no other', async () => {
    const said = { message: 'Purged 8 cache entries of shop.example.com', keysDeleted: 8 }
    assertAnswer(await purge({ domain: 'SHOP.example.com' }), 200, said)
    assert.deepEqual(await left(), [])
    assert.deepEqual(await left(other.id), ['/', '/a', 'redirect /old', 'sitemap /sitemap.xml'])
  })

  // Proves interface 4.2/8, interface 4.2/10, decided "`purge` with `path`"
  it('200: with a path, that page, normalised as live traffic is, and the whole sitemap and redirect caches', async () => {
    assert.equal(await purged('/a'), 3)
    assert.deepEqual(await left(), ['/', '/a?x=1&y=2', '/blog/1', '/blog/2', '/blogs'])
    assert.equal(await purged('/a?y=2&utm_source=mail&x=1'), 1)
    assert.deepEqual(await left(), ['/', '/blog/1', '/blog/2', '/blogs'])
    await update(domain.name, { settings: { query: 'ignore' } })
    assert.equal(await purged('/blogs?y=2'), 1)
    await update(domain.name, { settings: { query: 'keep' } })
  })

  // Proves decided "`purge` with `path`"
  it('200: a star at the end purges by prefix', async () => {
    assert.equal(await purged('/blog/*'), 4)
    assert.deepEqual(await left(), ['/', '/a', '/a?x=1&y=2', '/blogs'])
  })

  // Proves interface 7/17, decided "Null or empty required fields"
  it('404: a domain that nobody has, and what is no name', async () => {
    for (const name of ['unknown.example.com', '127.0.0.1', 'a\0b.com', 'x'.repeat(5_000)]) {
      assertAnswer(await purge({ domain: name }), 404, 'Domain not found')
    }
  })

  // Proves interface 4.2/2, interface 7/17, decided "Missing or wrong fields in a body"
  // Proves decided "Null or empty required fields"
  it('400: a field that is wrong is named, and nothing happens', async () => {
    const cases: [unknown, string][] = [
      [undefined, 'domain is required'],
      [[], 'body must be an object'],
      [{ domain: 5 }, 'domain must be a string'],
    ]
    for (const [body, error] of cases) assertAnswer(await purge(body), 400, error)
    const paths: [unknown, string][] = [
      [5, 'must be a string'],
      ['a', 'must start with /'],
      ['/a\0', 'is not the path of a page'],
      [`/${'a'.repeat(2_048)}`, 'is not the path of a page'],
      [`/${'a'.repeat(2_048)}*`, 'is not the path of a page'],
    ]
    for (const [path, words] of paths) {
      assertAnswer(await purge({ domain: domain.name, path }), 400, `path ${words}`)
    }
    assert.equal((await left()).length, 8)
  })
})

describe('POST /api/cache/purge-all and GET /api/cache/stats', () => {
  const stats = async (key: string) => (await api.get('/api/cache/stats', key)).body

  // Proves interface 4.2/4, interface 4.2/6, interface 4.2/15, interface 4.2/17, decided "Inactive domain"
  // Proves decided "`stats.totalKeys`"
  it('200: stats says what purge-all then deletes: all domains of the caller, inactive ones too, and of nobody else', async () => {
    await update(domain.name, { isActive: false })
    assert.deepEqual(await stats(owner.key), { totalKeys: 12, domainCount: 2 })
    assertAnswer(await api.post('/api/cache/purge-all', owner.key), 200, {
      message: 'Purged 12 cache entries of 2 domains',
      keysDeleted: 12,
    })
    await update(domain.name, { isActive: true })
    assert.deepEqual(await stats(owner.key), { totalKeys: 0, domainCount: 2 })
    assert.deepEqual(await stats(stranger.key), { totalKeys: 3, domainCount: 1 })
  })
})

describe('GET /api/cache/list/:domain', () => {
  const list = (name: string) => api.get(`/api/cache/list/${name}`, owner.key)

  // Proves interface 1/2, interface 1/5, interface 2/11, interface 2/12, interface 4.2/1
  // Proves decided "List order"
  it('200: pages byte by byte in order, with their keys; no redirects, no sitemaps, no other domain', async () => {
    await api.pool.query('truncate page')
    await storePages(api, domain.id, ['/b', '/', '/B', '/a?x=1', '/a/', '/a', '/%C3%A9', '/"quoted"'])
    const paths = ['/', '/"quoted"', '/%C3%A9', '/B', '/a', '/a/', '/a?x=1', '/b']
    assertAnswer(await list('unknown.example.com'), 404, 'Domain not found')
    assertAnswer(await list('Shop.Example.com'), 200, {
      domain: 'shop.example.com',
      cachedPages: 8,
      pages: paths.map((path) => ({ path, cacheKey: `render:shop.example.com:${path}` })),
    })
  })

  // Proves decided "List order"
  it('a reader who goes away, or a database that fails, in the middle: the answer breaks off and is not taken for whole', async () => {
    await api.pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select $1, '/' || repeat('x', 500) || n, 200, '{}', '\\x00', 1, 'e', now() from generate_series(1, 30000) n`,
      [other.id],
    )
    const url = `${api.url}/api/cache/list/other.example.com`
    const headers = { 'x-api-key': owner.key }
    const gone = new AbortController()
    await (await fetch(url, { headers, signal: gone.signal })).body!.getReader().read()
    gone.abort()
    // Some 30 MB: more than the buffers between here and there hold while nobody reads.
    const response = await fetch(url, { headers })
    assert.equal(response.status, 200)
    await api.pool.query('alter table page rename to page_elsewhere')
    try {
      await assert.rejects(response.text(), /terminated/)
    } finally {
      await api.pool.query('alter table page_elsewhere rename to page')
    }
    assert.equal((await list('other.example.com')).body['cachedPages'], 30_002)
  })
})
