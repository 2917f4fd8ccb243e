/** What the answers to the main document's request decide: the first, and those of a page that loads itself again. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { after, describe, it } from 'node:test'

import { scripted, startTestRenderer } from '../../../test/support/renderer.ts'

const renderer = await startTestRenderer()
after(() => renderer.close())

type Second = (response: http.ServerResponse) => void

/** A page that loads itself again at once; `second` answers then. */
function reloading(path: string, second: Second): string {
  let loads = 0
  renderer.routes.set(path, (_request, response) => {
    response.setHeader('content-type', 'text/html')
    if (++loads > 1) second(response)
    else response.setHeader('x-robots-tag', 'first').end(scripted(`show('first'); location.reload()`))
  })
  return path
}

describe('a page that loads itself again', () => {
  it('is what the second answer is: body, status and headers', async () => {
    const path = reloading('/gone', (response) =>
      response.writeHead(404, { 'x-robots-tag': ['noindex', 'noarchive'] }).end(scripted(`show('second')`)),
    )
    const outcome = await renderer.page(path)
    assert(outcome.kind === 'rendered', JSON.stringify(outcome))
    assert.equal(outcome.status, 404)
    assert.match(outcome.html, /second/)
    assert.equal(new Map(outcome.headers).get('x-robots-tag'), 'noindex, noarchive')
  })

  it('is a redirect when the second answer is one', async () => {
    const path = reloading('/moved', (response) => response.writeHead(301, { location: '/there' }).end())
    assert.deepEqual(await renderer.page(path), {
      kind: 'redirect',
      status: 301,
      location: 'https://shop.example/there',
      cacheControl: 'no-store',
    })
  })

  it('fails when the second answer is an error of the origin', async () => {
    const path = reloading('/down', (response) => response.writeHead(503).end('<p>down'))
    assert.deepEqual(await renderer.page(path), { kind: 'origin-error', status: 503 })
  })
})

it('an answer that decides by itself is not parsed: nothing of it runs', async () => {
  renderer.routes.set('/broken', (_request, response) =>
    response.writeHead(500, { 'content-type': 'text/html' }).end('<script src="/never.js"></script>'),
  )
  assert.deepEqual(await renderer.page('/broken'), { kind: 'origin-error', status: 500 })
  await renderer.html(reloading('/next', (response) => response.end('<p>second')))
  assert(!renderer.asked.includes('/never.js'))
})

it('fonts and media are not fetched, from whatever host, and the page is told of a failure', async () => {
  const { originUrl } = renderer
  renderer.routes.set('/heavy', (_request, response) =>
    response
      .writeHead(200, { 'content-type': 'text/html', 'content-security-policy': "frame-src 'none'" })
      .end(
        scripted(
          `new FontFace('x', 'url(${originUrl}/f.woff2)').load().catch((error) => show('font ' + error.name))
         const frame = document.createElement('iframe'); frame.src = '/own-policy'; document.body.append(frame)
         addEventListener('securitypolicyviolation', ({ effectiveDirective }) => show('violated ' + effectiveDirective))
         for (const a of [new Audio('/a.mp3'), new Audio('${originUrl}/b')]) { a.onerror = () => show('sound'); a.load() }`,
        ),
      ),
  )
  const html = await renderer.html('/heavy')
  assert.match(html, /font NetworkError/)
  assert.equal(html.match(/<li>sound/g)?.length, 2)
  assert.match(html, /violated frame-src/, 'the policy of the origin holds as before')
  assert.deepEqual(
    renderer.asked.filter((path) => /f\.woff2|a\.mp3|\/b$|own-policy/.test(path)),
    [],
  )
})
