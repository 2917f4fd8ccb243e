import assert from 'node:assert/strict'
import { it } from 'node:test'
import { openRenderer } from '../../../../test/support/renderer.ts'
import { Slots } from './slots.ts'

const { explained, routes, asked } = await openRenderer({ slots: 1 })

const PAGES = ['one', 'two', 'three', 'four', 'five']

// Proves decided "Requests ahead of the page"
it('requests ahead of the page are at the origin before the script that asks for them, and the page is the same', async () => {
  const { promise: isAsked, resolve: dataAsked } = Promise.withResolvers<void>()
  let scriptWaits = false
  routes.set('/product.js', async (_request, response) => {
    if (scriptWaits) await isAsked
    response.setHeader('content-type', 'text/javascript').end(`
      const name = location.pathname.split('/').at(-1)
      fetch('/api/products/' + name, { headers: { 'x-shop': 'mine' } })
        .then((answer) => answer.json())
        .then(({ name }) => fetch('/api/stock?of=' + name + '&page=' + document.title))
        .then((answer) => answer.text())
        .then((text) => document.body.append(text))`)
  })
  for (const name of PAGES) {
    routes.set(
      `/product/${name}`,
      '<!doctype html><title>shop</title><body><script src="/product.js"></script>',
    )
    routes.set(`/api/products/${name}`, ({ headers }, response) => {
      if (name === 'five') dataAsked()
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ name, shop: headers['x-shop'] }))
    })
  }
  routes.set('/api/stock', (request, response) => void response.end(`stock of ${request.url}`))

  /** How many requests were sent ahead, and the HTML. */
  async function rendered(name: string, domain = 'ahead.example') {
    const { outcome, record } = await explained(`/product/${name}`, { domain })
    assert(outcome.kind === 'rendered', JSON.stringify(outcome))
    return { preloaded: record?.requests.preloaded, html: outcome.html }
  }
  for (const [name, preloaded] of [
    ['one', 0],
    ['two', 0],
    ['three', 0],
    ['four', 2],
  ] as const)
    assert.equal((await rendered(name)).preloaded, preloaded)
  asked.splice(0)
  // From here on the script comes only when its data has been asked for: without that the render would time out.
  scriptWaits = true
  assert.match((await rendered('five')).html, /stock of \/api\/stock\?of=five&amp;page=shop/)
  const requests = ['/api/products/five', '/api/stock?of=five&page=shop', '/product.js', '/product/five']
  assert.deepEqual(asked.toSorted(), requests)
  // Another domain, of the same origin, is not known.
  scriptWaits = false
  assert.equal((await rendered('one', 'not-ahead.example')).preloaded, 0)
})

const never = new AbortController().signal

it('slots are taken up to their number, and then in order of arrival', async () => {
  const slots = new Slots(2)
  const order: string[] = []
  const take = async (name: string) => {
    const giveBack = await slots.take(never)
    order.push(name)
    return giveBack!
  }
  const [first, second] = await Promise.all([take('a'), take('b')])
  const [third, fourth] = [take('c'), take('d')]
  await Promise.resolve()
  assert.equal(order.join(''), 'ab')
  first()
  // Said twice, given back once.
  first()
  await third
  assert.equal(order.join(''), 'abc')
  second()
  await fourth
  assert.equal(order.join(''), 'abcd')
})

it('a render that stops waiting for a slot takes none', async () => {
  const slots = new Slots(1)
  const giveBack = await slots.take(never)
  const leaving = new AbortController()
  const left = slots.take(leaving.signal)
  const next = slots.take(never)
  leaving.abort()
  assert.equal(await left, null)
  giveBack!()
  assert.notEqual(await next, null)
  assert.equal(await slots.take(AbortSignal.abort()), null)
})
