/** The gateway with the browser that it is for. What it keeps a hostile page from is in src/render/hostile-page.test.ts. */
import assert from 'node:assert/strict'
import { after, beforeEach, it } from 'node:test'
import { html, openTestPage } from '../../test/support/gateway-page.ts'

const page = await openTestPage(
  { after },
  {
    '/': html('page'),
    '/ok': html('ok'),
    '/hung': (_request, response) =>
      void response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
    '/apart': (request, response) => {
      response.setHeader('content-type', 'text/html')
      response.setHeader('cross-origin-opener-policy', 'same-origin')
      return html('apart')(request, response)
    },
  },
)

beforeEach(() => page.visit('/'))

it('goes on although more requests hang than Chromium has connections', async () => {
  const seen = await page.evaluate(`
    const hung = Array.from({ length: 20 }, () => new EventSource('/hung'))
    await Promise.all(hung.map((source) => new Promise((open) => { source.onopen = open })))
    return (await fetch('/ok')).status`)
  assert.equal(seen, 200)
})

// A navigation that Chromium refuses ended the browser when its frame had a second host (docs/decisions/0020-navigation-races.md).
it('frames keep their host, wherever they go', async () => {
  const before = await page.hostsMade()
  const went = await page.evaluate(`
    const to = ['data:text/html,x', 'http://127.0.0.1:${page.tested.originPort}/ok', '/ok', 'about:blank', 'https://other.example/']
    for (const sandbox of [null, 'allow-scripts', '']) {
      const frame = document.createElement('iframe')
      if (sandbox !== null) frame.sandbox = sandbox
      document.body.append(frame)
      for (const url of [...to, ...to.reverse()]) {
        await new Promise((loaded) => { frame.onload = loaded; frame.src = url })
      }
    }
    return document.querySelectorAll('iframe').length`)
  assert.equal(went, 3)
  assert.equal(await page.hostsMade(), before)
  // The other half: where a host is made, it is counted.
  await page.visit('/apart')
  assert((await page.hostsMade()) > before)
})
