import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'

import { startTestApi, type TestApi } from '../../../test/support/api.ts'

let api: TestApi
before(async () => {
  api = await startTestApi()
})
after(() => api.close())

describe('GET /openapi.json', () => {
  // Proves interface "This document covers the whole interface of the service: the domains API, the cache API, the webhook refresh API, and authentication, limits and errors."
  it('200: OpenAPI 3.1 with every endpoint of the contract, and schemas that compile', async () => {
    api.contract.compileAll()
    const response = await fetch(`${api.url}/openapi.json`)
    const document = (await response.json()) as { openapi: string; paths: Record<string, object> }
    assert.equal(document.openapi, '3.1.0')
    assert.deepEqual(
      Object.entries(document.paths)
        .flatMap(([url, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${url}`))
        .sort(),
      [
        'DELETE /api/domains/{domain}',
        'DELETE /api/domains/{domain}/certificate',
        'DELETE /api/domains/{domain}/warm',
        'DELETE /api/endpoints/{id}',
        'DELETE /api/keys/{id}',
        'DELETE /api/operator/jobs/{jobId}',
        'DELETE /api/session',
        'DELETE /api/sessions',
        'DELETE /api/sessions/{id}',
        'DELETE /api/tokens/{id}',
        'GET /api/cache/list/{domain}',
        'GET /api/cache/stats',
        'GET /api/domains',
        'GET /api/domains/{domain}',
        'GET /api/domains/{domain}/certificate',
        'GET /api/domains/{domain}/compliance',
        'GET /api/domains/{domain}/devices',
        'GET /api/domains/{domain}/dns',
        'GET /api/domains/{domain}/indexnow',
        'GET /api/domains/{domain}/inspections/{inspectionId}',
        'GET /api/domains/{domain}/inspections/{inspectionId}/{picture}',
        'GET /api/domains/{domain}/pages',
        'GET /api/domains/{domain}/pages/details',
        'GET /api/domains/{domain}/pages/source',
        'GET /api/domains/{domain}/redirects',
        'GET /api/domains/{domain}/renders',
        'GET /api/domains/{domain}/robots',
        'GET /api/domains/{domain}/rules/try/{tryId}',
        'GET /api/domains/{domain}/tokens',
        'GET /api/domains/{domain}/traffic',
        'GET /api/domains/{domain}/traffic/paths',
        'GET /api/domains/{domain}/traffic/renders',
        'GET /api/domains/{domain}/versions',
        'GET /api/domains/{domain}/versions/{id}',
        'GET /api/domains/{domain}/warm',
        'GET /api/egress',
        'GET /api/endpoints',
        'GET /api/endpoints/{id}/deliveries',
        'GET /api/events',
        'GET /api/incidents',
        'GET /api/jobs/{jobId}',
        'GET /api/keys',
        'GET /api/notifications',
        'GET /api/operator/accounts',
        'GET /api/operator/events',
        'GET /api/operator/failures',
        'GET /api/operator/nodes',
        'GET /api/operator/queue',
        'GET /api/password-reset',
        'GET /api/plan',
        'GET /api/report',
        'GET /api/session',
        'GET /api/sessions',
        'GET /api/traffic',
        'GET /api/traffic/domains',
        'GET /healthz',
        'GET /page/{url}',
        'GET /readyz',
        'POST /api/cache/purge',
        'POST /api/cache/purge-all',
        'POST /api/cache/refresh',
        'POST /api/cache/refresh-all',
        'POST /api/deliveries/{id}/replay',
        'POST /api/domains',
        'POST /api/domains/check',
        'POST /api/domains/{domain}/devices/check',
        'POST /api/domains/{domain}/inspections',
        'POST /api/domains/{domain}/pages/purge',
        'POST /api/domains/{domain}/pages/refresh',
        'POST /api/domains/{domain}/robots/preview',
        'POST /api/domains/{domain}/robots/test',
        'POST /api/domains/{domain}/rules/try',
        'POST /api/domains/{domain}/tokens',
        'POST /api/domains/{domain}/versions/{id}/restore',
        'POST /api/domains/{domain}/warm',
        'POST /api/endpoints',
        'POST /api/endpoints/{id}/test',
        'POST /api/keys',
        'POST /api/links/read',
        'POST /api/links/use',
        'POST /api/notifications/confirm',
        'POST /api/operator/accounts/{id}/reset-link',
        'POST /api/operator/invitations',
        'POST /api/password-reset',
        'POST /api/render',
        'POST /api/session',
        'POST /api/webhook/refresh',
        'PUT /api/domains/{domain}',
        'PUT /api/domains/{domain}/certificate',
        'PUT /api/domains/{domain}/redirects',
        'PUT /api/domains/{domain}/warm',
        'PUT /api/endpoints/{id}',
        'PUT /api/notifications',
        'PUT /api/operator/accounts/{id}',
        'PUT /api/password',
      ],
    )
  })
})

describe('GET /docs', () => {
  it('200: a page with every endpoint, without script and without anything from elsewhere', async () => {
    const response = await fetch(`${api.url}/docs`)
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
    const html = await response.text()
    for (const { method, url } of api.contract.operations) {
      assert(html.includes(`<span class="method">${method}</span> <code>${url}</code>`), `${method} ${url}`)
    }
    assert.doesNotMatch(html, /<script|<img|<link|<iframe|\son\w+=|\sstyle=|undefined|\[object/)
    assert.deepEqual(
      [...html.matchAll(/(?:href|src)="(?!#)([^"]*)"/g)].map(([, link]) => link),
      ['/domains', '/openapi.json'],
    )
    for (const [, id] of html.matchAll(/href="#([^"]*)"/g)) assert(html.includes(`id="${id}"`), `#${id}`)
  })

  it('200: a policy that lets through its one style sheet and nothing else', async () => {
    const response = await fetch(`${api.url}/docs`)
    const style = /<style>([\s\S]*?)<\/style>/.exec(await response.text())?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    assert.equal(
      response.headers.get('content-security-policy'),
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
  })
})

describe('GET /healthz and GET /readyz', () => {
  it('200: the process lives', async () => {
    assert.deepEqual((await api.get('/healthz')).body, { status: 'ok' })
  })

  it('200 and 503: what the node says of itself', async () => {
    assert.equal((await api.get('/readyz')).status, 200)
    api.readiness.found = { ready: false, state: 'serving', database: 'unreachable', browser: 'ok' }
    const { status, body } = await api.get('/readyz')
    assert.deepEqual([status, body['error'], body['database']], [503, 'Not ready', 'unreachable'])
  })
})
