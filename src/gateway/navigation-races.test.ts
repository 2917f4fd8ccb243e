/**
 * A page must not be able to end the browser that others are rendered in. One
 * could: a navigation that Chromium refuses, started in a frame in which another
 * one is about to be shown, found the frame with a second host that nobody
 * needed any more, and the browser's process failed a check of its own
 * (docs/decisions/0020-navigation-races.md). So no frame gets a second host.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { html, openTestPage } from '../../test/support/gateway-page.ts'

/** Frames that are sent to and fro before they are where they were sent first. */
const RACES = `<script>
const pick = (list) => list[Math.floor(Math.random() * list.length)]
const elapsed = (ms) => new Promise((done) => setTimeout(done, ms))
function element(name, attributes) {
  const made = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value)
  document.body.append(made)
  return made
}
const NAVIGATIONS = [
  (frame, url) => { frame.src = url },
  (frame, url) => { frame.contentWindow.location = url },
  (frame, url) => { frame.contentWindow.location.replace(url) },
  (frame, url) => { const link = element('a', { href: url, target: frame.name }); link.click(); link.remove() },
  (frame, url) => { const form = element('form', { action: url, target: frame.name }); form.submit(); form.remove() },
]
async function race(urls, untilMs) {
  let made = 0
  while (performance.now() < untilMs) {
    const frames = Array.from({ length: 6 }, () => element('iframe', { name: 'frame' + made++ }))
    for (let turn = 0; turn < 12; turn++) {
      for (const frame of frames) {
        for (let times = pick([1, 2, 3, 4, 5]); times > 0; times--) try { pick(NAVIGATIONS)(frame, pick(urls)) } catch {}
      }
      await elapsed(pick([0, 1, 3, 5, 10, 20, 40, 80]))
    }
    for (const frame of frames) frame.remove()
  }
  return made
}
</script>`

/** Refused in a page of https, whatever the gateway would say. */
const REFUSED = 'http://canary.example/'

describe('Frames that race', () => {
  it('end no browser, whatever is raced', async (t) => {
    const page = await openTestPage(t, { '/': html(RACES), '/ok': html('ok') })
    // On loopback Chromium lets it pass; the gateway refuses it.
    const other = JSON.stringify(`http://127.0.0.1:${page.tested.canary.port}/`)
    const data = JSON.stringify(`data:text/html,<script>location=${JSON.stringify(REFUSED)}</script>`)
    const refused = JSON.stringify(REFUSED)
    const made = await page.evaluate(`
      const first = await race([${other}, ${refused}], performance.now() + 2_500)
      return first + await race([${data}, ${other}, ${refused}, '/ok'], performance.now() + 2_500)`)
    assert(Number(made) >= 12)
    assert.equal(page.tested.canary.connections, 0)
    assert.equal(await page.hostsMade(), 0)
  })

  it('keep their host, wherever they go', async (t) => {
    const page = await openTestPage(t, {
      '/': html(''),
      '/ok': html('ok'),
      '/apart': (_request, response) => {
        response.setHeader('content-type', 'text/html')
        response.setHeader('cross-origin-opener-policy', 'same-origin')
        return html('apart')(_request, response)
      },
    })
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
    assert.equal(await page.hostsMade(), 0)
    // The other half: where a host is made, it is counted.
    await page.visit('/apart')
    assert((await page.hostsMade()) > 0)
  })
})
