/** What is stored for everybody depends on domain, path and query: on nothing else that one requester says. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { openEdge } from '../../../test/support/edge.ts'

const edge = await openEdge({ origin: (req, res) => res.end(`${req.method} ${req.url}`) })

const EVIL = 'evil.example'
const HEADERS: [name: string, headers: Record<string, string>][] = [
  ['X-Forwarded-Host', { 'x-forwarded-host': EVIL }],
  ['X-Forwarded-Proto', { 'x-forwarded-proto': 'http', 'x-forwarded-ssl': 'off' }],
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
    it(`${name}: the next client gets what everybody gets`, async () => {
      const path = `/${name.toLowerCase().replaceAll(/[^a-z]+/g, '-')}`
      const answers = [
        await edge.ask(path, { headers }),
        await edge.ask(path),
        await edge.ask(path, { headers }),
      ]
      assert.deepEqual(
        answers.map(({ verdict }) => verdict),
        ['rendered', 'hit', 'hit'],
      )
      for (const { status, body, rawHeaders } of answers) {
        assert.deepEqual([status, String(body)], [200, String(answers[0]!.body)])
        assert.match(String(body), new RegExp(`^<h1>red\\.example${path}</h1>`))
        assert.doesNotMatch(rawHeaders.join('\n'), /evil/i)
      }
    })
  }

  it('a render is asked for by domain and path alone', () => {
    assert(edge.rendered.length >= HEADERS.length)
    for (const asked of edge.rendered) assert.match(asked, /^red\.example\/[a-z-]+$/)
  })
})
