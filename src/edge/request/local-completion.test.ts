/** A crawler whose page is rendered at its own node is answered with what was stored there, without a word from PostgreSQL. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { path, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import type { Ended, WaitedFor } from '../../queue/jobs/await.ts'

/** An edge whose crawlers hear of ends by `tell` alone, and which notes what it reads of the store. */
async function start(t: TestContext, ended: (edge: TestEdge, ...end: Parameters<Ended>) => Promise<void>) {
  const ends = Promise.withResolvers<WaitedFor>()
  const reads: string[] = []
  const edge: TestEdge = await startTestEdge({
    ended: (id, end, page) =>
      void ended(edge, id, end, page).then(() => ends.resolve({ ...end, page }), ends.reject),
    parts: { waiter: { wait: () => ends.promise } },
    queries({ name, values }) {
      if (name === 'stored-page-read') reads.push(values[1] as string)
    },
  })
  t.after(() => edge.close())
  return { edge, reads }
}

const HTML = '<h1>red.example/a</h1><p>render 1</p>'

describe('a page that was rendered at this node', { timeout: 240_000 }, () => {
  const decoders: Record<string, (body: Buffer) => Buffer> = {
    br: brotliDecompressSync,
    gzip: gunzipSync,
    identity: (body) => body,
  }
  for (const [encoding, decode] of Object.entries(decoders)) {
    it(`is served as ${encoding} without being read, just as it is served from the store`, async (t) => {
      const { edge, reads } = await start(t, async () => {})
      const asking = { headers: { 'accept-encoding': encoding } }
      const first = await edge.ask('/a', asking)
      assert.equal(first.verdict, 'rendered')
      assert.deepEqual(reads, ['/a'], 'when it was a miss')
      assert.equal(String(decode(first.body)), HTML)
      const second = await edge.ask('/a', asking)
      assert.equal(second.verdict, 'hit')
      assert.deepEqual(reads, ['/a'], 'it is in memory')
      assert.deepEqual(second.body, first.body)
      for (const name of ['etag', 'last-modified', 'content-length', 'content-encoding', 'vary']) {
        assert.equal(second.headers[name], first.headers[name], name)
      }
    })
  }

  it('is in the place of what memory held', async (t) => {
    const { edge } = await start(t, async () => {})
    await edge.pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select $1, '/a', 200, '[]', 'old', 3, 'old', now() - interval '10 days'`,
      [edge.red],
    )
    assert.equal(await edge.verdict('/a'), 'rendered')
    assert.equal(await edge.verdict('/a'), 'hit')
    assert.deepEqual(edge.rendered, ['red.example/a'])
  })

  it('is not served when a purge comes between its end and the answer', async (t) => {
    const { edge, reads } = await start(t, async (at) => {
      await at.purge({ kind: 'path', path: path('/a') })
      await at.settled()
    })
    const { verdict, body } = await edge.ask('/a')
    assert.equal(verdict, 'pass; rendered')
    assert.match(String(body), /<div id="app">/)
    assert.deepEqual(reads, ['/a', '/a'])
  })

  it('is read from the store when another was purged, or another domain in whole', async (t) => {
    const { edge, reads } = await start(t, async (at) => {
      await at.purge({ kind: 'path', path: path('/b') })
      await at.purge({ kind: 'all' }, at.blue)
      await at.settled()
    })
    const { verdict, body } = await edge.ask('/a', { headers: { 'accept-encoding': 'identity' } })
    assert.equal(verdict, 'rendered')
    assert.equal(String(body), HTML)
    assert.deepEqual(reads, ['/a', '/a'])
  })
})

it('a node that is never told hears of the end from PostgreSQL: rendered elsewhere, or by one that died at the commit', async (t) => {
  const edge = await startTestEdge({ ended: () => {} })
  t.after(() => edge.close())
  const { verdict, body } = await edge.ask('/a', { headers: { 'accept-encoding': 'identity' } })
  assert.equal(verdict, 'rendered')
  assert.equal(String(body), HTML)
})
