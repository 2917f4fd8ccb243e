import assert from 'node:assert/strict'
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

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  rawRequest(api.url, { method, path, headers: { 'x-prerender-token': owner.key, ...headers } })

describe('GET /https://host/path', () => {
  // Proves decided "Middleware integration"
  it('200: the page of the URL, as it was spelt', async () => {
    const CASES: [path: string, page: string][] = [
      ['/https://shop.example.com', 'https shop.example.com /'],
      ['/http://shop.example.com/a', 'http shop.example.com /a'],
      ['/HTTPS://SHOP.example.com./a', 'https shop.example.com /a'],
      [
        '/https://shop.example.com:443/a?b=c%20d&e=https://f/?g',
        'https shop.example.com /a?b=c%20d&e=https://f/?g',
      ],
      ['/https://shop.example.com//a/../%2F', 'https shop.example.com //a/../%2F'],
      ['/https://shop.example.com/100%', 'https shop.example.com /100%'],
      ['/https://shop.example.com/?_escaped_fragment_=', 'https shop.example.com /'],
      ['/https%3A%2F%2Fshop.example.com%2Fa%2520b', 'https shop.example.com /a%20b'],
      ['/http%3a%2f%2fshop.example.com%2Fa?b=c%20d', 'http shop.example.com /a?b=c%20d'],
      ['/page/https%3A%2F%2Fshop.example.com%2Fa%3Fb', 'https shop.example.com /a?b'],
    ]
    for (const [path, page] of CASES) {
      const { status, text } = await ask(path, { 'user-agent': 'Googlebot' })
      assert.deepEqual([status, text], [200, `<p>${page} for Googlebot</p>`], path)
    }
  })

  it('HEAD is GET; other methods are told so', async () => {
    assert.equal((await ask('/https://shop.example.com/', {}, 'HEAD')).status, 200)
    const wrong = await ask('/https://shop.example.com/', {}, 'POST')
    assert.deepEqual([wrong.status, wrong.headers['allow']], [405, 'GET, HEAD, OPTIONS'])
    assertError(wrong, 'Method not allowed')
  })

  // Proves decided "Middleware integration"
  it('401: no key, one in another header, or a wrong one', async () => {
    const path = '/https://shop.example.com/'
    for (const headers of [{}, { 'x-api-key': owner.key }, { authorization: `Bearer ${owner.key}` }]) {
      const answer = await rawRequest(api.url, { path, headers })
      assert.equal(answer.status, 401)
      assertError(answer, 'API key required')
    }
    const wrong = await ask(path, { 'x-prerender-token': 'pp_live_wrong' })
    assert.equal(wrong.status, 401)
    assertError(wrong, 'Invalid API key')
    assert.equal(wrong.headers['x-prepaint'], undefined)
  })

  it('403: a plan without API access', async () => {
    const poor = await api.account()
    await api.pool.query(`update account set plan = 'pro' where id = $1`, [poor.id])
    const answer = await ask('/https://shop.example.com/', { 'x-prerender-token': poor.key })
    assert.equal(answer.status, 403)
    assertError(answer, 'API access requires Agency plan or above')
  })

  it("404: a domain that nobody has, another's, and what is no name", async () => {
    const other = await api.account()
    await api.domain(other, 'other.example.com')
    for (const host of ['nobody.example.com', 'other.example.com', '127.0.0.1', '[::1]', 'localhost:3000']) {
      const answer = await ask(`/https://${host}/`)
      assert.equal(answer.status, 404, host)
      assertError(answer, 'Domain not found')
    }
  })

  it('400: what is no URL of a page', async () => {
    for (const path of [
      '/https:///x',
      '/https://a@shop.example.com/',
      '/page/shop.example.com',
      '/page/%2F',
      '/https%3A%2F%2F%2Fx',
    ]) {
      const answer = await ask(path)
      assert.equal(answer.status, 400, path)
      assertError(answer, 'url must be the whole http or https URL of a page')
    }
  })
})
