import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'

import { type AskOptions, openEdge } from '../../../test/support/edge.ts'
import { pageBody } from '../../store/stored-page.ts'
import { prepareServed } from './prepared-page.ts'

const HTML = `<!doctype html><h1>Lamp</h1>${'<p>text</p>'.repeat(500)}`
const edge = await openEdge()
edge.script({ kind: 'rendered', status: 200, html: HTML, headers: [] })
assert.equal(await edge.verdict('/lamp'), 'rendered')

const ask = (headers: Record<string, string> = {}, options: AskOptions = {}) =>
  edge.ask('/lamp', { headers, ...options })

it('each variant and encoding has an ETag of its own, and takes as much memory as is counted', async () => {
  const { bodyBr, htmlBytes, etag } = await pageBody('<p>a small page</p>')
  const stored = { status: 200, headers: [], bodyBr, htmlBytes, etag, renderedAtMs: 0, staleSinceMs: null }
  const etags = new Set<string>()
  for (const variant of ['desktop', 'mobile'] as const) {
    const page = prepareServed({ kind: 'page', variant, ...stored })
    if (page.kind !== 'page') throw new Error('no page')
    for (const encoding of ['br', 'gzip', 'identity'] as const) {
      const made = await page.forms.html.make(encoding)
      assert.equal(made.body.buffer.byteLength, made.body.length, encoding)
      etags.add(made.etag)
    }
  }
  assert.equal(etags.size, 6)
})

describe('headers', () => {
  before(async () => {
    await edge.purge({ kind: 'all' }).then(edge.settled)
    const headers: [string, string][] = [
      ['content-type', 'text/html; charset=iso-8859-1'],
      ['Content-Language', 'de'],
      ['X-Robots-Tag', 'noarchive'],
      ['X-Break', 'a\r\nX-Injected: 1'],
      ['X-Break\r\nX-Injected', '1'],
      ['X-Wide', '☃'],
      ...Object.entries({ 'Set-Cookie': 'secret=1', 'HTTP2-Settings': 'a', 'Transfer-Encoding': 'chunked' }),
      ...Object.entries({ 'Content-Length': '3', 'X-Prepaint': 'nonsense', 'Cache-Control': 'max-age=60' }),
    ]
    edge.script({ kind: 'rendered', status: 200, html: HTML, headers })
    await ask()
  })

  it('are those of the contract', async () => {
    edge.wait(90_500)
    const { headers, status, verdict } = await ask()
    assert.deepEqual([status, verdict], [200, 'hit'])
    const names = ['age', 'cache-status', 'vary', 'cache-control']
    assert.deepEqual(
      names.map((name) => headers[name]),
      ['90', 'Prepaint; hit; ttl=86309', 'Accept, Accept-Encoding, User-Agent', 'private, no-cache'],
    )
    assert.equal(Date.parse(headers['last-modified']!), Math.floor((edge.nowMs() - 90_500) / 1_000) * 1_000)
  })

  // Proves decided "Headers of the origin"
  it('stored ones are sent where they are safe and still true', async () => {
    const { headers } = await ask()
    assert.equal(headers['content-language'], 'de')
    assert.equal(headers['x-robots-tag'], 'noarchive')
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    const unsafe = ['set-cookie', 'http2-settings', 'transfer-encoding', 'x-injected', 'x-break', 'x-wide']
    for (const name of unsafe) assert.equal(headers[name], undefined, name)
  })

  it('a first answer says that it was forwarded and stored', async () => {
    const { headers } = await edge.ask('/first')
    assert.equal(headers['cache-status'], 'Prepaint; fwd=miss; stored')
    assert.equal(headers['age'], '0')
  })
})

describe('conditions', () => {
  // Proves decided "Conditional and range requests"
  it('If-None-Match: 304 without a body for the same encoding, weakly compared, in lists', async () => {
    const { etag } = (await ask({ 'accept-encoding': 'gzip' })).headers
    assert.match(etag!, /^"[\w-]+"$/)
    for (const value of [etag!, `W/${etag}`, `"other", ${etag}`, '*']) {
      const asked = { 'accept-encoding': 'gzip', 'if-none-match': value }
      const { status, body, headers, verdict } = await ask(asked)
      assert.deepEqual([status, body.length, headers.etag, verdict], [304, 0, etag, 'hit'], value)
      assert.equal(headers['content-encoding'], undefined)
      assert.equal(headers['vary'], 'Accept, Accept-Encoding, User-Agent')
    }
    for (const value of ['"other"', 'garbage', '', '"']) {
      assert.equal((await ask({ 'accept-encoding': 'gzip', 'if-none-match': value })).status, 200, value)
    }
    assert.equal((await ask({ 'accept-encoding': 'br', 'if-none-match': etag! })).status, 200)
  })

  it('If-Modified-Since: to the second; ignored beside If-None-Match or when it is no date', async () => {
    const modified = (await ask()).headers['last-modified']!
    const before = new Date(Date.parse(modified) - 1_000).toUTCString()
    assert.equal((await ask({ 'if-modified-since': modified })).status, 304)
    assert.equal((await ask({ 'if-modified-since': before })).status, 200)
    for (const none of ['yesterday', '2099', '2099-01-01T00:00:00Z']) {
      assert.equal((await ask({ 'if-modified-since': none })).status, 200, none)
    }
    assert.equal((await ask({ 'if-modified-since': modified, 'if-none-match': '"x"' })).status, 200)
  })

  // Proves decided "Conditional and range requests"
  it('a range gets the whole, whatever its condition', async () => {
    const { etag } = (await ask()).headers
    for (const more of [{}, { 'if-range': etag! }, { 'if-range': '"other"' }] as Record<string, string>[]) {
      const got = await ask({ range: 'bytes=0-9', ...more })
      assert.deepEqual([got.status, got.body.length], [200, HTML.length])
      assert.equal(got.headers['content-range'], undefined)
    }
  })

  it('a page that is gone is not conditional', async () => {
    edge.script({ kind: 'rendered', status: 404, headers: [], html: 'gone' })
    const { headers, status } = await edge.ask('/gone')
    assert.equal(status, 404)
    assert.equal((await edge.ask('/gone', { headers: { 'if-none-match': headers.etag! } })).status, 404)
  })
})

describe('redirects', () => {
  it('lead where the page led, for a Host with a port too', async () => {
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
    ]
    for (const [at, [location, seen]] of cases.entries()) {
      edge.script({ kind: 'redirect', status: 308, location })
      for (const verdict of ['rendered', 'hit']) {
        const got = await edge.ask(`/old-${at}`, { host: 'red.example:8080' })
        assert.deepEqual([got.status, got.headers.location, got.verdict], [308, seen, verdict])
      }
    }
  })

  it('a location that would break a header is sent so that it does not', async () => {
    edge.script({ kind: 'redirect', status: 301, location: '/new\r\nX-Injected: 1' })
    const got = await edge.ask('/broken')
    assert.deepEqual([got.status, got.headers.location], [301, '/newX-Injected:%201'])
    assert.equal(got.headers['x-injected'], undefined)
  })
})

it('a page has changed when it last read otherwise, not when it was last rendered', () => {
  const page = { kind: 'page', status: 200, variant: 'desktop', headers: [], etag: 'e' } as const
  const lastModified = (times: { renderedAtMs: number; changedAtMs?: number }) => {
    const body = { bodyBr: Buffer.alloc(0), htmlBytes: 0, staleSinceMs: null }
    const served = prepareServed({ ...page, ...body, ...times })
    return served.kind === 'page' ? served.lastModifiedMs : null
  }
  assert.equal(lastModified({ renderedAtMs: 5_000_400, changedAtMs: 1_000_700 }), 1_000_000)
  assert.equal(lastModified({ renderedAtMs: 5_000_400 }), 5_000_000)
})

it('a stored page that cannot be read is passed, never an error of ours', async () => {
  await edge.ask('/torn', { headers: { 'accept-encoding': 'br' } })
  await edge.pool.query(`update page set body_br = 'torn', stale_since = null where path = '/torn'`)
  await edge.pool.query(`select pg_notify('invalidate', $1)`, [JSON.stringify({ domain: edge.red })])
  await edge.settled()
  const got = await edge.ask('/torn')
  assert.deepEqual([got.status, got.verdict], [200, 'pass; unservable'])
})
