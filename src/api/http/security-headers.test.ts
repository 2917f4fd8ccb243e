import assert from 'node:assert/strict'
import type { RequestOptions } from 'node:http'
import { after, before, it } from 'node:test'

import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { rawRequest } from '../../../test/support/raw-request.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, 'shop.example.com')
})
after(() => api.close())

const raw = (options: RequestOptions, body?: string | Buffer) => rawRequest(api.url, options, body)

it('every answer forbids to be framed, sniffed, scripted and kept; none opens itself to other sites', async () => {
  const answers = [
    await raw({ path: '/api/domains', headers: { origin: 'https://evil.example', 'x-api-key': owner.key } }),
    await raw({ path: '/nothing', headers: { origin: 'https://evil.example' } }),
    await raw({ path: '/api/domains/%' }),
    await raw({ method: 'PUT', path: '/api/domains' }),
    await raw({ path: '/openapi.json' }),
  ]
  for (const { headers } of answers) {
    assert.match(String(headers['content-security-policy']), /default-src 'none'/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['x-frame-options'], 'DENY')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.equal(headers['cache-control'], 'no-store')
    assert.equal(headers['access-control-allow-origin'], undefined)
    assert.equal(headers['x-powered-by'], undefined)
    assert.equal(headers['server'], undefined)
  }
})
