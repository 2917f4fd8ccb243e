import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { startShop } from './server.ts'

const shop = await startShop({ port: 0 })
after(() => shop.close())

it('the demo shop answers every page with the same empty root', async () => {
  const [list, product] = await Promise.all([text('/'), text('/product/morning-mug')])
  assert.match(list, /<div id="root"><\/div>/)
  assert.equal(list, product)
  assert.doesNotMatch(list, /Morning mug/)
})

it('the demo shop lets hashed assets be kept for ever and the page itself not at all', async () => {
  const page = await fetch(shop.url)
  assert.equal(page.headers.get('cache-control'), 'no-cache')
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1]
  assert.ok(script, 'the page names its script')
  const asset = await fetch(shop.url + script)
  assert.equal(asset.status, 200)
  assert.equal(asset.headers.get('content-type'), 'text/javascript; charset=utf-8')
  assert.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable')
  assert.match(await asset.text(), /Things for quiet rooms/)
})

it('the demo shop serves its data by an API', async () => {
  const product = JSON.parse(await text('/api/products/morning-mug')) as { name: string }
  assert.equal(product.name, 'Morning mug')
  const stock = JSON.parse(await text('/api/stock?slugs=tall-vase,nothing')) as { slug: string }[]
  assert.equal(stock.map(({ slug }) => slug).join(), 'tall-vase')
})

it('the demo shop knows what it does not have', async () => {
  for (const path of ['/api/products/nothing', '/api/nothing', '/assets/nothing.js', '/nothing.png']) {
    assert.equal((await fetch(shop.url + path)).status, 404, path)
  }
  assert.equal((await fetch(shop.url, { method: 'POST' })).status, 405)
})

const text = async (path: string) => (await fetch(shop.url + path)).text()
