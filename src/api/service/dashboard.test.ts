import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'

import Fastify from 'fastify'

import { ROUTES } from '../../../dashboard/src/route-map.ts'
import { startTestApi } from '../../../test/support/api.ts'
import { openFolder } from '../../../test/support/folder.ts'
import { rawRequest } from '../../../test/support/raw-request.ts'
import type { ApiApp } from '../http/app.ts'
import { DASHBOARD_PAGES, DASHBOARD_POLICY, dashboard, readDashboard } from './dashboard.ts'

const INDEX =
  '<!doctype html><title>Prepaint</title><script type="module" src="/assets/index-abc123.js"></script>'
const SCRIPT = 'console.log("dashboard")\n'.repeat(100)

const [built, empty] = [openFolder(), openFolder()]
mkdirSync(path.join(built, 'assets'))
writeFileSync(path.join(built, 'index.html'), INDEX)
writeFileSync(path.join(built, 'assets', 'index-abc123.js'), SCRIPT)
writeFileSync(path.join(built, 'assets', 'index-abc123.js.br'), brotliCompressSync(SCRIPT))
writeFileSync(path.join(built, 'assets', 'index-abc123.js.gz'), gzipSync(SCRIPT))
writeFileSync(path.join(path.dirname(built), `${path.basename(built)}-secret.js`), 'secret')
const api = await startTestApi({ dashboardDir: built })
after(async () => {
  await api.close()
  rmSync(`${built}-secret.js`)
})

const get = (url: string, headers: Record<string, string> = {}) =>
  fetch(api.url + url, { headers: { 'accept-encoding': 'identity', ...headers }, redirect: 'manual' })

const page = (pattern: string) => pattern.replace(':domain', 'shop.example.com')

describe('pages of the dashboard', () => {
  it('are those of its route map; `/` leads to the first', async () => {
    assert.deepEqual([...DASHBOARD_PAGES], Object.values(ROUTES))
    const { status, headers } = await get('/')
    assert.deepEqual([status, headers.get('location')], [302, '/domains'])
  })

  // Proves decided "`GET /`"
  it('200: each is the one document, asked for anew each time, with a policy without inline script or style', async () => {
    for (const pattern of DASHBOARD_PAGES) {
      const response = await get(page(pattern))
      assert.equal(response.status, 200, pattern)
      assert.equal(await response.text(), INDEX)
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
      assert.equal(response.headers.get('cache-control'), 'no-cache')
      assert.equal(response.headers.get('content-security-policy'), DASHBOARD_POLICY)
      assert.equal(response.headers.get('x-frame-options'), 'DENY')
    }
    assert.doesNotMatch(DASHBOARD_POLICY, /unsafe|data:|\*|https?:/)
    assert.match(DASHBOARD_POLICY, /^default-src 'none';/)
  })

  it('304: without a body, for whoever has it', async () => {
    const etag = (await get('/domains')).headers.get('etag')!
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await get('/domains', { 'if-none-match': known })
      assert.deepEqual([response.status, await response.text()], [304, ''], known)
    }
    assert.equal((await get('/domains', { 'if-none-match': '"other"' })).status, 200)
  })

  it('404: no other path is one, least of all below /api', async () => {
    for (const url of '/domain /domains/a/b /index.html /api/nothing /api /assets/ /assets'.split(' ')) {
      const response = await get(url, { accept: 'text/html' })
      assert.equal(response.status, 404, url)
      assert.deepEqual(await response.json(), { error: 'Not found' })
    }
  })

  it('405: nothing but GET and HEAD', async () => {
    const response = await fetch(`${api.url}/sign-in`, { method: 'POST' })
    assert.deepEqual([response.status, response.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])
    const head = await fetch(`${api.url}/sign-in`, { method: 'HEAD' })
    assert.deepEqual([head.status, await head.text()], [200, ''])
  })

  it('what was there before them stays', async () => {
    for (const url of ['/docs', '/openapi.json', '/bot', '/healthz', '/readyz']) {
      assert.equal((await get(url)).status, 200, url)
    }
    assert.equal((await get('/api/domains')).status, 401)
    // As prerender middlewares ask.
    assert.equal((await get('/https://shop.example.com/domains')).status, 401)
  })
})

describe('files of the dashboard', () => {
  it('each form has a strong ETag of its own', async () => {
    const etags: string[] = []
    for (const encoding of ['br', 'gzip', 'identity']) {
      const asked = { 'accept-encoding': encoding }
      const etag = (await get('/assets/index-abc123.js', asked)).headers.get('etag')!
      etags.push(etag)
      const again = await get('/assets/index-abc123.js', { ...asked, 'if-none-match': etag })
      const other = await get('/assets/index-abc123.js', { 'accept-encoding': 'x', 'if-none-match': etag })
      assert.deepEqual([again.status, other.status], [304, encoding === 'identity' ? 304 : 200])
    }
    assert.equal(new Set(etags).size, 3)
    assert(etags.every((etag) => /^"[\w-]{22}"$/.test(etag)))
  })

  it('200: for ever, in each encoding that was made', async () => {
    for (const encoding of ['br', 'gzip', 'identity']) {
      const response = await get('/assets/index-abc123.js', { 'accept-encoding': encoding })
      assert.equal(response.status, 200)
      for (const [name, value] of [
        ['cache-control', 'public, max-age=31536000, immutable'],
        ['vary', 'Accept-Encoding'],
        ['content-type', 'text/javascript; charset=utf-8'],
        ['x-content-type-options', 'nosniff'],
        ['content-encoding', encoding === 'identity' ? null : encoding],
      ] as const) {
        assert.equal(response.headers.get(name), value)
      }
      assert.equal(await response.text(), SCRIPT)
    }
    const { headers } = await get('/assets/index-abc123.js', { 'accept-encoding': 'gzip, deflate, br' })
    assert.equal(headers.get('content-encoding'), 'br')
  })

  it('404: a way out of the folder, however it is spelt', async () => {
    const name = `${path.basename(built)}-secret.js`
    const ways = [
      `/../${name}`,
      `/assets/../../${name}`,
      `/assets/..%2f..%2f${name}`,
      `/assets/%2e%2e/%2e%2e/${name}`,
      `/assets/..\\..\\${name}`,
      `/assets/index-abc123.js/../../../${name}`,
      `//${name}`,
      '/assets/index-abc123.js.br',
    ]
    for (const way of ways) {
      const { status, text } = await rawRequest(api.url, { path: way })
      assert([400, 404].includes(status), `${way}: ${status}`)
      assert.deepEqual(Object.keys(JSON.parse(text) as object), ['error'], way)
    }
  })

  it('a file of a kind that no browser should get stops the start', () => {
    const file = path.join(empty, 'notes.txt')
    writeFileSync(path.join(empty, 'index.html'), INDEX)
    writeFileSync(file, 'x')
    assert.throws(() => readDashboard(empty), /notes\.txt is no file of a dashboard/)
    rmSync(path.join(empty, 'index.html'))
    rmSync(file)
  })
})

describe('a dashboard that has not been built', () => {
  it('503: a page that says how to build it; the rest of the API works', async () => {
    const app: ApiApp = Fastify()
    dashboard(app, { dashboardDir: empty })
    try {
      for (const pattern of DASHBOARD_PAGES) {
        const response = await app.inject(page(pattern))
        assert.equal(response.statusCode, 503)
        assert.match(response.body, /<code>npm run build<\/code>/)
      }
      assert.equal((await app.inject('/')).statusCode, 302)
    } finally {
      await app.close()
    }
  })
})
