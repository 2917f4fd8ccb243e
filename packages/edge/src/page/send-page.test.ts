import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openEdge } from '../../../../test/support/edge.ts'

const HTML = `<!doctype html><h1>Lamp</h1>${'<p>text</p>'.repeat(500)}`
const VARY = 'Accept, Accept-Encoding, User-Agent'
const edge = await openEdge()

const ask = (headers: Record<string, string> = {}) => edge.ask('/lamp', { headers })

// Proves decided "Headers of the origin"
it('an answer has the headers of the contract, and stored headers that are safe and still true', async () => {
  const kept = { 'Content-Language': 'de', 'X-Robots-Tag': 'noarchive' }
  const unsafe = {
    ...{ 'X-Break': 'a\r\nX-Injected: 1', 'X-Breaks\r\nX-Injected': '1', 'X-Wide': '☃' },
    ...{ 'Set-Cookie': 'secret=1', 'HTTP2-Settings': 'a', 'Transfer-Encoding': 'chunked' },
  }
  const ours = { 'content-type': 'text/html; charset=iso-8859-1', 'Content-Length': '3', 'X-Prepaint': 'x' }
  const headers = Object.entries({ ...kept, ...unsafe, ...ours, 'Cache-Control': 'max-age=60' })
  edge.script({ kind: 'rendered', status: 200, html: HTML, headers })
  assert.equal(await edge.verdict('/lamp'), 'rendered')
  edge.wait(90_500)
  const got = await ask()
  assert.deepEqual([got.status, got.verdict], [200, 'hit'])
  const { age, 'last-modified': changed, ...others } = got.headers
  const wanted = {
    ...{ vary: VARY, 'cache-control': 'private, no-cache', 'content-type': 'text/html; charset=utf-8' },
    ...{ 'cache-status': 'Prepaint; hit; ttl=86309', 'content-language': 'de', 'x-robots-tag': 'noarchive' },
  }
  assert.partialDeepStrictEqual(others, wanted)
  assert.equal(age, '90')
  assert.equal(Date.parse(changed!), Math.floor((edge.nowMs() - 90_500) / 1_000) * 1_000)
  const names = [...Object.keys(unsafe), 'X-Injected'].map((name) => name.toLowerCase())
  assert(!names.some((name) => name in got.headers), names.join())
})

describe('conditions', () => {
  // Proves decided "Conditional and range requests"
  it('If-None-Match: 304 without a body for the same encoding, weakly compared, in lists', async () => {
    const gzip = { 'accept-encoding': 'gzip' }
    const { etag } = (await ask(gzip)).headers
    assert.match(etag!, /^"[\w-]+"$/)
    for (const value of [etag!, `W/${etag}`, `"other", ${etag}`, '*']) {
      const { status, body, headers, verdict } = await ask({ ...gzip, 'if-none-match': value })
      assert.deepEqual([status, body.length, headers.etag, verdict], [304, 0, etag, 'hit'], value)
      assert.deepEqual([headers['content-encoding'], headers.vary], [undefined, VARY])
    }
    for (const value of ['"other"', 'garbage', '', '"']) {
      assert.equal((await ask({ ...gzip, 'if-none-match': value })).status, 200, value)
    }
    assert.equal((await ask({ 'accept-encoding': 'br', 'if-none-match': etag! })).status, 200)
  })

  it('If-Modified-Since: to the second; ignored beside If-None-Match or when it is no date', async () => {
    const modified = (await ask()).headers['last-modified']!
    const before = new Date(Date.parse(modified) - 1_000).toUTCString()
    assert.equal((await ask({ 'if-modified-since': modified })).status, 304)
    for (const none of [before, 'yesterday', '2099', '2099-01-01T00:00:00Z']) {
      assert.equal((await ask({ 'if-modified-since': none })).status, 200, none)
    }
    assert.equal((await ask({ 'if-modified-since': modified, 'if-none-match': '"x"' })).status, 200)
  })

  // Proves decided "Conditional and range requests"
  it('a request for a range gets the whole page, whatever its condition', async () => {
    const { etag } = (await ask()).headers
    const unconditional = { range: 'bytes=0-9' }
    for (const headers of [unconditional, { ...unconditional, 'if-range': etag! }]) {
      const got = await ask(headers)
      assert.deepEqual([got.status, got.body.length], [200, HTML.length])
      assert.equal(got.headers['content-range'], undefined)
    }
  })

  it('a page with status 410 is sent whole, whatever the condition', async () => {
    edge.script({ kind: 'rendered', status: 404, headers: [], html: 'gone' })
    await edge.ask('/gone')
    assert.equal((await edge.ask('/gone', { headers: { 'if-none-match': '*' } })).status, 404)
  })
})

it('redirects lead where the page led, for a Host with a port too', async () => {
  const { host } = new URL(edge.origin)
  const cases: [stored: string, seen: string][] = [
    ['/new', '/new'],
    ['https://red.example/new?x=1#y', '/new?x=1#y'],
    ['https://red.example//else.example/', 'https://red.example//else.example/'],
    ['https://red.example/\\else.example/', 'https://red.example/\\else.example/'],
    ['https://red.example:8443/new', 'https://red.example:8443/new'],
    ['http://red.example/new', 'http://red.example/new'],
    [`http://${host}/new`, 'http://red.example:8080/new'],
    ['https://else.example/', 'https://else.example/'],
    // One that would break a header.
    ['/new\r\nX-Injected: 1', '/newX-Injected:%201'],
  ]
  for (const [at, [location, seen]] of cases.entries()) {
    edge.script({ kind: 'redirect', status: 308, location })
    for (const verdict of ['rendered', 'hit']) {
      const got = await edge.ask(`/old-${at}`, { host: 'red.example:8080' })
      assert.deepEqual([got.status, got.headers.location, got.verdict], [308, seen, verdict])
      assert.equal(got.headers['x-injected'], undefined)
    }
  }
})

it('a stored page that cannot be read is passed, never an error of ours', async () => {
  await edge.ask('/torn', { headers: { 'accept-encoding': 'br' } })
  await edge.pool.query(`update page set body_br = 'torn', stale_since = null where path = '/torn'`)
  await edge.pool.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ domain: edge.red })])
  await edge.settled()
  const got = await edge.ask('/torn')
  assert.deepEqual([got.status, got.verdict], [200, 'pass; unservable'])
})
