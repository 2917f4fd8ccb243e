import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'

import { assertAnswer, openApi, storePages, storeRedirectAndSitemap } from '../../../test/support/api.ts'
import { PURGE_LIMIT, REFRESH_LIMIT } from './pages.ts'

const api = await openApi()
const owner = await api.account()
const shop = await api.domain(owner, 'shop.example.com')
const other = await api.domain(owner, 'other.example.com')
beforeEach(async () => {
  await api.pool.query('truncate page, redirect, sitemap, job, unstored_page')
  await api.pool.query('update domain set is_active = true')
  for (const { id } of [shop, other]) {
    await storePages(api, id, ['/', '/blog/1', '/blog/2', '/Blog', '/a%25'])
    await storeRedirectAndSitemap(api, id)
  }
})

const purge = (body: unknown) => api.post('/api/domains/shop.example.com/pages/purge', owner.key, body)
const refresh = (body: unknown) => api.post('/api/domains/shop.example.com/pages/refresh', owner.key, body)
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
    assert.deepEqual([status, keysDeleted, message], [200, 4, 'Purged 4 cache entries of shop.example.com'])
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
    assert.deepEqual([status, body['pagesQueued']], [200, 2])
    assert.deepEqual(await jobs(), ['/blog/1', '/new'])
    assert.deepEqual(await pages(), ['/', '/Blog', '/a%25', '/blog/2'])
  })

  it('200: all that a search finds, which may be none', async () => {
    const { body } = await refresh({ search: '/blog', match: 'prefix' })
    assert.deepEqual(body, {
      message: 'Queued 2 pages of shop.example.com for refresh',
      domain: 'shop.example.com',
      pagesQueued: 2,
    })
    assert.deepEqual(await jobs(), ['/blog/1', '/blog/2'])
    assert.equal((await refresh({ search: 'nowhere' })).body['pagesQueued'], 0)
  })

  it(`200 for ${REFRESH_LIMIT} that a search finds, 400 for one more, which touches nothing`, async () => {
    await fill(REFRESH_LIMIT + 1)
    assertAnswer(await refresh({ search: '/many/' }), 400, 'Too many pages match (maximum 10000 at once)')
    assert.deepEqual([(await pages()).length, await jobs()], [REFRESH_LIMIT + 6, []])
    await api.pool.query(`delete from page where path = '/many/1'`)
    assert.equal((await refresh({ search: '/many/' })).body['pagesQueued'], REFRESH_LIMIT)
    assert.equal((await jobs()).length, REFRESH_LIMIT)
  })

  // Proves decided "Purge and refresh of selected pages"
  it('403: an inactive domain', async () => {
    await api.pool.query('update domain set is_active = false where id = $1', [shop.id])
    assert.deepEqual((await refresh({ paths: ['/'] })).body, { error: 'Domain is not active' })
    assert.equal((await pages()).length, 5)
  })
})

describe('both', () => {
  const bad: [body: unknown, words: RegExp][] = [
    [{}, /^body must have "paths", or "search"/],
    [{ paths: ['/'], search: 'x' }, /^body must have/],
    [{ paths: [] }, /must have|must not be empty/],
    [{ paths: ['x'] }, /must/],
    [{ paths: Array.from({ length: 1_001 }, () => '/') }, /must have/],
    [{ search: '' }, /must/],
    [{ search: '   ' }, /^search must not be empty/],
    [{ search: 'x', match: 'regex' }, /must/],
    [{ paths: ['//host/x'] }, /^paths\[0\] is not the path of a page/],
  ]
  for (const [body, words] of bad) {
    it(`400: ${JSON.stringify(body).slice(0, 60)}`, async () => {
      for (const act of [purge, refresh]) {
        const answer = await act(body)
        assertAnswer(answer, 400, words)
      }
      assert.equal((await pages()).length, 5)
    })
  }
})
