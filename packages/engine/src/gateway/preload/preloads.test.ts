/** What pages will ask for, sent ahead: by a gateway between a toy origin and a client that speaks as a browser does. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import { standsAt, until } from '../../../../../test/support/condition.ts'
import { pour } from '../../../../../test/support/edge.ts'
import { CUSTOM_DOMAIN, startTestGateway } from '../../../../../test/support/gateway.ts'
import type { GatewayLimits } from '../request-counts.ts'

type Ask = {
  path: string
  method?: string
  destination?: string
  headers?: Record<string, string | undefined>
  body?: string
}

const USUAL = (name: string): Ask[] => [{ path: `/api/menu` }, { path: `/api/${name}` }]

/** An origin that counts its requests, and says what it is told to say at a path. */
async function startShop(
  t: TestContext,
  options: { limits?: Partial<GatewayLimits>; preload?: boolean } = {},
) {
  const asked: string[] = []
  const broken: string[] = []
  const answers = new Map<string, (response: http.ServerResponse) => void>()
  const { own, site } = await startTestGateway(t, {
    ...options,
    origin(request, response) {
      const { method, url = '' } = request
      asked.push(method === 'GET' ? url : `${method} ${url}`)
      response.on('close', () => response.writableFinished || broken.push(url))
      // On a connection that was used before, the client would rightly send a request again that broke off.
      response.setHeader('connection', 'close')
      const answer = answers.get(url)
      if (answer !== undefined) answer(response)
      else response.end(`${url} for ${request.headers.referer ?? 'nobody'}`)
    },
  })

  const open = async (path: string) => {
    site.judgeNext(() => true)
    asked.splice(0)
    const { status } = await own(path, { 'sec-fetch-dest': 'document' })
    assert.equal(status, 200)
    assert.equal(asked.shift(), path)
  }
  const ask = ({ path, method = 'GET', destination = 'empty', headers = {}, body }: Ask, page: string) => {
    const referer = `https://${CUSTOM_DOMAIN}${page}`
    return own(path, { ':method': method, 'sec-fetch-dest': destination, referer, ...headers }, body)
  }
  const visit = async (page: string, asks: readonly Ask[]) => {
    await open(page)
    for (const one of asks) await ask(one, page)
    site.endPage()
  }
  /** Opens four pages: the first in a new browser without cached scripts. */
  const train = async (asksOf: (name: string) => readonly Ask[] = USUAL) => {
    for (const name of ['one', 'two', 'three', 'four']) await visit(`/p/${name}`, asksOf(name))
  }
  /** A fifth page, for which both usual requests are sent ahead. */
  const trainAndOpen = async () => {
    await train()
    await open('/p/five')
    await until('they are sent', () => asked.length === 2)
  }
  return { answers, asked, broken, site, open, ask, visit, train, trainAndOpen }
}

describe('requests sent ahead of the page', () => {
  it('go out when its document is there, and answer what it asks then; the origin is asked once', async (t) => {
    const { asked, ask, site, trainAndOpen } = await startShop(t)
    await trainAndOpen()
    assert.deepEqual(asked, ['/api/menu', '/api/five'])
    const referer = `https://${CUSTOM_DOMAIN}/p/five`
    assert.equal((await ask({ path: '/api/five' }, '/p/five')).body, `/api/five for ${referer}`)
    assert.equal((await ask({ path: '/api/menu' }, '/p/five')).body, `/api/menu for ${referer}`)
    assert.equal(site.preloaded(), 2)
    assert.equal(asked.length, 2)
    // Once each: who asks again is told what is so now.
    await ask({ path: '/api/menu' }, '/p/five')
    assert.deepEqual(asked, ['/api/menu', '/api/five', '/api/menu'])
    assert.equal(site.preloaded(), 2)
  })

  // Proves decided "Requests ahead of the page"
  it('what is asked with another header is asked anew, and in the end no longer sent ahead', async (t) => {
    const { asked, open, ask, site, visit, trainAndOpen } = await startShop(t)
    await trainAndOpen()
    const other = { path: '/api/menu', headers: { authorization: 'Bearer mine' } }
    assert.equal((await ask(other, '/p/five')).status, 200)
    assert.deepEqual(asked, ['/api/menu', '/api/five', '/api/menu'])
    assert.equal(site.preloaded(), 0)
    site.endPage()
    await visit('/p/six', [other])
    await open('/p/seven')
    assert.deepEqual(asked, [])
  })

  it('a page that has sent something gets answers of after that', async (t) => {
    const { asked, ask, site, trainAndOpen } = await startShop(t)
    await trainAndOpen()
    await ask({ path: '/api/five', method: 'DELETE' }, '/p/five')
    await ask({ path: '/api/menu' }, '/p/five')
    assert.deepEqual(asked, ['/api/menu', '/api/five', 'DELETE /api/five', '/api/menu'])
    assert.equal(site.preloaded(), 0)
  })

  it('what pages ask for after they have sent something is not learnt', async (t) => {
    const { asked, open, train } = await startShop(t)
    await train(() => [{ path: '/api/login', method: 'POST', body: 'x' }, { path: '/api/menu' }])
    await open('/p/five')
    assert.deepEqual(asked, [])
  })

  it('nothing is sent for a page that is not shown, or is none', async (t) => {
    const { answers, asked, site, train, ask } = await startShop(t)
    answers.set('/p/none', (response) => response.writeHead(404).end())
    await train()
    for (const [path, isShown] of [
      ['/p/none', true],
      ['/p/five', false],
    ] as const) {
      asked.splice(0)
      site.judgeNext(() => isShown)
      await ask({ path, destination: 'document' }, path)
      await ask({ path: '/api/other' }, path)
      assert.deepEqual(asked, [path, '/api/other'])
      site.endPage()
    }
  })

  it('what a page did not ask for is let go, and not given to the next one', async (t) => {
    const { answers, asked, broken, open, ask, site, trainAndOpen } = await startShop(t)
    // Without an end.
    answers.set('/api/five', (response) => response.write('x'))
    await trainAndOpen()
    site.endPage()
    await until('it is let go', () => broken.includes('/api/five'))
    await open('/p/six')
    await ask({ path: '/api/menu' }, '/p/six')
    assert.deepEqual(asked, ['/api/menu'])
    assert.equal(site.preloaded(), 0)
  })

  it('frames, pictures, streams and parts of files are not sent ahead', async (t) => {
    const { asked, open, ask, train } = await startShop(t)
    await train(() => [
      { path: '/frame', destination: 'iframe' },
      { path: '/picture', destination: 'image' },
      { path: '/events', headers: { accept: 'text/event-stream' } },
      { path: '/part', headers: { range: 'bytes=0-1' } },
      { path: '/head', method: 'HEAD' },
      { path: '/last' },
    ])
    await open('/p/five')
    await ask({ path: '/last' }, '/p/five')
    assert.deepEqual(asked, ['/last'])
  })

  it('eight requests are sent ahead at once', async (t) => {
    const { asked, open, ask, train } = await startShop(t)
    const asks = Array.from({ length: 9 }, (_, index) => ({ path: `/api/${index}` }))
    await train(() => asks)
    await open('/p/five')
    await ask({ path: '/last' }, '/p/five')
    await until('all are there', () => asked.length === 9)
    assert.deepEqual(asked.toSorted(), [...asks.slice(0, 8).map(({ path }) => path), '/last'])
  })

  it('a large answer waits at the origin until the page takes it; its limits are those of any answer', async (t) => {
    let sent = () => 0
    const { answers, open, ask, site, train } = await startShop(t, {
      limits: { responseBytes: 4 * 1024 * 1024 },
    })
    answers.set('/api/five', (response) => {
      sent = pour(response)
    })
    await train()
    await open('/p/five')
    assert((await standsAt(() => sent())) < 100)
    assert.equal(site.excess(), null)
    await assert.rejects(ask({ path: '/api/five' }, '/p/five'))
    assert.equal(site.excess(), 'response-bytes')
  })

  // Proves decided "Requests ahead of the page"
  it('nothing is sent ahead where that is turned off', async (t) => {
    const { asked, open, ask, site, train } = await startShop(t, { preload: false })
    await train()
    await open('/p/five')
    await ask({ path: '/last' }, '/p/five')
    assert.deepEqual(asked, ['/last'])
    assert.equal(site.preloaded(), 0)
  })
})

describe('an origin that breaks what is sent ahead', () => {
  it('one that always breaks off gets one request for each page, and none ahead', async (t) => {
    const { answers, asked, ask, open, site, train } = await startShop(t)
    answers.set('/api/menu', (response) => response.destroy())
    await train()
    const timesAsked: number[] = []
    for (const name of ['five', 'six']) {
      const page = `/p/${name}`
      await open(page)
      // A request sent ahead would be at the origin before this one.
      await ask({ path: '/api/other' }, page)
      assert(!asked.includes('/api/menu'))
      for (const one of USUAL(name)) await ask(one, page)
      timesAsked.push(asked.filter((path) => path === '/api/menu').length)
      site.endPage()
    }
    assert.deepEqual(timesAsked, [1, 1])
  })

  it('half an answer that breaks off before the page asks is asked for again', async (t) => {
    let half: http.ServerResponse | null = null
    const { answers, asked, open, ask, train } = await startShop(t)
    await train()
    answers.set('/api/break', (response) => {
      half?.destroy()
      response.end()
    })
    answers.set('/api/five', (response) => {
      answers.delete('/api/five')
      half = response
      response.writeHead(200, { 'content-length': '10' }).write('half')
    })
    await open('/p/five')
    await until('it is held', () => half !== null)
    await ask({ path: '/api/break' }, '/p/five')
    assert.match((await ask({ path: '/api/five' }, '/p/five')).body, /^\/api\/five for/)
    assert.equal(asked.filter((path) => path === '/api/five').length, 2)
  })
})
