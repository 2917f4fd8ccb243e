import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { assertAnswer, openApi, valuesOf } from '../../../test/support/api.ts'
import { assertError, rawRequest } from '../../../test/support/raw-request.ts'
import { renderRecord } from '../../../test/support/render-record.ts'
import type { PagePath } from '../../ids.ts'
import { keepDigests } from '../../store/page-digests.ts'
import { pageId } from '../../store/page-id.ts'
import { pageBody } from '../../store/stored-page.ts'
import { PAGE_URL_LIMIT_CHARS, USER_AGENT_LIMIT_CHARS } from './integration.ts'

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

  it('500: a body that cannot be read is nobody’s page', async () => {
    await api.pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
         values ($1, '/broken', 200, '[]', '\\xff', 1, 'e', now()), ($1, '/bomb', 200, '[]', $2, 1, 'e', now())`,
      [shop.id, brotliCompressSync(Buffer.alloc(33 * 1024 * 1024))],
    )
    for (const path of ['/broken', '/bomb']) {
      assert.equal((await ask('source', path)).status, 500)
      assert.equal((await ask('details', path)).status, 500)
    }
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
    const unknown = await inspect('/rakes?x=1', { form: 'pdf' })
    assert.deepEqual([unknown.status, /^form /.test(String(unknown.body['error']))], [400, true])
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

  // Proves decided "Middleware integration"
  it('GET: 401: no key, one in another header, or a wrong one; 403: a plan without API access', async () => {
    const path = '/https://shop.example.com/'
    const unread = { 'x-api-key': owner.key }
    assertError(await rawRequest(api.url, { path, headers: unread }), 401, 'API key required')
    const wrong = await ask(path, { 'x-prerender-token': 'pp_live_wrong' })
    assertError(wrong, 401, 'Invalid API key')
    assert.equal(wrong.headers['x-prepaint'], undefined)
    const poor = await api.account()
    await api.pool.query(`update account set plan = 'pro' where id = $1`, [poor.id])
    assertError(
      await ask(path, { 'x-prerender-token': poor.key }),
      403,
      'API access requires Agency plan or above',
    )
  })

  it("GET: 404: a domain that nobody has, another's, and what is no name; 400: what is no URL of a page", async () => {
    for (const host of ['nobody.example.com', 'other.example.com', '127.0.0.1', 'localhost:3000']) {
      assertError(await ask(`/https://${host}/`), 404, 'Domain not found')
    }
    const none = '/https:///x /https://a@shop.example.com/ /page/shop.example.com'
    for (const path of none.split(' ')) {
      assertError(await ask(path), 400, 'url must be the whole http or https URL of a page')
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

  it('POST: the key as a Bearer token or in the header of the API, not where middlewares put it; 401 else', async () => {
    const ask = (request: object) => api.call('POST', '/api/render', { ...request, body: { url: URL } })
    assert.equal((await ask({ key: owner.key })).status, 200)
    assertAnswer(await ask({ headers: { 'x-prerender-token': owner.key } }), 401, 'API key required')
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
