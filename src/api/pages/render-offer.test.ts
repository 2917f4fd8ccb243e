import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'

import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { PAGE_URL_LIMIT_CHARS, USER_AGENT_LIMIT_CHARS } from './integration.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, 'shop.example.com')
})
after(() => api.close())

const URL = 'https://shop.example.com/a?b=c'
const render = (body: unknown, token: string | undefined = owner.key) =>
  api.call('POST', '/api/render', { token, body })

describe('POST /api/render', () => {
  // Proves decided "Edge worker integration"
  it('200: the page of the URL, for a crawler or for who is named', async () => {
    assert.equal((await render({ url: URL })).text, '<p>https shop.example.com /a?b=c for null</p>')
    const named = await render({ url: `${URL}#d`, user_agent: 'bingbot' })
    assert.equal(named.text, '<p>https shop.example.com /a?b=c for bingbot</p>')
    assert.equal(
      (await render({ url: URL, user_agent: '' })).text,
      '<p>https shop.example.com /a?b=c for </p>',
    )
    const text = (await render({ url: 'https://shop.example.com/größe' })).text
    assert.equal(text, '<p>https shop.example.com /gr%C3%B6%C3%9Fe for null</p>')
  })

  it('200: the key as a Bearer token or in the header of the API', async () => {
    const answer = await api.call('POST', '/api/render', { key: owner.key, body: { url: URL } })
    assert.equal(answer.status, 200)
  })

  it('401: no key, a wrong one, and a key where middlewares put it', async () => {
    const body = { url: URL }
    const none = await api.call('POST', '/api/render', { body, headers: { 'x-prerender-token': owner.key } })
    assert.deepEqual([none.status, none.body], [401, { error: 'API key required' }])
    const wrong = await render(body, 'pp_live_wrong')
    assert.deepEqual([wrong.status, wrong.body], [401, { error: 'Invalid API key' }])
  })

  it("404: another's domain, and one that nobody has", async () => {
    await api.domain(await api.account(), 'other.example.com')
    for (const host of ['other.example.com', 'nobody.example.com']) {
      const answer = await render({ url: `https://${host}/` })
      assert.deepEqual([answer.status, answer.body], [404, { error: 'Domain not found' }])
    }
  })

  it('400: what is wrong is named', async () => {
    const CASES: [body: unknown, words: RegExp][] = [
      [{}, /^url /],
      [{ url: 7 }, /^url /],
      [{ url: '/a' }, /^url must be the whole http or https URL of a page$/],
      [{ url: 'ftp://shop.example.com/' }, /^url must be the whole/],
      [{ url: URL, user_agent: 7 }, /^user_agent /],
      ['{', /^Invalid JSON body$/],
    ]
    for (const [body, words] of CASES) {
      const answer = await render(body)
      assert.equal(answer.status, 400)
      assert.match(answer.body['error'] as string, words)
    }
  })

  it('a URL and a user agent of the greatest length are taken, one character more is not', async () => {
    const url = URL.padEnd(PAGE_URL_LIMIT_CHARS, 'x')
    assert.equal((await render({ url })).status, 200)
    assert.match((await render({ url: `${url}x` })).body['error'] as string, /^url .*8192/)
    const user_agent = 'x'.repeat(USER_AGENT_LIMIT_CHARS)
    assert.equal((await render({ url: URL, user_agent })).status, 200)
    const long = await render({ url: URL, user_agent: `${user_agent}x` })
    assert.match(long.body['error'] as string, /^user_agent .*4096/)
  })
})
