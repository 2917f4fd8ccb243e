import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'

import {
  startTestApi,
  storePages,
  storeRedirectAndSitemap,
  type TestAccount,
  type TestApi,
} from '../../../test/support/api.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
})
after(() => api.close())

const list = (name: string, key = owner.key) => api.get(`/api/cache/list/${name}`, key)

describe('GET /api/cache/list/:domain', () => {
  // Proves interface 4.2/1
  it('200: a domain without pages', async () => {
    await api.domain(owner, 'empty.example.com')
    const { status, body } = await list('empty.example.com')
    assert.deepEqual([status, body], [200, { domain: 'empty.example.com', cachedPages: 0, pages: [] }])
  })

  // Proves interface 1/2, interface 1/5, interface 2/11, interface 2/12, interface 4.2/1
  // Proves decided "List order"
  it('200: pages byte by byte in order, with their keys; no redirects, no sitemaps, no other domain', async () => {
    const { id } = await api.domain(owner, 'shop.example.com')
    const other = await api.domain(owner, 'other.example.com')
    await storePages(api, id, ['/b', '/', '/B', '/a?x=1', '/a/', '/a', '/%C3%A9', '/"quoted"'])
    await storeRedirectAndSitemap(api, id)
    await storePages(api, other.id, ['/other'])
    const { body } = await list('Shop.Example.com')
    const paths = ['/', '/"quoted"', '/%C3%A9', '/B', '/a', '/a/', '/a?x=1', '/b']
    assert.deepEqual(body, {
      domain: 'shop.example.com',
      cachedPages: 8,
      pages: paths.map((path) => ({ path, cacheKey: `render:shop.example.com:${path}` })),
    })
  })

  for (const count of [999, 1_000, 1_001, 2_500]) {
    it(`200: ${count} pages, around the size of a batch, each once`, async () => {
      const { id } = await api.domain(owner, `n${count}.example.com`)
      const paths = Array.from({ length: count }, (_, n) => `/p/${String(n).padStart(6, '0')}`)
      await storePages(api, id, paths.toReversed())
      const { body } = await list(`n${count}.example.com`)
      assert.equal(body['cachedPages'], count)
      assert.deepEqual(
        (body['pages'] as { path: string }[]).map(({ path }) => path),
        paths,
      )
    })
  }

  it('200: HEAD sends no body', async () => {
    const { status, text } = await api.call('HEAD', '/api/cache/list/n2500.example.com', { key: owner.key })
    assert.deepEqual([status, text], [200, ''])
  })

  // Proves interface 4.2/7
  it("404: unknown, or another account's", async () => {
    const stranger = await api.account()
    for (const answer of [await list('unknown.example.com'), await list('shop.example.com', stranger.key)]) {
      assert.deepEqual([answer.status, answer.body], [404, { error: 'Domain not found' }])
    }
  })

  // Proves decided "List order"
  it('a reader who goes away in the middle leaves nothing behind', async () => {
    const gone = new AbortController()
    const response = await fetch(`${api.url}/api/cache/list/n2500.example.com`, {
      headers: { 'x-api-key': owner.key },
      signal: gone.signal,
    })
    await response.body!.getReader().read()
    gone.abort()
    assert.equal((await list('n2500.example.com')).body['cachedPages'], 2_500)
  })

  it('a database that fails in the middle breaks the answer off, so that it is not taken for whole', async () => {
    const { id } = await api.domain(owner, 'long.example.com')
    await api.pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select $1, '/' || repeat('x', 500) || n, 200, '{}', '\\x00', 1, 'e', now() from generate_series(1, 30000) n`,
      [id],
    )
    // Some 30 MB: more than the buffers between here and there hold while nobody reads.
    const response = await fetch(`${api.url}/api/cache/list/long.example.com`, {
      headers: { 'x-api-key': owner.key },
    })
    assert.equal(response.status, 200)
    await api.pool.query('alter table page rename to page_elsewhere')
    try {
      await assert.rejects(response.text(), /terminated/)
    } finally {
      await api.pool.query('alter table page_elsewhere rename to page')
    }
    assert.equal((await list('long.example.com')).body['cachedPages'], 30_000)
  })
})
