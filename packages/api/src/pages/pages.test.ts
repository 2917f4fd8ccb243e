import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { LIST_LIMIT, PAGE_URL_LIMIT_CHARS, USER_AGENT_LIMIT_CHARS } from '@prepaint/contract/api/pages.ts'
import type { PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { keepDigests } from '@prepaint/pages/store/page-digests.ts'
import { pageBody } from '@prepaint/pages/store/stored-page.ts'
import {
  assertAnswer,
  openApi,
  storePages,
  storeRedirectAndSitemap,
  valuesOf,
} from '../../../../test/support/api.ts'
import { rawRequest } from '../../../../test/support/raw-request.ts'
import { renderRecord } from '../../../../test/support/render-record.ts'
import { PURGE_LIMIT, REFRESH_LIMIT } from './pages.ts'

const api = await openApi()
const owner = await api.account()

describe('what is to be seen of a page', async () => {
  const HOSTILE = `<!DOCTYPE html><title>Rakes</title><meta property="og:image" content="/pic.png">
  <p onclick="alert(1)">A rake</p><script>alert(document.domain)</script><iframe srcdoc="<script>alert(2)</script>"></iframe>
  <svg onload="alert(3)"></svg><a href="javascript:alert(4)">x</a><a href="/more">more</a>`
  const JOB = '00000000-0000-4000-8000-000000000001'

  const shop = await api.domain(owner, 'shop.example.com')
  const path = '/rakes?x=1' as PagePath
  const { bodyBr, htmlBytes, etag } = await pageBody(HOSTILE)
  await api.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     values ($1, $2, 200, '[["link", "</a>; rel=preload"]]', $3, $4, $5, $6)`,
    [shop.id, path, bodyBr, htmlBytes, etag, new Date(api.clock.atMs)],
  )
  await keepDigests(api.pool, [{ page: pageId(shop.id, path), customDomain: shop.name, html: HOSTILE }])
  for (const each of [path, '/other']) {
    await api.pool.query(
      `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record)
       values ($1, $2, $3, 'rendered', 0, 0, $4)`,
      [shop.id, each, JOB, renderRecord()],
    )
  }
  await api.pool.query(`insert into redirect values ($1, '/old', 301, 'https://shop.example.com/new', $2)`, [
    shop.id,
    new Date(api.clock.atMs),
  ])

  const AT = '/api/domains/shop.example.com'
  const ask = (what: string, path: string) =>
    api.get(`${AT}/pages/${what}${what.includes('?') ? '&' : '?'}path=${encodeURIComponent(path)}`, owner.key)
  const inspect = (path: unknown, more: object = {}) =>
    api.post(`${AT}/inspections`, owner.key, { path, ...more })
  const inspection = (id: string) => api.get(`${AT}/inspections/${id}`, owner.key)

  // Proves decided "Page details"
  it('details: 200: what the page says, its renders, its history', async () => {
    const { status, body } = await ask('details', '/rakes?utm_source=y&x=1')
    assert.equal(status, 200)
    assert.deepEqual([body['path'], body['inspection']], ['/rakes?x=1', null])
    const { headers, html_bytes, freshness } = body['stored'] as Record<string, unknown>
    assert.deepEqual(headers, [['link', '</a>; rel=preload']])
    assert.deepEqual([html_bytes, freshness], [HOSTILE.length, 'fresh'])
    const { title, text, links, social } = body['facts'] as Record<string, unknown>
    assert.deepEqual([title, text], ['Rakes', ['A rake', 'xmore']])
    assert.deepEqual([links, social], [[{ href: '/more', text: 'more' }], { 'og:image': '/pic.png' }])
    assert.deepEqual(valuesOf(body['renders'], 'path'), ['/rakes?x=1'])
    assert.deepEqual(valuesOf(valuesOf(body['history'], 'facts'), 'title'), ['Rakes'])
    assert.deepEqual(body['requests'], { html: 0, markdown: 0, card: 0 })
  })

  it('details: 200: a path that nothing is stored under, and one that leads elsewhere', async () => {
    const { body } = await ask('details', '/nothing')
    assert.deepEqual([body['stored'], body['redirect'], body['history']], [null, null, []])
    const stored_at = '2026-11-15T12:30:00.000Z'
    const redirect = { status: 301, location: 'https://shop.example.com/new', stored_at }
    assert.deepEqual((await ask('details', '/old')).body['redirect'], redirect)
  })

  it('source: 200: Markdown and card of a page that had none yet; 404: not stored; 400: no form', async () => {
    const formOf = (form: string, path = '/rakes?x=1') => ask(`source?form=${form}`, path)
    const markdown = await formOf('markdown')
    assert.equal(markdown.status, 200)
    assert.match(
      markdown.text,
      /^---\ntitle: "Rakes"\nmodified: "[^"]+"\n---\n\nA rake\n\nx\[more\]\(https:\/\/shop.example.com\/more\)\n$/,
    )
    const card = /<title>Rakes<\/title><meta property="og:image" content="\/pic.png"><\/head>/
    assert.match((await formOf('card')).text, card)
    assertAnswer(await ask('source', '/none'), 404, 'Page not found')
    assertAnswer(await formOf('card', '/old'), 404, 'Page not found')
    assertAnswer(await ask('details', '//host/x'), 400, /^path /)
    assertAnswer(await formOf('pdf'), 400, /^form /)
  })

  // Proves decided "Page details"
  it('source: 200: the HTML as it is, which no browser takes for a page', async () => {
    const { status, headers, text } = await ask('source', '/rakes?x=1')
    assert.deepEqual([status, text], [200, HOSTILE])
    assert.partialDeepStrictEqual(Object.fromEntries(headers), {
      ...{ 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
      ...{ 'x-frame-options': 'DENY', 'cache-control': 'no-store' },
      'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
    })
  })

  // Proves decided "Inspections"
  it('inspections: 201, and then what became of it; the picture is a picture and nothing else', async () => {
    const created = await inspect('/rakes?x=1')
    assert.equal(created.status, 201)
    const { id, state } = created.body['inspection'] as { id: string; state: string }
    assert.equal(state, 'queued')
    assert.equal(((await inspect('/rakes?x=1')).body['inspection'] as { id: string }).id, id, 'joined')
    assert.equal((await inspect('/rakes?x=1', { form: 'card' })).status, 201)
    assertAnswer(await inspect('/unknown', { form: 'markdown' }), 404, 'Page not found')
    assertAnswer(await inspect('/rakes?x=1', { form: 'pdf' }), 400, /^form /)
    assert.equal((await inspection(`${id}/person`)).status, 404, 'there is no picture yet')
    await api.pool.query(
      `update inspection set state = 'done', finished_at = now(), person = $2, person_picture = $3 where id = $1`,
      [id, JSON.stringify({ reason: 'net::ERR_FAILED' }), Buffer.from('RIFF')],
    )
    const { body } = await inspection(id)
    const found = body['inspection'] as { crawler: null; person: { reason: string } }
    assert.deepEqual([found.crawler, found.person.reason], [null, 'net::ERR_FAILED'])
    assert.deepEqual(valuesOf([(await ask('details', '/rakes?x=1')).body['inspection']], 'id'), [id])

    const picture = await inspection(`${id}/person`)
    assert.deepEqual([picture.status, picture.text], [200, 'RIFF'])
    assert.equal(picture.headers.get('content-type'), 'image/webp')
    assert.equal(picture.headers.get('cross-origin-resource-policy'), 'same-origin')
    assert.match(picture.headers.get('content-security-policy') ?? '', /^sandbox;/)
    assert.equal((await inspection(`${id}/other`)).status, 400)
    assert.equal((await inspect('x')).status, 400)
    assertAnswer(await inspection('x'), 404, 'Inspection not found')
  })
})

describe('pages for integrations', async () => {
  await api.domain(await api.account(), 'other.example.com')

  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    rawRequest(api.url, { method, path, headers: { 'x-prerender-token': owner.key, ...headers } })

  // Proves decided "Middleware integration"
  it('GET /https://host/path: 200: the page of the URL, as it was spelt; HEAD is GET', async () => {
    assert.equal((await ask('/https://shop.example.com/', {}, 'HEAD')).status, 200)
    for (const [path, page] of [
      ['/https://shop.example.com', 'https shop.example.com /'],
      ['/https:/shop.example.com/joined?a=//b', 'https shop.example.com /joined?a=//b'],
      ['/http:/shop.example.com', 'http shop.example.com /'],
      ['/https%3A%2Fshop.example.com%2Fjoined', 'https shop.example.com /joined'],
      ['/HTTPS://SHOP.example.com./a', 'https shop.example.com /a'],
      [
        '/https://shop.example.com:443/a?b=c%20d&e=https://f/?g',
        'https shop.example.com /a?b=c%20d&e=https://f/?g',
      ],
      ['/https%3A%2F%2Fshop.example.com%2Fa%2520b', 'https shop.example.com /a%20b'],
      ['/page/https%3A%2F%2Fshop.example.com%2Fa%3Fb', 'https shop.example.com /a?b'],
    ] as const) {
      const { status, text } = await ask(path, { 'user-agent': 'Googlebot' })
      assert.deepEqual([status, text], [200, `<p>${page} for Googlebot</p>`], path)
    }
  })

  const URL = 'https://shop.example.com/a?b=c'
  const render = (body: unknown, token: string | undefined = owner.key) =>
    api.call('POST', '/api/render', { token, body })

  // Proves decided "Edge worker integration"
  it('POST /api/render: 200: the page of the URL, for a crawler or for the one that is named', async () => {
    for (const [body, page] of [
      [{ url: `${URL}#d`, user_agent: 'bingbot' }, '/a?b=c for bingbot'],
      [{ url: 'https://shop.example.com/größe' }, '/gr%C3%B6%C3%9Fe for null'],
    ] as const) {
      assert.equal((await render(body)).text, `<p>https shop.example.com ${page}</p>`)
    }
  })

  it('POST: the key as a Bearer token or where middlewares put it; 401 else', async () => {
    const ask = (request: object) => api.call('POST', '/api/render', { ...request, body: { url: URL } })
    assert.equal((await ask({ key: owner.key })).status, 200)
    assert.equal((await ask({ headers: { 'x-prerender-token': owner.key } })).status, 200)
    assertAnswer(await ask({}), 401, 'API key required')
    assertAnswer(await ask({ token: 'pp_live_wrong' }), 401, 'Invalid API key')
  })

  it("POST: 404: another's domain; 400: what is wrong is named, such as a URL or a user agent past its greatest length", async () => {
    assertAnswer(await render({ url: 'https://other.example.com/' }), 404, 'Domain not found')
    assertAnswer(await render({}), 400, /^url /)
    assertAnswer(await render({ url: '/a' }), 400, 'url must be the whole http or https URL of a page')
    assertAnswer(await render({ url: URL, user_agent: 7 }), 400, /^user_agent /)

    const url = URL.padEnd(PAGE_URL_LIMIT_CHARS, 'x')
    assert.equal((await render({ url })).status, 200)
    assertAnswer(await render({ url: `${url}x` }), 400, /^url .*8192/)
    const user_agent = 'x'.repeat(USER_AGENT_LIMIT_CHARS)
    assert.equal((await render({ url: URL, user_agent })).status, 200)
    assertAnswer(await render({ url: URL, user_agent: `${user_agent}x` }), 400, /^user_agent .*4096/)
  })
})

describe('GET /api/domains/:domain/pages', async () => {
  const shop = (await api.domain(owner, 'list.example.com')).id
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

  const list = (query: Record<string, string> = {}, name = 'list.example.com') =>
    api.get(`/api/domains/${name}/pages?${new URLSearchParams(query)}`, owner.key)
  const pathsOf = (body: Record<string, unknown>) => valuesOf(body['pages'], 'path')

  it('200: all that is to be known of each page', async () => {
    const { status, body } = await list({}, 'List.Example.com')
    assert.equal(status, 200)
    assert.deepEqual(pathsOf(body), ['/a', '/b?x=1', '/caf%C3%A9'])
    assert.deepEqual([body['matching'], body['next'], body['domain']], [3, null, 'list.example.com'])
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

  // Proves decided "Filters of pages"
  it('200: filters, alone and together, with counts of each value beside the other filters', async () => {
    const found = async (query: Record<string, string>) => pathsOf((await list(query)).body)
    assert.deepEqual(await found({ status: '404' }), ['/caf%C3%A9'])
    assert.deepEqual(await found({ status: '200,404' }), ['/a', '/b?x=1', '/caf%C3%A9'])
    assert.deepEqual(await found({ freshness: 'stale,kept' }), ['/b?x=1', '/caf%C3%A9'])
    assert.deepEqual(await found({ outcome: 'timed-out,blank' }), ['/a'])
    assert.deepEqual(await found({ variant: 'desktop' }), ['/a', '/b?x=1', '/caf%C3%A9'])
    assert.deepEqual(await found({ variant: 'mobile' }), [])
    assert.deepEqual(await found({ unvisited: 'true' }), ['/caf%C3%A9'])
    assert.deepEqual(await found({ unvisited: 'false', freshness: 'fresh' }), ['/a'])
    const { body } = await list({ status: '200', limit: '1' })
    assert.equal(body['matching'], 2)
    assert.deepEqual(body['counts'], {
      status: { 200: 2, 404: 1 },
      freshness: { fresh: 1, stale: 1 },
      outcome: { 'timed-out': 1 },
      variant: { desktop: 2 },
      unvisited: { true: 0, false: 2 },
    })
    const next = await list({ status: '200', limit: '1', after: String(body['next']) })
    assert.deepEqual(
      [pathsOf(next.body), next.body['counts'], next.body['matching']],
      [['/b?x=1'], null, null],
    )
    const uncounted = await list({ status: '200', counts: 'false' })
    assert.deepEqual([uncounted.body['matching'], uncounted.body['counts']], [2, null])
  })

  // Proves decided "Filters of pages"
  it('400: an unknown value of a filter, which is named', async () => {
    for (const [name, values] of Object.entries({
      status: ['', 'x', '404,', '99', '600', '404 410'],
      freshness: ['', 'old', 'fresh,old'],
      outcome: ['', 'fine'],
      variant: ['', 'tablet'],
      unvisited: ['', '1'],
      counts: ['0'],
    })) {
      for (const value of values) assertAnswer(await list({ [name]: value }), 400, new RegExp(`^${name}`))
    }
  })
})

describe('pages that are chosen', async () => {
  const shop = await api.domain(owner, 'pick.example.com')
  const other = await api.domain(owner, 'pick-2.example.com')
  beforeEach(async () => {
    await api.pool.query('truncate page, redirect, sitemap, job, job_ended, unstored_page cascade')
    for (const { id } of [shop, other]) {
      await storePages(api, id, ['/', '/blog/1', '/blog/2', '/Blog', '/a%25'])
      await storeRedirectAndSitemap(api, id)
    }
  })

  const post = (what: string, body: unknown) =>
    api.post(`/api/domains/pick.example.com/pages/${what}`, owner.key, body)
  const purge = (body: unknown) => post('purge', body)
  const refresh = (body: unknown) => post('refresh', body)
  const rerender = (body: unknown) => post('rerender', body)
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

  // Proves decided "Filters of pages"
  it('purge and refresh: 200: all that a filter finds', async () => {
    const missing = () => api.pool.query(`update page set status = 404 where path in ('/blog/1', '/Blog')`)
    await missing()
    const filter = { status: '404,410', search: '/blog/' }
    assert.equal((await purge({ filter })).body['keysDeleted'], 3)
    assert.deepEqual(await pages(), ['/', '/Blog', '/a%25', '/blog/2'])
    assert.equal((await refresh({ filter: { status: '404', unvisited: true } })).body['pagesQueued'], 1)
    assert.deepEqual([await pages(), await jobs()], [['/', '/a%25', '/blog/2'], ['/Blog']])
    assert.equal((await pages(other.id)).length, 5)
    await fill(REFRESH_LIMIT + 1)
    const many = { filter: { search: '/many/', freshness: 'fresh,stale,kept,gone' } }
    assertAnswer(await refresh(many), 400, 'Too many pages match (maximum 10000 at once)')
    await forget('/many/1')
    assert.equal((await refresh(many)).body['pagesQueued'], REFRESH_LIMIT)
  })

  // Proves decided "Pages that are rendered again"
  it('rerender: 200: those that are named or that a filter finds are queued, and the stored pages stay', async () => {
    const named = await rerender({ paths: ['/blog/1', '/new', '/blog/1'] })
    assert.equal(named.status, 200)
    assert.deepEqual(valuesOf(named.body['jobs'], 'path'), ['/blog/1', '/new'])
    const [{ jobId } = { jobId: '' }] = named.body['jobs'] as { jobId: string }[]
    const job = await api.get(`/api/jobs/${jobId}`, owner.key)
    assert.partialDeepStrictEqual(job.body, { path: '/blog/1', priority: 'refresh', state: 'queued' })
    const found = await rerender({ filter: { search: '/blog/', match: 'prefix', variant: 'desktop' } })
    assert.deepEqual(valuesOf(found.body['jobs'], 'path'), ['/blog/1', '/blog/2'])
    assert.deepEqual(await jobs(), ['/blog/1', '/blog/2', '/new'])
    assert.equal((await pages()).length, 5)
    assert.deepEqual((await rerender({ filter: { status: '500' } })).body['jobs'], [])
    assert.deepEqual(await paths('job', 'true', other.id), [])
  })

  // Proves decided "Pages that are rendered again"
  it(`rerender: 200 for 1000 paths and ${REFRESH_LIMIT} that a filter finds, 400 for one more`, async () => {
    assert.equal((await rerender({ paths: numbered(1_000) })).status, 200)
    assertAnswer(await rerender({ paths: numbered(1_001) }), 400, /^paths must have at most 1000 entries/)
    await api.pool.query('delete from job')
    await fill(REFRESH_LIMIT + 1)
    const filter = { search: '/many/', variant: 'desktop' }
    assertAnswer(await rerender({ filter }), 400, 'Too many pages match (maximum 10000 at once)')
    assert.deepEqual(await jobs(), [])
    await forget('/many/1')
    assert.equal(((await rerender({ filter })).body['jobs'] as unknown[]).length, REFRESH_LIMIT)
  })

  // Proves decided "Pages that are rendered again"
  it('400: paths and a filter, neither, an empty filter, or one with an unknown field or value; 403: an inactive domain', async () => {
    const bad: [body: unknown, words: RegExp][] = [
      [{}, /^body must have "paths" or "filter"/],
      [{ paths: ['/'], filter: { status: '200' } }, /./],
      [{ paths: [] }, /^paths must not be empty/],
      [{ paths: ['x'] }, /^paths\[0\] must start with \//],
      [{ search: 'x' }, /./],
      [{ filter: {} }, /^filter must not be empty/],
      [{ filter: { match: 'prefix', search: ' ' } }, /^filter must not be empty/],
      [{ filter: { status: '404', color: 'red' } }, /^filter has unknown fields: "color"/],
      [{ filter: { status: 'x' } }, /^filter\.status/],
      [{ filter: { freshness: 'old' } }, /^filter\.freshness/],
      [{ filter: { outcome: 'fine' } }, /^filter\.outcome/],
      [{ filter: { variant: 'tablet' } }, /^filter\.variant/],
      [{ filter: { unvisited: 'true' } }, /^filter\.unvisited/],
    ]
    for (const [body, words] of bad) assertAnswer(await rerender(body), 400, words)
    for (const filter of [{}, { color: 'red' }, { status: 'x' }]) {
      for (const act of [purge, refresh]) assertAnswer(await act({ filter }), 400, /^filter/)
    }
    assert.deepEqual(await jobs(), [])
    await api.pool.query('update domain set is_active = false')
    assertAnswer(await rerender({ paths: ['/'] }), 403, 'Domain is not active')
    await api.pool.query('update domain set is_active = true')
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
