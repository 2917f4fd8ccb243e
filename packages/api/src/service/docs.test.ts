import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { BOT_PAGE_PATH } from '@prepaint/runtime/identity.ts'
import Fastify from 'fastify'
import { ROUTES } from '../../../../dashboard/src/route-map.ts'
import { assertAnswer, openApi } from '../../../../test/support/api.ts'
import { openFolder } from '../../../../test/support/folder.ts'
import { rawRequest } from '../../../../test/support/raw-request.ts'
import type { ApiApp } from '../http/app.ts'
import { botPage } from './bot.ts'
import {
  API_REFERENCE_POLICY,
  DASHBOARD_PAGES,
  DASHBOARD_POLICY,
  dashboard,
  findDashboard,
} from './dashboard.ts'

const INDEX =
  '<!doctype html><title>Prepaint</title><script type="module" src="/assets/index-abc123.js"></script>'
const API_REFERENCE = '<!doctype html><title>Prepaint API</title>'
const SCRIPT = 'console.log("dashboard")\n'.repeat(100)

const [built, empty] = [openFolder(), openFolder()]
mkdirSync(path.join(built, 'assets'))
writeFileSync(path.join(built, 'index.html'), INDEX)
writeFileSync(path.join(built, 'api-reference.html'), API_REFERENCE)
writeFileSync(path.join(built, 'assets', 'index-abc123.js'), SCRIPT)
writeFileSync(path.join(built, 'assets', 'index-abc123.js.br'), brotliCompressSync(SCRIPT))
writeFileSync(path.join(built, 'assets', 'index-abc123.js.gz'), gzipSync(SCRIPT))
writeFileSync(path.join(path.dirname(built), `${path.basename(built)}-secret.js`), 'secret')
const api = await openApi({ dashboardDir: built })
after(() => rmSync(`${built}-secret.js`))

// Proves interface "This document covers the whole interface of the service: the domains API, the cache API, the webhook refresh API, and authentication, limits and errors."
it('GET /openapi.json: OpenAPI 3.1 with every endpoint of the contract, and schemas that compile', async () => {
  api.contract.compileAll()
  const { openapi, paths } = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
    openapi: string
    paths: Record<string, object>
  }
  assert.equal(openapi, '3.1.0')
  const routes = api.contract.operations.map(({ method, url }) => `${method} ${url}`)
  const contract =
    'GET /api/domains, POST /api/domains, DELETE /api/domains/{domain}, PUT /api/domains/{domain}, ' +
    'GET /api/cache/list/{domain}, POST /api/cache/purge, POST /api/cache/refresh, POST /api/cache/purge-all, ' +
    'POST /api/cache/refresh-all, GET /api/cache/stats, POST /api/webhook/refresh'
  for (const endpoint of contract.split(', ')) {
    assert(routes.includes(endpoint), endpoint)
  }
  for (const hidden of ['/', '/bot', '/docs', '/metrics', '/domains']) assert(!(hidden in paths), hidden)
})

// Proves decided "Codes of errors"
it('GET /openapi.json: every error has the header with its code, and all codes are listed', async () => {
  const { paths, components } = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
    paths: Record<
      string,
      Record<string, { responses: Record<string, { headers?: object; content?: Record<string, object> }> }>
    >
    components: { schemas: Record<string, { enum: string[] }>; headers: Record<string, object> }
  }
  const codes = components.schemas['ErrorCode']!.enum
  assert(codes.includes('domain_not_found') && codes.includes('invalid_field') && codes.length > 100)
  for (const code of codes) assert.match(code, /^[a-z][a-z0-9_]*$/)
  for (const [path, operations] of Object.entries(paths)) {
    for (const { responses } of Object.values(operations)) {
      for (const [status, { headers, content }] of Object.entries(responses)) {
        const isError = Number(status) >= 400 && content?.['application/json'] !== undefined
        assert.equal('Prepaint-Error' in (headers ?? {}), isError, `${path} ${status}`)
      }
    }
  }
})

it('GET /openapi.json: every operation that asks the database may answer 503, and says how', async () => {
  const { paths } = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
    paths: Record<
      string,
      Record<string, { security?: object[]; responses: Record<string, { description: string }> }>
    >
  }
  const silent: string[] = []
  const open = new Set<string>()
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { security, responses }] of Object.entries(operations)) {
      const isTold =
        responses['503']?.description.includes('Database is unavailable, try again later') === true
      if (security !== undefined && !isTold) silent.push(`${method} ${path}`)
      if (security === undefined && isTold) open.add(`${method} ${path}`)
    }
  }
  // It answers fronts in a form of its own.
  assert.deepEqual(silent, ['get /page/{url}'])
  assert.deepEqual([...open].sort(), [
    'get /logos/{key}',
    'post /api/links/read',
    'post /api/links/use',
    'post /api/notifications/confirm',
    'post /api/password-reset',
    'post /api/person/email/confirm',
    'post /api/session',
    'post /api/session/passkey',
    'post /api/session/passkey/options',
    'post /api/session/second-factor',
    'post /api/session/sso',
  ])
})

it('GET /bot: no script, and a policy that lets through its one style sheet and nothing else', async () => {
  const response = await fetch(`${api.url}/bot`)
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
  const html = await response.text()
  assert.doesNotMatch(html, /<script|<img|<link|<iframe|<form|\son\w+=|\sstyle=|undefined|\[object/)
  const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? ''
  const hash = createHash('sha256').update(style).digest('base64')
  assert.equal(
    response.headers.get('content-security-policy'),
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  )
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
})

it('GET /docs: the viewer of the dashboard’s build, with a policy that allows only our own files and its icons', async () => {
  const response = await fetch(`${api.url}/docs`)
  assert.deepEqual([response.status, await response.text()], [200, API_REFERENCE])
  assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
  const policy = response.headers.get('content-security-policy') ?? ''
  assert.equal(policy, API_REFERENCE_POLICY)
  assert.equal(policy.replace(' data:', ''), DASHBOARD_POLICY)
  assert.equal((await fetch(`${api.url}/api-reference.html`)).status, 404)
})

// Proves decided "`GET /bot`"
it('GET /bot: who it is, whom to ask, how to see, pass and stop it', async () => {
  // Where the user agent of renders points.
  const html = await (await fetch(`${api.url}${BOT_PAGE_PATH}`)).text()
  for (const said of [
    'Prepaint/0.0.0-test',
    '<a href="mailto:render@example.com">',
    'Via: 1.1 prepaint',
    '"action":\n"pass"',
    'How to stop it',
    '/prepaint-probe-',
  ]) {
    assert(html.includes(said), said)
  }
  const nobody = botPage({ version: '1.2.3', contact: null }, '')
  assert.match(nobody, /There is no contact address/)
  assert.doesNotMatch(nobody, /mailto:|null/)
  const odd = botPage({ version: '1.2.3', contact: `https://a.example/"><script>alert(1)</script>` }, '')
  assert.doesNotMatch(odd, /<script/)
  assert.match(odd, /<a href="https:\/\/a\.example\//)
})

it('GET /healthz and /readyz: the process lives, and what the node says of itself', async () => {
  assertAnswer(await api.get('/healthz'), 200, { status: 'ok' })
  assert.equal((await api.get('/readyz')).status, 200)
  const serving = api.readiness.found
  api.readiness.found = { ready: false, state: 'serving', database: 'unreachable', browser: 'ok' }
  const { status, body } = await api.get('/readyz')
  api.readiness.found = serving
  assert.deepEqual([status, body['error'], body['database']], [503, 'Not ready', 'unreachable'])
})

it('GET /metrics: a server without figures has none, and no key of a customer opens it', async () => {
  const { key } = await api.account()
  for (const each of [undefined, key]) assertAnswer(await api.get('/metrics', each), 404, 'Not found')
})

describe('the dashboard', () => {
  const get = (url: string, headers: Record<string, string> = {}) =>
    fetch(api.url + url, { headers: { 'accept-encoding': 'identity', ...headers }, redirect: 'manual' })
  const PAGES = DASHBOARD_PAGES.map((pattern) => pattern.replaceAll(/:\w+/g, 'shop.example.com'))
  const FILE = '/assets/index-abc123.js'

  it('has the pages of its route map; `/` leads to the first', async () => {
    assert.deepEqual([...DASHBOARD_PAGES], Object.values(ROUTES))
    const { status, headers } = await get('/')
    assert.deepEqual([status, headers.get('location')], [302, '/domains'])
  })

  // Proves decided "`GET /`"
  it('200: each page is the one document, asked for anew each time, with a policy without inline script or style', async () => {
    for (const page of PAGES) {
      const response = await get(page)
      assert.deepEqual([response.status, await response.text()], [200, INDEX], page)
      assert.partialDeepStrictEqual(Object.fromEntries(response.headers), {
        ...{ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
        ...{ 'content-security-policy': DASHBOARD_POLICY, 'x-frame-options': 'DENY' },
      })
    }
    assert.doesNotMatch(DASHBOARD_POLICY, /unsafe|data:|\*|https?:/)
    assert.match(DASHBOARD_POLICY, /^default-src 'none';/)
  })

  const BROWSER = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

  it('404: a browser at an unknown address gets the document, which says so', async () => {
    for (const url of '/domain /domains/ /domains/a/b /index.html?x=/api /apis'.split(' ')) {
      const response = await get(url, BROWSER)
      assert.deepEqual([response.status, await response.text()], [404, INDEX], url)
      assert.equal(response.headers.get('content-security-policy'), DASHBOARD_POLICY)
    }
    const { status } = await get('/domain', { ...BROWSER, 'if-none-match': '*' })
    assert.equal(status, 404)
  })

  it('404: programs at an unknown address get JSON, and so does every client below /api and /assets', async () => {
    const refused = [404, { error: 'Not found' }]
    for (const accept of ['*/*', 'application/json', 'application/json, text/html', 'text/css']) {
      const response = await get('/domain', { accept })
      assert.deepEqual([response.status, await response.json()], refused, accept)
    }
    for (const url of '/api/nothing /api /api?x /assets/ /assets /assets/gone-1.js'.split(' ')) {
      const response = await get(url, BROWSER)
      assert.deepEqual([response.status, await response.json()], refused, url)
    }
    const posted = await fetch(`${api.url}/domain`, { method: 'POST', headers: BROWSER })
    assert.deepEqual([posted.status, await posted.json()], refused)
    assert.equal((await get('/https://shop.example.com/domains')).status, 403)
  })

  it('files are for ever, in each encoding that was made, with a strong ETag of its own', async () => {
    const etags = new Set<string>()
    for (const encoding of ['br', 'gzip', 'identity']) {
      const response = await get(FILE, { 'accept-encoding': encoding })
      assert.deepEqual([response.status, await response.text()], [200, SCRIPT])
      assert.partialDeepStrictEqual(Object.fromEntries(response.headers), {
        ...{ 'cache-control': 'public, max-age=31536000, immutable', vary: 'Accept-Encoding' },
        ...{ 'content-type': 'text/javascript; charset=utf-8', 'x-content-type-options': 'nosniff' },
        ...(encoding !== 'identity' && { 'content-encoding': encoding }),
      })
      const etag = response.headers.get('etag')!
      assert.match(etag, /^"[\w-]{22}"$/)
      etags.add(etag)
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const again = await get(FILE, { 'accept-encoding': encoding, 'if-none-match': known })
        assert.deepEqual([again.status, await again.text()], [304, ''], known)
      }
    }
    assert.equal(etags.size, 3)
    const [br] = etags
    assert.equal((await get(FILE, { 'if-none-match': br! })).status, 200)
  })

  it('404: a way out of the folder, however it is spelt', async () => {
    const name = `${path.basename(built)}-secret.js`
    const out = ['/../', '/assets/../../', '/assets/..%2f..%2f', '//', '/assets/%2e%2e/%2e%2e/']
    const ways = [...out, '/assets/..\\..\\', `${FILE}/../../../`].map((way) => way + name)
    for (const way of [...ways, `${FILE}.br`]) {
      const { status, text } = await rawRequest(api.url, { path: way })
      assert([400, 404].includes(status), `${way}: ${status}`)
      assert.deepEqual(Object.keys(JSON.parse(text) as object), ['error'], way)
    }
  })

  it('503 where it has not been built: a page that says how to build it', async (t) => {
    const app: ApiApp = Fastify()
    t.after(() => app.close())
    dashboard(app, findDashboard(empty))
    for (const page of PAGES) {
      const { statusCode, body } = await app.inject(page)
      assert.equal(statusCode, 503)
      assert.match(body, /<code>npm run build<\/code>/)
    }
    assert.equal((await app.inject('/')).statusCode, 302)
    assert.equal((await app.inject('/docs')).headers['location'], '/openapi.json')
  })
})
