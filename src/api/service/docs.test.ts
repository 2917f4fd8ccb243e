import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { it } from 'node:test'

import { assertAnswer, openApi } from '../../../test/support/api.ts'
import { BOT_PAGE_PATH } from '../../render/identity.ts'
import { botPage } from './bot.ts'
import { curlFor } from './docs-page.ts'

const api = await openApi()

// Proves interface "This document covers the whole interface of the service: the domains API, the cache API, the webhook refresh API, and authentication, limits and errors."
it('GET /openapi.json: OpenAPI 3.1 with every endpoint of the contract, and schemas that compile', async () => {
  api.contract.compileAll()
  const { openapi, paths } = (await (await fetch(`${api.url}/openapi.json`)).json()) as {
    openapi: string
    paths: Record<string, object>
  }
  assert.equal(openapi, '3.1.0')
  const routes = api.contract.operations.map(({ method, url }) => `${method} ${url}`)
  for (const endpoint of [
    'GET /api/domains',
    'POST /api/domains',
    'DELETE /api/domains/{domain}',
    'PUT /api/domains/{domain}',
    'GET /api/cache/list/{domain}',
    'POST /api/cache/purge',
    'POST /api/cache/refresh',
    'POST /api/cache/purge-all',
    'POST /api/cache/refresh-all',
    'GET /api/cache/stats',
    'POST /api/webhook/refresh',
  ]) {
    assert(routes.includes(endpoint), endpoint)
  }
  for (const hidden of ['/', '/bot', '/docs', '/metrics', '/domains']) assert(!(hidden in paths), hidden)
})

for (const page of ['/docs', '/bot']) {
  it(`GET ${page}: no script, and a policy that lets through its one style sheet and nothing else`, async () => {
    const response = await fetch(api.url + page)
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
}

it('GET /docs: every endpoint, and nothing from elsewhere', async () => {
  const html = await (await fetch(`${api.url}/docs`)).text()
  for (const { method, url } of api.contract.operations) {
    assert(html.includes(`<span class="method">${method}</span> <code>${url}</code>`), `${method} ${url}`)
  }
  const links = [...html.matchAll(/(?:href|src)="(?!#)([^"]*)"/g)].map(([, link]) => link)
  assert.deepEqual(links, ['/domains', '/openapi.json'])
  for (const [, id] of html.matchAll(/href="#([^"]*)"/g)) assert(html.includes(`id="${id}"`), `#${id}`)
})

it('an example asks the endpoint with the secret that it takes, and a body of the right shape', () => {
  assert.equal(
    curlFor('GET', 'https://p.example/api/domains/{domain}/tokens/{id}', 'ApiKey', undefined),
    'curl "https://p.example/api/domains/shop.example.com/tokens/<id>" \\\n  -H "X-Api-Key: $API_KEY"',
  )
  const body = {
    type: 'object',
    required: ['domain', 'ids', 'kind'],
    properties: {
      domain: { type: 'string' },
      ids: { type: 'array', items: { type: 'integer' } },
      kind: { anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] },
      other: { type: 'boolean' },
    },
  }
  assert.match(
    curlFor('POST', '$PREPAINT_URL/api/x', 'WebhookToken', body),
    /-X POST "\$PREPAINT_URL\/api\/x" \\\n {2}-H "Authorization: Bearer \$WEBHOOK_TOKEN" \\\n {2}-H "Content-Type: application\/json" \\\n {2}-d '\{"domain":"shop\.example\.com","ids":\[1\],"kind":"a"\}'$/,
  )
  assert.equal(curlFor('GET', '$PREPAINT_URL/healthz', '', undefined), 'curl "$PREPAINT_URL/healthz"')
  const nothingRequired = { properties: { path: {}, on: { type: 'boolean' }, third: {} } }
  const optional = curlFor('PUT', '/x', 'Session', nothingRequired)
  assert.match(optional, /-b "\$COOKIE".*-d '\{"path":"\/about","on":true\}'$/s)
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
  api.readiness.found = { ready: false, state: 'serving', database: 'unreachable', browser: 'ok' }
  const { status, body } = await api.get('/readyz')
  assert.deepEqual([status, body['error'], body['database']], [503, 'Not ready', 'unreachable'])
})

it('GET /metrics: a server without figures has none, and no key of a customer opens it', async () => {
  const { key } = await api.account()
  for (const each of [undefined, key]) assertAnswer(await api.get('/metrics', each), 404, 'Not found')
})
