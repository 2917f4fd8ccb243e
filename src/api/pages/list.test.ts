import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import {
  assertAnswer,
  openApi,
  storePages,
  storeRedirectAndSitemap,
  valuesOf,
} from '../../../test/support/api.ts'
import { LIST_LIMIT, PURGE_LIMIT, REFRESH_LIMIT } from './pages.ts'

const api = await openApi()
const owner = await api.account()

describe('the list of pages', async () => {
  const shop = (await api.domain(owner, 'shop.example.com')).id
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

  const list = (query: Record<string, string> = {}, name = 'shop.example.com') =>
    api.get(`/api/domains/${name}/pages?${new URLSearchParams(query)}`, owner.key)
  const pathsOf = (body: Record<string, unknown>) => valuesOf(body['pages'], 'path')

  describe('GET /api/domains/:domain/pages', () => {
    it('200: all that is to be known of each page', async () => {
      const { status, body } = await list({}, 'Shop.Example.com')
      assert.equal(status, 200)
      assert.deepEqual(pathsOf(body), ['/a', '/b?x=1', '/caf%C3%A9'])
      assert.deepEqual([body['matching'], body['next'], body['domain']], [3, null, 'shop.example.com'])
      assert.deepEqual((body['pages'] as object[])[0], {
        ...{ path: '/a', status: 200, html_bytes: 30, stored_bytes: 2, variants: ['desktop'] },
        ...{ rendered_at: '2026-11-15T11:30:00.000Z', fresh_until: '2026-11-16T11:30:00.000Z' },
        freshness: 'fresh',
        last_crawler: { name: 'Googlebot', category: 'search', visited_at: '2026-11-15T12:29:00.000Z' },
        last_render: { outcome: 'timed-out', ended_at: '2026-11-15T12:29:59.000Z' },
      })
      assert.deepEqual(valuesOf(body['pages'], 'freshness'), ['fresh', 'stale', 'kept'])
      assert.deepEqual(valuesOf(body['pages'], 'last_render').slice(1), [null, null])
    })

    // Proves decided "Lists of pages"
    it('200: piece by piece, in the order that is asked for', async () => {
      const seen: unknown[] = []
      let after: Record<string, string> = {}
      for (const matching of [3, null, null]) {
        const { body } = await list({ order: 'size', limit: '1', ...after })
        assert.equal(body['matching'], matching)
        seen.push(...pathsOf(body))
        after = { after: String(body['next']) }
      }
      assert.deepEqual(seen, ['/caf%C3%A9', '/b?x=1', '/a'])
      const { body } = await list({ order: 'last_crawler', direction: 'desc' })
      assert.deepEqual(pathsOf(body), ['/b?x=1', '/a', '/caf%C3%A9'], 'who was never asked for comes last')
    })

    it('200: what a search finds, as it is stored or as it is typed', async () => {
      const found = async (query: Record<string, string>) => pathsOf((await list(query)).body)
      assert.deepEqual(await found({ search: 'café' }), ['/caf%C3%A9'])
      assert.deepEqual(await found({ search: 'CAF%c3' }), ['/caf%C3%A9'])
      assert.deepEqual(await found({ search: '/b', match: 'prefix' }), ['/b?x=1'])
      assert.deepEqual(await found({ search: '  ' }), ['/a', '/b?x=1', '/caf%C3%A9'])
    })

    it('200: at most so many in one piece, and one more is refused', async () => {
      const { body } = await list({ limit: String(LIST_LIMIT) }, 'large.example.com')
      assert.equal(pathsOf(body).length, LIST_LIMIT)
      assert(typeof body['next'] === 'string')
      for (const limit of [String(LIST_LIMIT + 1), '0', 'x', '1.5']) {
        assertAnswer(await list({ limit }), 400, /^limit /)
      }
    })

    // Proves decided "Lists of pages"
    it('400: what is no order, no direction, no place in this list', async () => {
      const place = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const cases: [query: Record<string, string>, field: RegExp][] = [
        [{ order: 'domain_id' }, /^order must be /],
        [{ direction: 'up' }, /^direction must be /],
        [{ search: 'x'.repeat(2_049) }, /^search must have at most 2048 characters/],
        [{ after: 'x' }, /^after is not the "next"/],
        [{ after: place(['/a', '/a\0']) }, /^after is not/],
        [{ order: 'size', after: place(['1); drop table page', '/a']) }, /^after is not/],
        [{ order: 'size', after: place(['9999999999', '/a']) }, /^after is not/],
        [{ order: 'rendered', after: place(['2026-99-99 00:00', '/a']) }, /^after is not/],
      ]
      for (const [query, words] of cases) {
        assertAnswer(await list(query), 400, words)
      }
    })
  })
})

describe('pages that are chosen', async () => {
  const shop = await api.domain(owner, 'pick.example.com')
  const other = await api.domain(owner, 'pick-2.example.com')
  beforeEach(async () => {
    await api.pool.query('truncate page, redirect, sitemap, job, unstored_page')
    await api.pool.query('update domain set is_active = true')
    for (const { id } of [shop, other]) {
      await storePages(api, id, ['/', '/blog/1', '/blog/2', '/Blog', '/a%25'])
      await storeRedirectAndSitemap(api, id)
    }
  })

  const purge = (body: unknown) => api.post('/api/domains/pick.example.com/pages/purge', owner.key, body)
  const refresh = (body: unknown) => api.post('/api/domains/pick.example.com/pages/refresh', owner.key, body)
  const rows = async (sql: string, id = shop.id) =>
    (await api.pool.query<{ path: string }>(`${sql} order by path`, [id])).rows.map(({ path }) => path)
  const pages = (id = shop.id) => rows('select path from page where domain_id = $1', id)
  const jobs = () => rows(`select path from job where state = 'queued' and domain_id = $1`)
  const fill = (count: number) =>
    api.pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select $1, '/many/' || n, 200, '[]', '\\x00', 1, 'e', now() from generate_series(1, $2) n`,
      [shop.id, count],
    )

  describe('POST /api/domains/:domain/pages/purge', () => {
    it('200: those that are named, with redirects and sitemaps, and nothing of other domains', async () => {
      const { status, body } = await purge({ paths: ['/blog/1', '/Blog', '/blog/1', '/nowhere'] })
      const { keysDeleted, message } = body
      assert.deepEqual([status, keysDeleted, message], [200, 4, 'Purged 4 cache entries of pick.example.com'])
      assert.deepEqual(await pages(), ['/', '/a%25', '/blog/2'])
      assert.equal((await pages(other.id)).length, 5)
    })

    // Proves decided "Purge and refresh of selected pages"
    it('200: all that a search finds, and a render that began before brings none of them back', async () => {
      await api.pool.query(
        `insert into job (domain_id, account_id, path, priority, turn, state)
         select id, account_id, path, 0, 1, 'running' from domain, unnest(array['/blog/9', '/']) path where id = $1`,
        [shop.id],
      )
      assert.equal((await purge({ search: 'BLOG' })).body['keysDeleted'], 5)
      assert.deepEqual(await pages(), ['/', '/a%25'])
      assert.deepEqual(await rows('select path from job where superseded and domain_id = $1'), ['/blog/9'])
      await storePages(api, shop.id, ['/blog/1'])
      assert.equal((await purge({ search: '/Blog', match: 'prefix' })).body['keysDeleted'], 0)
      assert.equal((await purge({ search: '%' })).body['keysDeleted'], 1, 'no pattern')
    })

    it(`200 for ${PURGE_LIMIT} that a search finds, 400 for one more, which purges nothing`, async () => {
      await fill(PURGE_LIMIT + 1)
      assertAnswer(await purge({ search: '/many/' }), 400, 'Too many pages match (maximum 100000 at once)')
      assert.equal((await pages()).length, PURGE_LIMIT + 6)
      await api.pool.query(`delete from page where path = '/many/1'`)
      assert.equal((await purge({ search: '/many/' })).body['keysDeleted'], PURGE_LIMIT + 2)
    })
  })

  describe('POST /api/domains/:domain/pages/refresh', () => {
    it('200: those that are named are deleted and queued, stored or not', async () => {
      const { status, body } = await refresh({ paths: ['/blog/1', '/new'] })
      const message = 'Queued 2 pages of pick.example.com for refresh'
      assert.deepEqual([status, body], [200, { message, domain: 'pick.example.com', pagesQueued: 2 }])
      assert.deepEqual(await jobs(), ['/blog/1', '/new'])
      assert.deepEqual(await pages(), ['/', '/Blog', '/a%25', '/blog/2'])
    })

    it(`200 for ${REFRESH_LIMIT} that a search finds, 400 for one more, which touches nothing`, async () => {
      await fill(REFRESH_LIMIT + 1)
      assertAnswer(await refresh({ search: '/many/' }), 400, 'Too many pages match (maximum 10000 at once)')
      assert.deepEqual([(await pages()).length, await jobs()], [REFRESH_LIMIT + 6, []])
      await api.pool.query(`delete from page where path = '/many/1'`)
      const all = await refresh({ search: '/many/', match: 'prefix' })
      assert.equal(all.body['pagesQueued'], REFRESH_LIMIT)
      assert.equal((await jobs()).length, REFRESH_LIMIT)
    })

    // Proves decided "Purge and refresh of selected pages"
    it('403: an inactive domain', async () => {
      await api.pool.query('update domain set is_active = false where id = $1', [shop.id])
      assert.deepEqual((await refresh({ paths: ['/'] })).body, { error: 'Domain is not active' })
      assert.equal((await pages()).length, 5)
    })
  })

  it('400 for both: pages that are named and searched for, neither, or wrongly', async () => {
    const bad: [body: unknown, words: RegExp][] = [
      [{}, /^body must have "paths", or "search"/],
      [{ paths: ['/'], search: 'x' }, /^body must have/],
      [{ paths: [] }, /^paths must not be empty/],
      [{ paths: ['x'] }, /^paths\[0\] must start with \//],
      [{ paths: Array(1_001).fill('/') }, /must have/],
      [{ search: '   ' }, /^search must not be empty/],
      [{ search: 'x', match: 'regex' }, /^match must be "contains" or "prefix"/],
      [{ paths: ['//host/x'] }, /^paths\[0\] is not the path of a page/],
    ]
    for (const [body, words] of bad) {
      for (const act of [purge, refresh]) assertAnswer(await act(body), 400, words)
    }
    assert.equal((await pages()).length, 5)
  })
})
