/** Requests sent ahead of the page to an origin that breaks off, or says nothing. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { describe, it } from 'node:test'

import { until } from '../../../test/support/condition.ts'
import { startShop, USUAL } from '../../../test/support/preload-shop.ts'

describe('an origin that breaks what is sent ahead', () => {
  it('an origin that breaks off is asked again when the page asks', async (t) => {
    let breaks = false
    const { asked, broken, open, ask, train } = await startShop(t, {
      origin(request, response) {
        if (!breaks || request.url !== '/api/menu') return false
        response.destroy()
        return true
      },
    })
    await train()
    breaks = true
    await open('/p/five')
    await until('it has broken off', () => broken.includes('/api/menu') && asked.length === 2)
    breaks = false
    assert.equal((await ask({ path: '/api/menu' }, '/p/five')).status, 200)
    assert.deepEqual(asked.toSorted(), ['/api/five', '/api/menu', '/api/menu'])
  })

  it('one that breaks off while the page waits is asked again', async (t) => {
    let breaks = false
    const held: http.ServerResponse[] = []
    const { asked, open, ask, train } = await startShop(t, {
      origin(request, response) {
        if (!breaks || request.url !== '/api/menu') return false
        held.push(response)
        return true
      },
    })
    await train()
    breaks = true
    await open('/p/five')
    await until('it is held', () => held.length === 1)
    const answer = ask({ path: '/api/menu' }, '/p/five')
    // It has been taken once another request of the page, sent after it, is there.
    await ask({ path: '/api/other' }, '/p/five')
    breaks = false
    held[0]!.destroy()
    assert.equal((await answer).status, 200)
    assert.equal(asked.filter((path) => path === '/api/menu').length, 2)
  })

  it('one that always breaks off gets one request for each page, and none ahead', async (t) => {
    const { asked, ask, open, site, train } = await startShop(t, {
      origin(request, response) {
        // On a connection that was used before, the client would rightly send the request again.
        response.setHeader('connection', 'close')
        if (request.url !== '/api/menu') return false
        response.destroy()
        return true
      },
    })
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
      site.takeCounts()
    }
    assert.deepEqual(timesAsked, [1, 1])
  })

  it('one that says nothing is waited for as long as without that, and not asked again', async (t) => {
    let isSilent = false
    const { asked, open, ask, train } = await startShop(t, {
      limits: { firstByteTimeoutMs: 1_000 },
      origin: (request) => isSilent && request.url === '/api/menu',
    })
    await train()
    isSilent = true
    await open('/p/five')
    await until('they are sent', () => asked.length === 2)
    assert.equal((await ask({ path: '/api/menu' }, '/p/five')).status, 504)
    assert.deepEqual(asked, ['/api/menu', '/api/five'])
  })

  it('half an answer that breaks off before the page asks is asked for again, after that it is half an answer', async (t) => {
    for (const isBefore of [true, false]) {
      let half: http.ServerResponse | null = null
      let breaks = false
      const { asked, open, ask, train } = await startShop(t, {
        origin(request, response) {
          if (request.url === '/api/break') half?.destroy()
          if (!breaks || request.url !== '/api/five' || half !== null) return false
          half = response
          response.writeHead(200, { 'content-length': '10' })
          response.write('half')
          return true
        },
      })
      await train()
      breaks = true
      const breakOff = () => ask({ path: '/api/break' }, '/p/five')

      await open('/p/five')
      await until('it is held', () => half !== null)
      if (isBefore) {
        await breakOff()
        assert.match((await ask({ path: '/api/five' }, '/p/five')).body, /^\/api\/five for/)
        assert.equal(asked.filter((path) => path === '/api/five').length, 2)
        continue
      }
      const broken = assert.rejects(ask({ path: '/api/five' }, '/p/five'))
      await ask({ path: '/api/other' }, '/p/five')
      await breakOff()
      await broken
    }
  })
})
