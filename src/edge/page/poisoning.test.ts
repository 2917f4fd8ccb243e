/** What is stored for everybody depends on domain, path and query: on nothing else that one requester says. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { openEdge } from '../../../test/support/edge.ts'

const edge = await openEdge({ origin: (req, res) => res.end(`${req.method} ${req.url}`) })

const EVIL = 'evil.example'
const HEADERS: [name: string, headers: Record<string, string>][] = [
  ['X-Forwarded-Host', { 'x-forwarded-host': EVIL }],
  [
    'X-Forwarded-Proto',
    { 'x-forwarded-proto': 'http', 'x-forwarded-scheme': 'http', 'x-forwarded-ssl': 'off' },
  ],
  ['X-Forwarded-Port and Prefix', { 'x-forwarded-port': '1', 'x-forwarded-prefix': '/evil' }],
  ['X-Host and the like', { 'x-host': EVIL, 'x-original-host': EVIL, 'x-http-host-override': EVIL }],
  ['Forwarded', { forwarded: 'host=evil.example;proto=http;for=127.0.0.1' }],
  ['X-Original-URL', { 'x-original-url': '/evil', 'x-rewrite-url': '/evil' }],
  ['a method override', { 'x-http-method-override': 'DELETE', 'x-http-method': 'PURGE' }],
  ['Accept-Language', { 'accept-language': 'xx' }],
  ['Accept', { accept: 'application/json' }],
  ['Range', { range: 'bytes=0-3', 'if-range': '"x"' }],
  ['cookies', { cookie: 'session=evil; lang=xx' }],
  ['Cache-Control', { 'cache-control': 'no-store, no-cache, only-if-cached', pragma: 'no-cache' }],
  ['conditions', { 'if-match': '"x"', 'if-unmodified-since': 'Thu, 01 Jan 1970 00:00:00 GMT' }],
  ['Origin', { origin: 'https://evil.example', referer: 'https://evil.example/' }],
  ['another crawler', { 'user-agent': 'bingbot/2.0 <script>alert(1)</script>' }],
  ['headers of ours', { 'x-prepaint': 'hit', 'x-prepaint-gateway': 'unreachable', 'x-prerender-token': 'x' }],
  ['a trailer, an upgrade', { te: 'trailers', connection: 'upgrade, x-evil', upgrade: 'h2c', 'x-evil': '1' }],
  ['client hints', { 'save-data': 'on', 'sec-ch-ua-mobile': '?1', 'viewport-width': '1', dpr: '3' }],
]

describe('headers that are not in the key', () => {
  for (const [name, headers] of HEADERS) {
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
    assert(edge.rendered.length >= HEADERS.length)
    for (const asked of edge.rendered) assert.match(asked, /^red\.example\/[a-z-]+$/)
  })
})

/** Header lines of an answer that hold a word of the poisoner's. */
function reflected(rawHeaders: readonly string[]): string[] {
  return rawHeaders.filter((text) => /evil/i.test(text))
}
