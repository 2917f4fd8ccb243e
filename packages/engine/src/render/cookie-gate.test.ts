/** Sites that answer a first visit with a cookie and a redirect to the same page. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Answer, openRenderer } from '../../../../test/support/renderer.ts'

const renderer = await openRenderer()

/** Gives one missing cookie at a time and redirects to `location`. */
function gate(cookies: string[], { status = 302, location = '' } = {}): Answer {
  return (request, response) => {
    const missing = cookies.find((cookie) => !(request.headers.cookie ?? '').includes(cookie))
    if (missing === undefined) {
      response.setHeader('content-type', 'text/html').end(`<p>open, with ${request.headers.cookie}</p>`)
      return
    }
    response
      .writeHead(status, { location: location || request.url!, 'set-cookie': `${missing}; Path=/` })
      .end()
  }
}

describe('a page behind a cookie', () => {
  it('is rendered with as many cookies as are followed, and not with one more', async () => {
    const cookies = ['a=1', 'b=2', 'c=3', 'd=4', 'e=5']
    renderer.routes.set('/five', gate(cookies))
    assert.match(await renderer.html('/five'), /open, with a=1; b=2; c=3; d=4; e=5/)
    renderer.routes.set('/six', gate([...cookies, 'f=6']))
    assert.equal((await renderer.page('/six')).kind, 'redirect')
  })

  it('is rendered where the redirect names the site by http, or spells the query in another order', async () => {
    renderer.routes.set('/http', gate(['a=1'], { status: 307, location: 'http://shop.example/http' }))
    assert.match(await renderer.html('/http'), /open/)
    renderer.routes.set('/order', gate(['a=1'], { status: 303, location: '/order?b=1&a=2' }))
    assert.match(await renderer.html('/order?a=2&b=1'), /open/)
  })

  it('that leads elsewhere once the cookie is there is that redirect', async () => {
    renderer.routes.set('/moved', (request, response) => {
      if (request.headers.cookie) response.writeHead(301, { location: '/new' }).end()
      else response.writeHead(302, { location: '/moved', 'set-cookie': 'a=1' }).end()
    })
    const outcome = await renderer.page('/moved')
    assert(outcome.kind === 'redirect')
    assert.deepEqual([outcome.status, outcome.location], [301, 'https://shop.example/new'])
  })

  it('that brings an error of the server is that error', async () => {
    renderer.routes.set('/broken', (request, response) => {
      if (request.headers.cookie) response.writeHead(503).end()
      else response.writeHead(302, { location: '/broken', 'set-cookie': 'a=1' }).end()
    })
    assert.equal((await renderer.page('/broken')).kind, 'origin-error')
  })

  it('gives the next render no cookie', async () => {
    renderer.routes.set('/again', gate(['a=1']))
    await renderer.html('/again')
    await renderer.html('/again')
    assert.equal(renderer.asked.filter((url) => url === '/again').length, 4)
  })
})

it('a redirect with a cookie to another page is a redirect', async () => {
  renderer.routes.set('/old', gate(['a=1'], { location: '/new' }))
  assert.equal((await renderer.page('/old')).kind, 'redirect')
})

it('a redirect to the page itself without a cookie is a redirect', async () => {
  renderer.routes.set(
    '/self',
    (_request, response) => void response.writeHead(302, { location: '/self' }).end(),
  )
  assert.equal((await renderer.page('/self')).kind, 'redirect')
})
