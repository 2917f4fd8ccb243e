import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { assertAnswer, openApi } from '../../../test/support/api.ts'
import { assertError, rawRequest } from '../../../test/support/raw-request.ts'
import { PAGE_URL_LIMIT_CHARS, USER_AGENT_LIMIT_CHARS } from './integration.ts'

const api = await openApi()
const owner = await api.account()
await api.domain(owner, 'shop.example.com')
await api.domain(await api.account(), 'other.example.com')

describe('GET /https://host/path', () => {
  const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    rawRequest(api.url, { method, path, headers: { 'x-prerender-token': owner.key, ...headers } })

  // Proves decided "Middleware integration"
  it('200: the page of the URL, as it was spelt', async () => {
    for (const [path, page] of [
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
    ] as const) {
      const { status, text } = await ask(path, { 'user-agent': 'Googlebot' })
      assert.deepEqual([status, text], [200, `<p>${page} for Googlebot</p>`], path)
    }
  })

  it('HEAD is GET; other methods are told so', async () => {
    assert.equal((await ask('/https://shop.example.com/', {}, 'HEAD')).status, 200)
    const wrong = await ask('/https://shop.example.com/', {}, 'POST')
    assertError(wrong, 405, 'Method not allowed')
    assert.equal(wrong.headers['allow'], 'GET, HEAD, OPTIONS')
  })

  // Proves decided "Middleware integration"
  it('401: no key, one in another header, or a wrong one; 403: a plan without API access', async () => {
    const path = '/https://shop.example.com/'
    for (const headers of [{}, { 'x-api-key': owner.key }, { authorization: `Bearer ${owner.key}` }]) {
      assertError(await rawRequest(api.url, { path, headers }), 401, 'API key required')
    }
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

  it("404: a domain that nobody has, another's, and what is no name; 400: what is no URL of a page", async () => {
    for (const host of ['nobody.example.com', 'other.example.com', '127.0.0.1', '[::1]', 'localhost:3000']) {
      assertError(await ask(`/https://${host}/`), 404, 'Domain not found')
    }
    const none =
      '/https:///x /https://a@shop.example.com/ /page/shop.example.com /page/%2F /https%3A%2F%2F%2Fx'
    for (const path of none.split(' ')) {
      assertError(await ask(path), 400, 'url must be the whole http or https URL of a page')
    }
  })
})

describe('POST /api/render', () => {
  const URL = 'https://shop.example.com/a?b=c'
  const render = (body: unknown, token: string | undefined = owner.key) =>
    api.call('POST', '/api/render', { token, body })

  // Proves decided "Edge worker integration"
  it('200: the page of the URL, for a crawler or for who is named', async () => {
    for (const [body, page] of [
      [{ url: URL }, '/a?b=c for null'],
      [{ url: `${URL}#d`, user_agent: 'bingbot' }, '/a?b=c for bingbot'],
      [{ url: URL, user_agent: '' }, '/a?b=c for '],
      [{ url: 'https://shop.example.com/größe' }, '/gr%C3%B6%C3%9Fe for null'],
    ] as const) {
      assert.equal((await render(body)).text, `<p>https shop.example.com ${page}</p>`)
    }
  })

  it('the key as a Bearer token or in the header of the API, not where middlewares put it; 401 else', async () => {
    const ask = (request: object) => api.call('POST', '/api/render', { ...request, body: { url: URL } })
    assert.equal((await ask({ key: owner.key })).status, 200)
    assertAnswer(await ask({ headers: { 'x-prerender-token': owner.key } }), 401, 'API key required')
    assertAnswer(await ask({ token: 'pp_live_wrong' }), 401, 'Invalid API key')
  })

  it("404: another's domain, and one that nobody has; 400: what is wrong is named", async () => {
    for (const host of ['other.example.com', 'nobody.example.com']) {
      assertAnswer(await render({ url: `https://${host}/` }), 404, 'Domain not found')
    }
    for (const [body, words] of [
      [{}, /^url /],
      [{ url: 7 }, /^url /],
      [{ url: '/a' }, /^url must be the whole http or https URL of a page$/],
      [{ url: 'ftp://shop.example.com/' }, /^url must be the whole/],
      [{ url: URL, user_agent: 7 }, /^user_agent /],
      ['{', /^Invalid JSON body$/],
    ] as const) {
      assertAnswer(await render(body), 400, words)
    }
  })

  it('a URL and a user agent of the greatest length are taken, one character more is not', async () => {
    const url = URL.padEnd(PAGE_URL_LIMIT_CHARS, 'x')
    assert.equal((await render({ url })).status, 200)
    assertAnswer(await render({ url: `${url}x` }), 400, /^url .*8192/)
    const user_agent = 'x'.repeat(USER_AGENT_LIMIT_CHARS)
    assert.equal((await render({ url: URL, user_agent })).status, 200)
    assertAnswer(await render({ url: URL, user_agent: `${user_agent}x` }), 400, /^user_agent .*4096/)
  })
})
