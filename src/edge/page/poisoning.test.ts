/** What is stored for everybody depends on domain, path and query: on nothing else that one requester says. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'

import { PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'

let edge: TestEdge
before(async () => {
  edge = await startTestEdge({ origin: (req, res) => res.end(`${req.method} ${req.url}`) })
})
after(() => edge.close())

const HEADERS: Record<string, Record<string, string>> = {
  'X-Forwarded-Host': { 'x-forwarded-host': 'evil.example' },
  'X-Forwarded-Proto': {
    'x-forwarded-proto': 'http',
    'x-forwarded-scheme': 'http',
    'x-forwarded-ssl': 'off',
  },
  'X-Forwarded-Port and Prefix': { 'x-forwarded-port': '1', 'x-forwarded-prefix': '/evil' },
  'X-Host and the like': {
    'x-host': 'evil.example',
    'x-original-host': 'evil.example',
    'x-http-host-override': 'evil.example',
  },
  Forwarded: { forwarded: 'host=evil.example;proto=http;for=127.0.0.1' },
  'X-Original-URL': { 'x-original-url': '/evil', 'x-rewrite-url': '/evil' },
  'a method override': {
    'x-http-method-override': 'DELETE',
    'x-method-override': 'DELETE',
    'x-http-method': 'PURGE',
  },
  'Accept-Language': { 'accept-language': 'xx' },
  Accept: { accept: 'application/json' },
  Range: { range: 'bytes=0-3', 'if-range': '"x"' },
  cookies: { cookie: 'session=evil; lang=xx' },
  'Cache-Control': { 'cache-control': 'no-store, no-cache, only-if-cached', pragma: 'no-cache' },
  'conditions of somebody else': {
    'if-match': '"x"',
    'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT',
  },
  Origin: { origin: 'https://evil.example', referer: 'https://evil.example/' },
  'another crawler': { 'user-agent': 'bingbot/2.0 <script>alert(1)</script>' },
  'headers of ours': { 'x-prepaint': 'hit', 'x-prepaint-gateway': 'unreachable', 'x-prerender-token': 'x' },
  'a trailer and an upgrade': {
    te: 'trailers',
    connection: 'upgrade, x-evil',
    upgrade: 'h2c',
    'x-evil': '1',
  },
  'client hints': { 'save-data': 'on', 'sec-ch-ua-mobile': '?1', 'viewport-width': '1', dpr: '3' },
}

describe('headers that are not in the key', () => {
  for (const [name, headers] of Object.entries(HEADERS)) {
    it(`${name}: whoever comes next gets what everybody gets`, async () => {
      const path = `/${name.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`
      const poisoner = await edge.ask(path, { headers })
      const next = await edge.ask(path)
      assert.deepEqual([poisoner.verdict, next.verdict], ['rendered', 'hit'])
      assert.deepEqual(String(poisoner.body), String(next.body))
      assert.match(String(next.body), new RegExp(`^<h1>red\\.example${path}</h1>`))
      // The same answer to the same question, whether it is asked with them or without.
      const again = await edge.ask(path, { headers })
      assert.deepEqual([again.status, again.verdict, String(again.body)], [200, 'hit', String(next.body)])
      assert.deepEqual(reflected(poisoner.rawHeaders), [])
      assert.deepEqual(reflected(next.rawHeaders), [])
    })
  }

  it('a render is asked for by domain and path alone', () => {
    // What the queue was given, in full: no header of a requester has a place in it.
    assert(edge.rendered.length >= Object.keys(HEADERS).length)
    assert.deepEqual(
      edge.rendered.filter((asked) => !/^red\.example\/[a-z-]+$/.test(asked)),
      [],
    )
  })

  it('a person with a cookie passes, and leaves nothing behind for crawlers', async () => {
    const person = await edge.ask('/private', { agent: PERSON, headers: { cookie: 'session=1' } })
    assert.equal(person.verdict, 'pass; not-a-crawler')
    const crawler = await edge.ask('/private')
    assert.equal(crawler.verdict, 'rendered')
    assert.match(String(crawler.body), /^<h1>/)
  })

  it('a crawler with a password passes, and leaves nothing behind for others', async () => {
    const headers = { authorization: 'Basic ZXZpbDpldmls' }
    assert.equal(await edge.verdict('/password', { headers }), 'pass; authorization')
    assert.equal(await edge.verdict('/password'), 'rendered')
    assert.equal(await edge.verdict('/password', { headers }), 'pass; authorization')
  })

  it('a method that is none of ours is neither served from the cache nor stored', async () => {
    await edge.ask('/method')
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PURGE', 'TRACE']) {
      const got = await edge.ask('/method', { method })
      assert.equal(got.verdict, 'pass; method', method)
    }
    assert.equal((await edge.ask('/method')).verdict, 'hit')
  })
})

describe('the key', () => {
  it('holds what the origin tells apart: a poisoned neighbour is another page', async () => {
    const DIFFERENT = [
      '/k',
      '/K',
      '/k/',
      '/k;a=1',
      '/k?a=1',
      '/k?a=2',
      '/k?a=1&a=2',
      '/k?a=2&a=1',
      '/k?',
      '/k%2F',
      '/k%3Fa=1',
      '/k%23',
      '/k//',
      '/k/.%2e/x',
      '/k?a=%26b=1',
      '/k?a=1%00',
      '/k.html',
      '/k?callback=evil',
    ]
    const bodies = new Map<string, string>()
    for (const path of DIFFERENT) {
      const { body, verdict } = await edge.ask(path)
      if (verdict === 'rendered') bodies.set(path, String(body).split('<p>')[0]!)
    }
    assert.equal(new Set(bodies.values()).size, bodies.size)
    assert(bodies.size > 10)
    // `/k?` is `/k`: an empty query names nothing.
    assert.equal((await edge.ask('/k?')).verdict, 'hit')
  })

  it('a fragment in the target is no part of it, and a parameter cannot imitate another', async () => {
    assert.notEqual(
      String((await edge.ask('/f?a=1%26b%3D2')).body),
      String((await edge.ask('/f?a=1&b=2')).body),
    )
  })

  it('click-tracking parameters do not reach the stored page', async () => {
    const got = await edge.ask(
      '/click?utm_source=<script>evil</script>'.replaceAll(/[<>]/g, encodeURIComponent),
    )
    assert.doesNotMatch(String(got.body), /evil/)
  })
})

/** Header lines of an answer that hold a word of the poisoner's. */
function reflected(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((text) => /evil/i.test(text))
}
