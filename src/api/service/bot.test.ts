import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { startTestApi, type TestApi } from '../../../test/support/api.ts'
import { BOT_PAGE_PATH } from '../../render/identity.ts'
import { botPage } from './bot.ts'

let api: TestApi
before(async () => {
  api = await startTestApi()
})
after(() => api.close())

describe('GET /bot', () => {
  // Proves decided "`GET /bot`"
  it('200: who it is, whom to ask, how to see, pass and stop it', async () => {
    // Where the user agent of renders points.
    const response = await fetch(`${api.url}${BOT_PAGE_PATH}`)
    assert.equal(response.status, 200)
    assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
    const html = await response.text()
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
    assert.doesNotMatch(html, /<script|<img|<link|<iframe|<form|\son\w+=|\sstyle=|undefined|null/)
  })

  it('200: a policy that lets through its one style sheet and nothing else', async () => {
    const response = await fetch(`${api.url}/bot`)
    const style = /<style>([\s\S]*?)<\/style>/.exec(await response.text())?.[1] ?? ''
    const hash = createHash('sha256').update(style).digest('base64')
    assert.equal(
      response.headers.get('content-security-policy'),
      `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    )
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
  })

  it('also without anybody to name; what the operator wrote is text, and no markup', () => {
    const nobody = botPage({ version: '1.2.3', contact: null }, '')
    assert.match(nobody, /There is no contact address/)
    assert.doesNotMatch(nobody, /mailto:|null/)
    const odd = botPage({ version: '1.2.3', contact: `https://a.example/"><script>alert(1)</script>` }, '')
    assert.doesNotMatch(odd, /<script/)
    assert.match(odd, /<a href="https:\/\/a\.example\//)
  })
})
