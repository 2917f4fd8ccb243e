import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import type { PagePath } from '../../ids.ts'
import { INSPECTIONS_AN_HOUR, INSPECTIONS_OPEN } from '../../sites/inspection/inspections.ts'
import { pageBody } from '../../store/keep-page.ts'
import { keepDigest } from '../../store/page-digests.ts'
import { pageId } from '../../store/page-id.ts'

const HOSTILE = `<!DOCTYPE html><title>Rakes</title><meta property="og:image" content="/pic.png">
<p onclick="alert(1)">A rake</p><script>alert(document.domain)</script><iframe srcdoc="<script>alert(2)</script>"></iframe>
<svg onload="alert(3)"></svg><a href="javascript:alert(4)">x</a><a href="/more">more</a>`
const RECORD = {
  phases: { slot: 0, tab: 1, navigate: 2, firstResponse: 3, settled: 4, snapshot: 5 },
  capture: 'budget',
  requests: { made: 1, spared: 0, blocked: 0, failed: 0 },
  troubles: [],
  consoleErrors: { count: 0, texts: [] },
  htmlBytes: 100,
}
const JOB = '00000000-0000-4000-8000-000000000001'

let api: TestApi
let owner: TestAccount
let stranger: TestAccount
let shop: Awaited<ReturnType<TestApi['domain']>>
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  stranger = await api.account()
  shop = await api.domain(owner, 'shop.example.com')
  const path = '/rakes?x=1' as PagePath
  const { bodyBr, htmlBytes, etag } = await pageBody(HOSTILE)
  await api.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     values ($1, $2, 200, '[["link", "</a>; rel=preload"]]', $3, $4, $5, $6)`,
    [shop.id, path, bodyBr, htmlBytes, etag, new Date(api.clock.atMs)],
  )
  await keepDigest(api.pool, { page: pageId(shop.id, path), customDomain: shop.name, html: HOSTILE })
  for (const each of [path, '/other']) {
    await api.pool.query(
      `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record)
       values ($1, $2, $3, 'rendered', 0, 0, $4)`,
      [shop.id, each, JOB, JSON.stringify(RECORD)],
    )
  }
  await api.pool.query(`insert into redirect values ($1, '/old', 301, 'https://shop.example.com/new', $2)`, [
    shop.id,
    new Date(api.clock.atMs),
  ])
})
after(() => api.close())

const ask = (what: string, path: string | null, key = owner.key) =>
  api.get(
    `/api/domains/shop.example.com/pages/${what}${path === null ? '' : `?path=${encodeURIComponent(path)}`}`,
    key,
  )
const inspect = (path: unknown, key = owner.key) =>
  api.post('/api/domains/shop.example.com/inspections', key, { path })
const inspection = (id: string, key = owner.key) =>
  api.get(`/api/domains/shop.example.com/inspections/${id}`, key)

describe('GET /api/domains/:domain/pages/details', () => {
  // Proves decided "Page details"
  it('200: what the page says, its renders, its history', async () => {
    const { status, body } = await ask('details', '/rakes?utm_source=y&x=1')
    assert.equal(status, 200)
    const { stored, facts, renders, history, path } = body as {
      path: string
      stored: { etag: string; headers: string[][]; html_bytes: number; freshness: string }
      facts: { title: string; text: string[]; links: object[]; social: object }
      renders: { path: string; jobId: string }[]
      history: { facts: { title: string } }[]
    }
    assert.equal(path, '/rakes?x=1')
    assert.deepEqual(stored.headers, [['link', '</a>; rel=preload']])
    assert.deepEqual([stored.html_bytes, stored.freshness], [HOSTILE.length, 'fresh'])
    assert.equal(facts.title, 'Rakes')
    assert.deepEqual(facts.text, ['A rake', 'xmore'])
    assert.deepEqual(facts.links, [{ href: '/more', text: 'more' }])
    assert.deepEqual(facts.social, { 'og:image': '/pic.png' })
    assert.deepEqual(
      renders.map((render) => render.path),
      ['/rakes?x=1'],
    )
    assert.equal(history[0]?.facts.title, 'Rakes')
    assert.equal(body['inspection'], null)
    assert.deepEqual(body['requests'], { html: 0, markdown: 0, card: 0 })
  })

  it('200: a path that nothing is stored under, and one that leads elsewhere', async () => {
    const { body } = await ask('details', '/nothing')
    assert.deepEqual(
      [body['stored'], body['facts'], body['redirect'], body['renders'], body['history']],
      [null, null, null, [], []],
    )
    const redirected = await ask('details', '/old')
    assert.deepEqual(redirected.body['redirect'], {
      status: 301,
      location: 'https://shop.example.com/new',
      stored_at: '2026-11-15T12:30:00.000Z',
    })
    assert.equal((await ask('details', null)).body['path'], '/')
  })

  it("400 and 404: no path of a page, and another account's", async () => {
    for (const path of ['x', '//host/x', `/${'x'.repeat(2_048)}`]) {
      const { status, body } = await ask('details', path)
      assert.equal(status, 400)
      assert.match(String(body['error']), /^path /)
    }
    assert.equal((await ask('details', '/rakes?x=1', stranger.key)).status, 404)
  })
})

describe('GET /api/domains/:domain/pages/source', () => {
  it('200: Markdown and card of a page that had none yet; 404: not stored; 400: no form', async () => {
    const formOf = (form: string, path = '/rakes?x=1', key = owner.key) =>
      api.get(`/api/domains/shop.example.com/pages/source?form=${form}&path=${encodeURIComponent(path)}`, key)
    const markdown = await formOf('markdown')
    assert.equal(markdown.status, 200)
    assert.match(
      markdown.text,
      /^---\ntitle: "Rakes"\nmodified: "[^"]+"\n---\n\nA rake\n\nx\[more\]\(https:\/\/shop.example.com\/more\)\n$/,
    )
    assert.match(
      (await formOf('card')).text,
      /<title>Rakes<\/title><meta property="og:image" content="\/pic.png"><\/head>/,
    )
    for (const [form, path, key] of [
      ['markdown', '/none', owner.key],
      ['card', '/old', owner.key],
    ] as const) {
      const { status, body } = await formOf(form, path, key)
      assert.deepEqual([status, body], [404, { error: 'Page not found' }])
    }
    assert.equal((await formOf('markdown', '/rakes?x=1', stranger.key)).status, 404)
    const unknown = await formOf('pdf')
    assert.deepEqual([unknown.status, /^form /.test(String(unknown.body['error']))], [400, true])
  })

  // Proves decided "Page details"
  it('200: the HTML as it is, which no browser takes for a page', async () => {
    const { status, headers, text } = await ask('source', '/rakes?x=1')
    assert.deepEqual([status, text], [200, HOSTILE])
    assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(
      headers.get('content-security-policy'),
      "sandbox; default-src 'none'; frame-ancestors 'none'",
    )
  })

  it("404: nothing is stored, and another account's", async () => {
    for (const answer of [await ask('source', '/nothing'), await ask('source', '/old')]) {
      assert.deepEqual([answer.status, answer.body], [404, { error: 'Page not found' }])
    }
    assert.deepEqual((await ask('source', '/rakes?x=1', stranger.key)).body, { error: 'Domain not found' })
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
})

describe('inspections', () => {
  // Proves decided "Inspections"
  it('201, and then what became of it; the picture is a picture and nothing else', async () => {
    const created = await inspect('/rakes?x=1')
    assert.equal(created.status, 201)
    const { id, state } = created.body['inspection'] as { id: string; state: string }
    assert.equal(state, 'queued')
    assert.equal(((await inspect('/rakes?x=1')).body['inspection'] as { id: string }).id, id, 'joined')
    assert.equal((await inspection(`${id}/person`)).status, 404, 'there is no picture yet')
    await api.pool.query(
      `update inspection set state = 'done', finished_at = now(), person = $2, person_picture = $3 where id = $1`,
      [id, JSON.stringify({ reason: 'net::ERR_FAILED' }), Buffer.from('RIFF')],
    )
    const { body } = await inspection(id)
    const found = body['inspection'] as { crawler: null; person: { reason: string } }
    assert.deepEqual([found.crawler, found.person.reason], [null, 'net::ERR_FAILED'])
    const { inspection: last } = (await ask('details', '/rakes?x=1')).body as { inspection: { id: string } }
    assert.equal(last.id, id)

    const picture = await inspection(`${id}/person`)
    assert.deepEqual([picture.status, picture.text], [200, 'RIFF'])
    assert.equal(picture.headers.get('content-type'), 'image/webp')
    assert.equal(picture.headers.get('cross-origin-resource-policy'), 'same-origin')
    assert.match(picture.headers.get('content-security-policy') ?? '', /^sandbox;/)
    assert.equal((await inspection(`${id}/other`)).status, 400)
    for (const each of [id, `${id}/person`]) assert.equal((await inspection(each, stranger.key)).status, 404)
  })

  it('429: too many at once, too many in an hour', async () => {
    await api.pool.query('truncate inspection')
    for (let n = 0; n < INSPECTIONS_OPEN; n++) assert.equal((await inspect(`/${n}`)).status, 201)
    const many = await inspect('/more')
    assert.deepEqual(
      [many.status, many.body],
      [429, { error: 'Too many inspections at once (5 per account)' }],
    )
    await api.pool.query(`update inspection set state = 'done'`)
    const counted = `select cardinality(moments) as used from account_rate where what = 'inspection'`
    const { used } = (await api.pool.query<{ used: number }>(counted)).rows[0]!
    for (let n = used; n < INSPECTIONS_AN_HOUR; n++) {
      assert.equal((await inspect(`/hour${n}`)).status, 201)
      await api.pool.query(`update inspection set state = 'done'`)
    }
    const rate = await inspect('/more')
    assert.deepEqual([rate.status, rate.body], [429, { error: 'Inspection limit reached (60 per hour)' }])
    assert.match(rate.headers.get('retry-after') ?? '', /^\d+$/)
  })

  it('400 and 404: no path, no inspection', async () => {
    for (const path of ['x', 7, undefined, '//x']) assert.equal((await inspect(path)).status, 400)
    assert.equal((await inspect('/', stranger.key)).status, 404)
    for (const id of ['x', '00000000-0000-4000-8000-000000000000']) {
      assert.deepEqual((await inspection(id)).body, { error: 'Inspection not found' })
      assert.deepEqual((await inspection(`${id}/crawler`)).body, { error: 'Inspection not found' })
    }
  })
})
