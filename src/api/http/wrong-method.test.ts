import assert from 'node:assert/strict'
import type { RequestOptions } from 'node:http'
import { after, before, describe, it } from 'node:test'

import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { assertError, rawRequest } from '../../../test/support/raw-request.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, 'shop.example.com')
})
after(() => api.close())

const raw = (options: RequestOptions, body?: string | Buffer) => rawRequest(api.url, options, body)

// Proves interface 7/1, decided "Missing or wrong fields in a body"
describe('404', () => {
  const paths = [
    '/api',
    '/api/',
    '/api/domain',
    '/api/domains/',
    '/api/domains/a/b',
    '//api/domains',
    '/API/domains',
    '/favicon.ico',
    '/api/cache/list',
    '/api/%64omainss',
    '/../etc/passwd',
    '/api/domains/../../x',
    '/index.php?x=1',
    `/${'a'.repeat(65_536)}`,
  ]
  for (const path of paths) {
    it(path.slice(0, 40), async () => {
      for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'PROPFIND']) {
        const answer = await raw(
          { method, path, headers: { 'content-type': 'application/json' } },
          method.startsWith('P') ? '{' : undefined,
        )
        assert.equal(answer.status, 404, method)
        assertError(answer, 'Not found')
      }
      const options = await raw({ method: 'OPTIONS', path })
      assert.equal(options.status, 404)
    })
  }
})

describe('405, and OPTIONS', () => {
  // Proves decided "Missing or wrong fields in a body", decided "OPTIONS and HEAD"
  it('name what each known path takes', async () => {
    const cases: [string, string][] = [
      ['/api/domains', 'GET, HEAD, OPTIONS, POST'],
      ['/api/domains/shop.example.com', 'DELETE, GET, HEAD, OPTIONS, PUT'],
      ['/api/cache/list/shop.example.com', 'GET, HEAD, OPTIONS'],
      ['/api/cache/purge', 'OPTIONS, POST'],
      ['/api/cache/purge-all?x=1', 'OPTIONS, POST'],
      ['/api/cache/refresh', 'OPTIONS, POST'],
      ['/api/cache/refresh-all', 'OPTIONS, POST'],
      ['/api/cache/stats', 'GET, HEAD, OPTIONS'],
      ['/api/webhook/refresh', 'OPTIONS, POST'],
      ['/api/jobs/x', 'GET, HEAD, OPTIONS'],
      ['/healthz', 'GET, HEAD, OPTIONS'],
      ['/openapi.json', 'GET, HEAD, OPTIONS'],
    ]
    for (const [path, allow] of cases) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY']) {
        if (allow.split(', ').includes(method)) continue
        const answer = await raw({ method, path })
        assert.deepEqual([answer.status, answer.headers.allow], [405, allow], `${method} ${path}`)
        assertError(answer, 'Method not allowed')
      }
      const options = await raw({ method: 'OPTIONS', path, headers: { origin: 'https://evil.example' } })
      assert.deepEqual([options.status, options.headers.allow, options.text], [204, allow, ''])
      assert(!Object.keys(options.headers).some((name) => name.startsWith('access-control-')))
    }
  })

  // Proves decided "OPTIONS and HEAD"
  it('HEAD is GET without its body', async () => {
    const headers = { 'x-api-key': owner.key }
    for (const path of [
      '/api/domains',
      '/api/cache/stats',
      '/api/domains/none.example.com',
      '/openapi.json',
    ]) {
      const [head, get] = [await raw({ method: 'HEAD', path, headers }), await raw({ path, headers })]
      assert.deepEqual([head.status, head.text], [get.status, ''])
      assert.equal(head.headers['content-type'], get.headers['content-type'])
    }
    assert.equal((await raw({ method: 'HEAD', path: '/api/domains' })).status, 401)
    assert.equal((await raw({ method: 'HEAD', path: '/api/cache/purge' })).status, 405)
  })
})
