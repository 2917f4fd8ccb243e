import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { startShop } from './server.ts'

const shop = await startShop({ port: 0 })
after(() => shop.close())

it('the demo shop answers every page with the same empty root', async () => {
  const list = await text('/')
  assert.match(list, /<div id="root"><\/div>/)
  assert.equal(list, await text('/product/morning-mug'))
})

it('the demo shop lets hashed assets be kept for ever and the page itself not at all', async () => {
  const page = await fetch(shop.url)
  assert.equal(page.headers.get('cache-control'), 'no-cache')
  const script = /src="(\/assets\/[^"]+\.js)"/.exec(await page.text())?.[1]
  const asset = await fetch(shop.url + script)
  assert.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable')
})

it('the demo shop serves its data by an API', async () => {
  const product = JSON.parse(await text('/api/products/morning-mug')) as { name: string }
  assert.equal(product.name, 'Morning mug')
})

it('the demo shop knows what it does not have', async () => {
  for (const path of ['/api/products/nothing', '/nothing.png']) {
    assert.equal((await fetch(shop.url + path)).status, 404, path)
  }
})

const text = async (path: string) => (await fetch(shop.url + path)).text()
