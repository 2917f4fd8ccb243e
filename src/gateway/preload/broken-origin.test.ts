/** Requests sent ahead of the page to an origin that breaks off, or says nothing. */
import assert from 'node:assert/strict'
import type http from 'node:http'
import { describe, it } from 'node:test'

import { until } from '../../../test/support/condition.ts'
import { startShop, USUAL } from '../../../test/support/preload-shop.ts'

describe('an origin that breaks what is sent ahead', () => {
  it('an origin that breaks off is asked again when the page asks', async (t) => {
    const { answers, asked, broken, open, ask, train } = await startShop(t)
    await train()
    answers.set('/api/menu', (response) => response.destroy())
    await open('/p/five')
    await until('it has broken off', () => broken.includes('/api/menu') && asked.length === 2)
    answers.clear()
    assert.equal((await ask({ path: '/api/menu' }, '/p/five')).status, 200)
    assert.deepEqual(asked.toSorted(), ['/api/five', '/api/menu', '/api/menu'])
  })

  it('one that breaks off while the page waits is asked again', async (t) => {
    const held: http.ServerResponse[] = []
    const { answers, asked, open, ask, train } = await startShop(t)
    await train()
    answers.set('/api/menu', (response) => held.push(response))
    await open('/p/five')
    await until('it is held', () => held.length === 1)
    const answer = ask({ path: '/api/menu' }, '/p/five')
    // It has been taken once another request of the page, sent after it, is there.
    await ask({ path: '/api/other' }, '/p/five')
    answers.clear()
    held[0]!.destroy()
    assert.equal((await answer).status, 200)
    assert.equal(asked.filter((path) => path === '/api/menu').length, 2)
  })

  it('one that always breaks off gets one request for each page, and none ahead', async (t) => {
    const { answers, asked, ask, open, site, train } = await startShop(t, {
      // On a connection that was used before, the client would rightly send the request again.
      headers: { connection: 'close' },
    })
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
      site.takeCounts()
    }
    assert.deepEqual(timesAsked, [1, 1])
  })

  it('one that says nothing is waited for as long as without that, and not asked again', async (t) => {
    const { answers, asked, open, ask, train } = await startShop(t, { limits: { firstByteTimeoutMs: 1_000 } })
    await train()
    answers.set('/api/menu', () => {})
    await open('/p/five')
    await until('they are sent', () => asked.length === 2)
    assert.equal((await ask({ path: '/api/menu' }, '/p/five')).status, 504)
    assert.deepEqual(asked, ['/api/menu', '/api/five'])
  })

  it('half an answer that breaks off before the page asks is asked for again, after that it is half an answer', async (t) => {
    for (const isBefore of [true, false]) {
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
