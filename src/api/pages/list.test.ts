import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'

import { startTestApi, storePages, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { LIST_LIMIT } from './pages.ts'

let api: TestApi
let owner: TestAccount
let shop: number
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  shop = (await api.domain(owner, 'shop.example.com')).id
  const { id } = await api.domain(owner, 'shop2.example.com')
  await storePages(api, id, ['/p/other'])
  await storePages(
    api,
    (await api.domain(owner, 'large.example.com')).id,
    Array.from({ length: LIST_LIMIT + 1 }, (_, n) => `/p/${n}`),
  )
  await api.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     values ($1, '/a', 200, '[]', '\\x0000', 30, 'e', $2::timestamptz - interval '1 hour'),
            ($1, '/caf%C3%A9', 404, '[]', '\\x00', 10, 'e', $2::timestamptz - interval '2 hours'),
            ($1, '/b?x=1', 200, '[]', '\\x00', 20, 'e', $2::timestamptz - interval '25 hours')`,
    [shop, new Date(api.clock.atMs)],
  )
  await api.pool.query(
    `insert into last_visit values ($1, '/a', 'Googlebot', 'search', $2), ($1, '/b?x=1', 'GPTBot', 'ai', $3)`,
    [shop, new Date(api.clock.atMs - 60_000), new Date(api.clock.atMs)],
  )
  await api.pool.query(`insert into last_render values ($1, '/a', 'timed-out', $2)`, [
    shop,
    new Date(api.clock.atMs - 1_000),
  ])
})
after(() => api.close())

const list = (query: Record<string, string | number> = {}, name = 'shop.example.com', key = owner.key) => {
  const search = new URLSearchParams()
  for (const [field, value] of Object.entries(query)) search.set(field, String(value))
  return api.get(`/api/domains/${name}/pages?${search}`, key)
}
const pathsOf = (body: Record<string, unknown>) =>
  (body['pages'] as { path: string }[]).map(({ path }) => path)

describe('GET /api/domains/:domain/pages', () => {
  it('200: all that is to be known of each page', async () => {
    const { status, body } = await list({}, 'Shop.Example.com')
    assert.equal(status, 200)
    assert.deepEqual(pathsOf(body), ['/a', '/b?x=1', '/caf%C3%A9'])
    assert.deepEqual([body['matching'], body['next'], body['domain']], [3, null, 'shop.example.com'])
    assert.deepEqual((body['pages'] as object[])[0], {
      path: '/a',
      status: 200,
      html_bytes: 30,
      stored_bytes: 2,
      variants: ['desktop'],
      rendered_at: '2026-11-15T11:30:00.000Z',
      fresh_until: '2026-11-16T11:30:00.000Z',
      freshness: 'fresh',
      last_crawler: { name: 'Googlebot', category: 'search', visited_at: '2026-11-15T12:29:00.000Z' },
      last_render: { outcome: 'timed-out', ended_at: '2026-11-15T12:29:59.000Z' },
    })
    const others = (body['pages'] as Record<string, unknown>[]).slice(1)
    assert.deepEqual(
      others.map((page) => [page['freshness'], page['last_render']]),
      [
        ['stale', null],
        ['kept', null],
      ],
    )
  })

  // Proves decided "Lists of pages"
  it('200: piece by piece, in every order, forwards and backwards', async () => {
    const orders: [order: string, paths: string[]][] = [
      ['path', ['/a', '/b?x=1', '/caf%C3%A9']],
      ['status', ['/a', '/b?x=1', '/caf%C3%A9']],
      ['size', ['/caf%C3%A9', '/b?x=1', '/a']],
      ['rendered', ['/b?x=1', '/caf%C3%A9', '/a']],
      ['fresh_until', ['/b?x=1', '/caf%C3%A9', '/a']],
      ['last_crawler', ['/a', '/b?x=1', '/caf%C3%A9']],
      ['last_render', ['/a', '/b?x=1', '/caf%C3%A9']],
    ]
    for (const [order, paths] of orders) {
      const seen: string[] = []
      let after: Record<string, string> = {}
      for (let pieces = 0; pieces < 4; pieces++) {
        const { body } = await list({ order, limit: 1, ...after })
        assert.equal(body['matching'], pieces === 0 ? 3 : null)
        seen.push(...pathsOf(body))
        if (body['next'] === null) break
        after = { after: String(body['next']) }
      }
      assert.deepEqual(seen, paths, order)
    }
    const { body } = await list({ order: 'last_crawler', direction: 'desc' })
    assert.deepEqual(pathsOf(body), ['/b?x=1', '/a', '/caf%C3%A9'], 'who was never asked for comes last')
  })

  it('200: what a search finds, as it is stored or as it is typed', async () => {
    const found = async (query: Record<string, string>) => pathsOf((await list(query)).body)
    assert.deepEqual(await found({ search: 'café' }), ['/caf%C3%A9'])
    assert.deepEqual(await found({ search: 'CAF%c3' }), ['/caf%C3%A9'])
    assert.deepEqual(await found({ search: 'x=1' }), ['/b?x=1'])
    assert.deepEqual(await found({ search: '/b', match: 'prefix' }), ['/b?x=1'])
    assert.deepEqual(await found({ search: 'x=1', match: 'prefix' }), [])
    assert.deepEqual(await found({ search: '  ' }), ['/a', '/b?x=1', '/caf%C3%A9'])
  })

  it('200: at most so many in one piece, and one more is refused', async () => {
    const { body } = await list({ limit: LIST_LIMIT }, 'large.example.com')
    assert.equal(pathsOf(body).length, LIST_LIMIT)
    assert(typeof body['next'] === 'string')
    for (const limit of [LIST_LIMIT + 1, 0, 'x', 1.5]) {
      const refused = await list({ limit })
      assert.equal(refused.status, 400)
      assert.match(String(refused.body['error']), /^limit /)
    }
  })

  // Proves decided "Lists of pages"
  it('400: what is no order, no direction, no place in this list', async () => {
    const place = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const cases: [query: Record<string, string>, field: RegExp][] = [
      [{ order: 'domain_id' }, /^order must be /],
      [{ direction: 'up' }, /^direction must be /],
      [{ match: 'regex' }, /^match must be /],
      [{ search: 'x'.repeat(2_049) }, /^search must have at most 2048 characters/],
      [{ after: 'x' }, /^after is not the "next"/],
      [{ after: place({}) }, /^after is not/],
      [{ after: place([null, '/a']) }, /^after is not/],
      [{ after: place(['/a']) }, /^after is not/],
      [{ after: place(['/a', '/a', 1]) }, /^after is not/],
      [{ after: place(['/a', '/a\0']) }, /^after is not/],
      [{ order: 'size', after: place(['1); drop table page', '/a']) }, /^after is not/],
      [{ order: 'size', after: place(['9999999999', '/a']) }, /^after is not/],
      [{ order: 'rendered', after: place(['2026-99-99 00:00', '/a']) }, /^after is not/],
    ]
    for (const [query, words] of cases) {
      const { status, body } = await list(query)
      assert.equal(status, 400, JSON.stringify(query))
      assert.match(String(body['error']), words)
    }
  })

  it("404: another account's", async () => {
    const stranger = await api.account()
    assert.equal((await list({}, 'shop.example.com', stranger.key)).status, 404)
  })
})
