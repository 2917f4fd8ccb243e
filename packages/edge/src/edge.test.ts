import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { brotliCompressSync } from 'node:zlib'
import type { StoredPage } from '@prepaint/contract/page/stored.ts'
import { createAddressGuard } from '@prepaint/outbound'
import { createClient } from '@prepaint/outbound/client'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import ipaddr from 'ipaddr.js'
import { GOOGLEBOT, PERSON, request } from '../../../test/support/edge.ts'
import { listening, serve } from '../../../test/support/loopback.ts'
import { MemoryBackend, servedDomain } from '../../../test/support/memory-backend.ts'
import { createEdge } from './edge.ts'

const origin = await serve((_req, res) => res.end('<div id="app"></div>'))
const backend = new MemoryBackend([servedDomain({ originUrl: origin.url })])
const origins = createClient(createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }]))
const edge = createEdge(
  backend,
  { clock: systemClock, log: silentLog(), origins, verifyCrawler: null, tls: null, findChallenge: null },
  { memoryBytes: 2 ** 20, liveWaitMs: 5_000 },
)
const port = await listening(edge.server)
after(async () => {
  edge.server.closeAllConnections()
  edge.server.close()
  await origin.close()
  origins.close()
})

let renders = 0
/** Stores what it renders, as a worker does. */
backend.renderLive = async ({ page }) => {
  renders++
  const html = Buffer.from(`<h1>render ${renders}</h1>`)
  const stored: StoredPage = {
    kind: 'page',
    variant: page.variant,
    status: 200,
    headers: [],
    bodyBr: brotliCompressSync(html),
    bodyHtml: html,
    htmlBytes: html.length,
    etag: `e${renders}`,
    renderedAtMs: systemClock.nowMs(),
    staleSinceMs: null,
  }
  backend.pages.set(page.key, stored)
  return { state: 'done', outcome: 'rendered', page: stored, unstored: null }
}

describe('an edge with a backend in memory', () => {
  it('passes people to the origin', async () => {
    const answer = await request(port, '/a', { agent: PERSON })
    assert.equal(answer.verdict, 'pass; not-a-crawler')
    assert.equal(String(answer.body), '<div id="app"></div>')
  })

  it('gives a crawler a miss, then hits, and renders again after a purge is announced', async () => {
    const headers = { 'accept-encoding': 'identity' }
    const ask = async () => {
      const { verdict, body } = await request(port, '/shop', { agent: GOOGLEBOT, headers })
      return `${verdict} ${body}`
    }
    const before = renders
    assert.equal(await ask(), `rendered <h1>render ${before + 1}</h1>`)
    assert.equal(await ask(), `hit <h1>render ${before + 1}</h1>`)
    backend.pages.clear()
    backend.announce({ domain: 1, path: '/shop', purged: true })
    assert.equal(await ask(), `rendered <h1>render ${before + 2}</h1>`)
    assert.deepEqual(backend.asked, ['/shop'], 'noted once a day')
  })

  it('passes a crawler when the backend finds the quota used up, and when it fails', async () => {
    const { renderLive } = backend
    backend.renderLive = async () => 'over-quota'
    assert.equal((await request(port, '/over')).verdict, 'pass; over-quota')
    backend.renderLive = () => Promise.reject(new Error('away'))
    assert.equal((await request(port, '/away')).verdict, 'pass; database')
    backend.renderLive = renderLive
  })

  it('answers an unknown host with 404, and asks the backend once for it', async () => {
    let asked = 0
    const { findDomain } = backend
    backend.findDomain = async (host) => {
      asked++
      return findDomain.call(backend, host)
    }
    for (const path of ['/', '/b']) {
      assert.equal((await request(port, path, { host: 'unknown.example' })).verdict, 'none; unknown-host')
    }
    assert.equal(asked, 1)
    backend.findDomain = findDomain
  })
})
