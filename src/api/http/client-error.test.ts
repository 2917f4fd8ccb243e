import assert from 'node:assert/strict'
import type { RequestOptions } from 'node:http'
import { after, before, describe, it } from 'node:test'

import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { assertError, rawBytes, rawRequest } from '../../../test/support/raw-request.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, 'shop.example.com')
})
after(() => api.close())

const raw = (options: RequestOptions, body?: string | Buffer) => rawRequest(api.url, options, body)
const bytes = (text: string) => rawBytes(api.url, text)

describe('malformed requests', () => {
  // Proves decided "Malformed requests"
  it('400: URLs that cannot be decoded', async () => {
    for (const path of [
      '/api/domains/%',
      '/api/domains/%zz',
      '/api/domains/%ff',
      '/api/jobs/%c3%28',
      '/api/cache/list/%E0%A4%A',
    ]) {
      const answer = await raw({ path, headers: { 'x-api-key': owner.key } })
      assert.equal(answer.status, 400, path)
      assertError(answer, 'Malformed URL')
      assert.equal(answer.headers['x-content-type-options'], 'nosniff')
    }
  })

  // Proves decided "Malformed requests"
  it('400: what is no HTTP, without a word of what it held', async () => {
    for (const text of [
      'GARBAGE\r\n\r\n',
      'GET / HTTP/1.1\r\nX-Api-Key pp_live_secret\r\n\r\n',
      'GET /\u0001 HTTP/1.1\r\nHost: a\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ]) {
      const answer = await bytes(text)
      assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
      assert.equal(answer.split('\r\n\r\n')[1], '{"error":"Malformed request"}')
    }
  })

  it('400: HTTP/1.1 without a host', async () => {
    const answer = await bytes('GET /api/domains HTTP/1.1\r\nConnection: close\r\n\r\n')
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.match(answer, /\{"error":"Malformed request"\}/)
    assert.match(await bytes('GET /healthz HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /)
  })

  // Proves decided "Malformed requests"
  it('431: headers without end', async () => {
    const answer = await raw({ path: '/healthz', headers: { 'x-filler': 'x'.repeat(200_000) } }).catch(
      (error) => error,
    )
    if (answer instanceof Error)
      assert.match(String((answer as NodeJS.ErrnoException).code), /ECONNRESET|EPIPE/)
    else {
      assert.equal(answer.status, 431)
      assertError(answer, 'Request headers too large')
    }
  })

  it('200: a path of 64 KiB that only its query makes so long, and headers of 64 KiB', async () => {
    assert.equal((await raw({ path: `/healthz?${'x'.repeat(65_536)}` })).status, 200)
    assert.equal((await raw({ path: '/healthz', headers: { 'x-filler': 'x'.repeat(65_536) } })).status, 200)
  })

  it('401: a key of 64 KiB, or with odd bytes', async () => {
    for (const key of ['x'.repeat(65_536), `pp_live_${'é'.repeat(50)}`, 'pp_live_\t', "' or 1=1 --"]) {
      const headers = { 'x-api-key': Buffer.from(key).toString('latin1') }
      const answer = await raw({ path: '/api/domains', headers })
      assert.equal(answer.status, 401)
      assertError(answer, 'Invalid API key')
    }
  })

  it('200: an expectation that is unknown is no reason to refuse', async () => {
    assert.equal((await raw({ path: '/healthz', headers: { expect: 'the-unexpected' } })).status, 200)
  })
})
