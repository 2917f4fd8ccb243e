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

describe('GET /api/domains/:domain/pages', async () => {
  const shop = (await api.domain(owner, 'shop.example.com')).id
  const large = (await api.domain(owner, 'large.example.com')).id
  await storePages(api, large, numbered(LIST_LIMIT + 1))
  const nowMs = api.clock.atMs
  await api.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     values ($1, '/a', 200, '[]', '\\x0000', 30, 'e', $2::timestamptz - interval '1 hour'),
            ($1, '/caf%C3%A9', 404, '[]', '\\x00', 10, 'e', $2::timestamptz - interval '2 hours'),
            ($1, '/b?x=1', 200, '[]', '\\x00', 20, 'e', $2::timestamptz - interval '25 hours')`,
    [shop, new Date(nowMs)],
  )
  await api.pool.query(
    `insert into last_visit values ($1, '/a', 'Googlebot', 'search', $2), ($1, '/b?x=1', 'GPTBot', 'ai', $3)`,
    [shop, new Date(nowMs - 60_000), new Date(nowMs)],
  )
  const render = `insert into last_render values ($1, '/a', 'timed-out', $2)`
  await api.pool.query(render, [shop, new Date(nowMs - 1_000)])

  const list = (query: Record<string, string> = {}, name = 'shop.example.com') =>
    api.get(`/api/domains/${name}/pages?${new URLSearchParams(query)}`, owner.key)
  const pathsOf = (body: Record<string, unknown>) => valuesOf(body['pages'], 'path')

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
  it('200: piece by piece, in the order that is asked for; what a search finds, as it is stored or typed', async () => {
    const seen: unknown[] = []
    let after: Record<string, string> = {}
    for (const matching of [3, null, null]) {
      const { body } = await list({ order: 'size', limit: '1', ...after })
      assert.equal(body['matching'], matching)
      seen.push(...pathsOf(body))
      after = { after: String(body['next']) }
    }
    assert.deepEqual(seen, ['/caf%C3%A9', '/b?x=1', '/a'])
    const found = async (query: Record<string, string>) => pathsOf((await list(query)).body)
    const byCrawler = await found({ order: 'last_crawler', direction: 'desc' })
    assert.deepEqual(byCrawler, ['/b?x=1', '/a', '/caf%C3%A9'], 'what no crawler asked for comes last')
    for (const search of ['café', 'CAF%c3']) assert.deepEqual(await found({ search }), ['/caf%C3%A9'])
    assert.deepEqual(await found({ search: '/b', match: 'prefix' }), ['/b?x=1'])
    assert.deepEqual(await found({ search: '  ' }), ['/a', '/b?x=1', '/caf%C3%A9'])
  })

  // Proves decided "Lists of pages"
  it('400: too many at once, what is no order, no place in this list', async () => {
    const { body } = await list({ limit: String(LIST_LIMIT) }, 'large.example.com')
    assert.deepEqual([pathsOf(body).length, typeof body['next']], [LIST_LIMIT, 'string'])
    const place = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const cases: [query: Record<string, string>, field: RegExp][] = [
      [{ limit: String(LIST_LIMIT + 1) }, /^limit /],
      [{ limit: '0' }, /^limit /],
      [{ order: 'domain_id' }, /^order must be /],
      [{ search: 'x'.repeat(2_049) }, /^search must have at most 2048 characters/],
      [{ after: 'x' }, /^after is not the "next"/],
      [{ after: place(['/a', '/a\0']) }, /^after is not/],
      [{ order: 'size', after: place(['1); drop table page', '/a']) }, /^after is not/],
      [{ order: 'size', after: place(['9999999999', '/a']) }, /^after is not/],
      [{ order: 'rendered', after: place(['2026-99-99 00:00', '/a']) }, /^after is not/],
    ]
    for (const [query, words] of cases) assertAnswer(await list(query), 400, words)
  })
})

describe('pages that are chosen', async () => {
  const shop = await api.domain(owner, 'pick.example.com')
  const other = await api.domain(owner, 'pick-2.example.com')
  beforeEach(async () => {
    await api.pool.query('truncate page, redirect, sitemap, job, unstored_page cascade')
    for (const { id } of [shop, other]) {
      await storePages(api, id, ['/', '/blog/1', '/blog/2', '/Blog', '/a%25'])
      await storeRedirectAndSitemap(api, id)
    }
  })

  const post = (what: string, body: unknown) =>
    api.post(`/api/domains/pick.example.com/pages/${what}`, owner.key, body)
  const purge = (body: unknown) => post('purge', body)
  const refresh = (body: unknown) => post('refresh', body)
  const paths = (table: string, where = 'true', id = shop.id) =>
    api.database.column(`select path from ${table} where ${where} and domain_id = $1 order by path`, id)
  const pages = (id = shop.id) => paths('page', 'true', id)
  const jobs = () => paths('job', `state = 'queued'`)
  const fill = (count: number) => storePages(api, shop.id, numbered(count))
  const forget = (path: string) => api.pool.query('delete from page where path = $1', [path])

  it('purge: 200: those that are named, with redirects and sitemaps, and nothing of other domains', async () => {
    const message = 'Purged 4 cache entries of pick.example.com'
    const answer = await purge({ paths: ['/blog/1', '/Blog', '/blog/1', '/nowhere'] })
    assertAnswer(answer, 200, { message, keysDeleted: 4 })
    assert.deepEqual(await pages(), ['/', '/a%25', '/blog/2'])
    assert.equal((await pages(other.id)).length, 5)
  })

  // Proves decided "Purge and refresh of selected pages"
  it('purge: 200: all that a search finds, and a render that began before brings none of them back', async () => {
    await api.pool.query(
      `insert into job (domain_id, account_id, path, priority, turn, state)
       select id, account_id, path, 0, 1, 'running' from domain, unnest(array['/blog/9', '/']) path where id = $1`,
      [shop.id],
    )
    const purged = async (body: object) => (await purge(body)).body['keysDeleted']
    assert.equal(await purged({ search: 'BLOG' }), 5)
    assert.deepEqual(await pages(), ['/', '/a%25'])
    assert.deepEqual(await paths('job', 'superseded'), ['/blog/9'])
    await storePages(api, shop.id, ['/blog/1'])
    assert.equal(await purged({ search: '/Blog', match: 'prefix' }), 0)
    assert.equal(await purged({ search: '%' }), 1, 'no pattern')
  })

  it(`purge: 200 for ${PURGE_LIMIT} that a search finds, 400 for one more, which purges nothing`, async () => {
    await fill(PURGE_LIMIT + 1)
    assertAnswer(await purge({ search: '/many/' }), 400, 'Too many pages match (maximum 100000 at once)')
    assert.equal((await pages()).length, PURGE_LIMIT + 6)
    await forget('/many/1')
    assert.equal((await purge({ search: '/many/' })).body['keysDeleted'], PURGE_LIMIT + 2)
  })

  it('refresh: 200: those that are named are deleted and queued, stored or not', async () => {
    const message = 'Queued 2 pages of pick.example.com for refresh'
    const answer = await refresh({ paths: ['/blog/1', '/new'] })
    assertAnswer(answer, 200, { message, domain: 'pick.example.com', pagesQueued: 2 })
    assert.deepEqual(await jobs(), ['/blog/1', '/new'])
    assert.deepEqual(await pages(), ['/', '/Blog', '/a%25', '/blog/2'])
  })

  it(`refresh: 200 for ${REFRESH_LIMIT} that a search finds, 400 for one more, which touches nothing`, async () => {
    await fill(REFRESH_LIMIT + 1)
    assertAnswer(await refresh({ search: '/many/' }), 400, 'Too many pages match (maximum 10000 at once)')
    assert.deepEqual([(await pages()).length, await jobs()], [REFRESH_LIMIT + 6, []])
    await forget('/many/1')
    const all = await refresh({ search: '/many/', match: 'prefix' })
    assert.deepEqual([all.body['pagesQueued'], (await jobs()).length], [REFRESH_LIMIT, REFRESH_LIMIT])
  })

  // Proves decided "Purge and refresh of selected pages"
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

  // Proves decided "Inactive domain"
  it('refresh: 403: an inactive domain', async () => {
    await api.pool.query('update domain set is_active = false')
    assertAnswer(await refresh({ paths: ['/'] }), 403, 'Domain is not active')
    assert.equal((await pages()).length, 5)
  })
})

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `/many/${at + 1}`)
}
