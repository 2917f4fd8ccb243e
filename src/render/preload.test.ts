/** Requests that the gateway sends ahead of a page, as Chromium and its pages take them. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openRenderer } from '../../test/support/renderer.ts'

const test = await openRenderer({ slots: 1 })

const JSON_TYPE = { 'content-type': 'application/json' }
const PAGES = ['one', 'two', 'three', 'four', 'five']

/** Renders in turn; of each how many requests were sent ahead, and its HTML. */
async function renderAll(paths: readonly string[], domain: string) {
  const preloaded: (number | undefined)[] = []
  let html = ''
  for (const path of paths) {
    const { outcome, record } = await test.explained(path, { domain })
    if (outcome.kind !== 'rendered') throw new Error(`${path}: ${JSON.stringify(outcome)}`)
    preloaded.push(record?.requests.preloaded)
    html = outcome.html
  }
  return { preloaded, html }
}

// Proves decided "Requests ahead of the page"
it('requests ahead of the page are at the origin before the script that asks for them, and the page is the same', async () => {
  let scriptWaits = false
  const { promise: isAsked, resolve: dataAsked } = Promise.withResolvers<void>()
  test.routes.set(
    '/product.js',
    (_request, response) =>
      void (scriptWaits ? isAsked : Promise.resolve()).then(() =>
        response.setHeader('content-type', 'text/javascript').end(`
          const name = location.pathname.split('/').at(-1)
          fetch('/api/products/' + name, { headers: { 'x-shop': 'mine' } })
            .then((answer) => answer.json())
            .then(({ name }) => fetch('/api/stock?of=' + name + '&page=' + document.title))
            .then((answer) => answer.text())
            .then((text) => document.body.append(text))`),
      ),
  )
  for (const name of PAGES) {
    test.routes.set(
      `/product/${name}`,
      '<!doctype html><title>shop</title><body><script src="/product.js"></script>',
    )
    test.routes.set(`/api/products/${name}`, (request, response) => {
      if (name === 'five') dataAsked()
      response.writeHead(200, JSON_TYPE).end(JSON.stringify({ name, shop: request.headers['x-shop'] }))
    })
  }
  test.routes.set('/api/stock', (request, response) => void response.end(`stock of ${request.url}`))
  const domain = 'ahead.example'
  const { preloaded } = await renderAll(
    PAGES.slice(0, 4).map((name) => `/product/${name}`),
    domain,
  )
  assert.deepEqual(preloaded, [0, 0, 0, 2])
  test.asked.splice(0)
  // From here on the script comes only when its data has been asked for: without that the render would time out.
  scriptWaits = true
  const { html } = await renderAll(['/product/five'], domain)
  assert.match(html, /stock of \/api\/stock\?of=five&amp;page=shop/)
  assert.deepEqual(test.asked.toSorted(), [
    '/api/products/five',
    '/api/stock?of=five&page=shop',
    '/product.js',
    '/product/five',
  ])
  // Another domain, of the same origin, is not known.
  scriptWaits = false
  assert.deepEqual((await renderAll(['/product/one'], 'not-ahead.example')).preloaded, [0])
})
