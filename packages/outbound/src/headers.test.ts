import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  headersForOrigin,
  headersForOther,
  headersFromOrigin,
  headersFromOther,
  ownRequestHeaders,
  type ProxiedSite,
  requestHeaders,
  responseHeaders,
} from './headers.ts'
import { readOrigin } from './origin.ts'

const site = siteAt('shop.example', 'https://www.origin.example:8443')

function siteAt(name: string, originUrl: string): ProxiedSite {
  return { name, origin: readOrigin(originUrl, 1) }
}

/** One response header as a render and as a person gets it. */
function seen(name: string, value: string, at = site): { render: unknown; person: string | undefined } {
  const front = { address: '', scheme: 'https', host: at.name } as const
  const answer = { httpVersion: '1.1', statusCode: 200, rawHeaders: [name, value] }
  const given = headersFromOrigin([name, value], at)[name.toLowerCase()]
  return {
    render: Array.isArray(given) ? given[0] : given,
    person: responseHeaders(answer, front, at, 'pass; method')[1],
  }
}

describe('request headers', () => {
  it('to the origin: its own Host, our forwarding headers and nobody else’s', () => {
    const kept = { accept: '*/*', cookie: 'a=1' }
    const hops = { connection: 'keep-alive, X-Hop', 'x-hop': '1', te: 'trailers', upgrade: 'h2c' }
    const others = { 'transfer-encoding': 'chunked', 'proxy-authorization': 'x', expect: '100-continue' }
    const lies = { forwarded: 'for=1.2.3.4', via: '1.1 other', 'x-forwarded-for': '1.2.3.4' }
    const more = { 'x-forwarded-host': 'evil.example', 'x-real-ip': '1.2.3.4', ':authority': 'shop.example' }
    const headers = headersForOrigin({ ...kept, ...hops, ...others, ...lies, ...more }, 'https', site)
    assert.deepEqual(headers, {
      ...kept,
      host: 'www.origin.example:8443',
      via: '1.1 prepaint',
      'x-prerender': '1',
      'x-forwarded-host': 'shop.example',
      'x-forwarded-proto': 'https',
    })
  })

  it("to the origin: the owner's headers in place of the client's, whatever it names as hops", () => {
    const guarded = { name: 'shop.example', origin: readOrigin('http://o.example', 1, ['X-Secret', 'own']) }
    const front = { address: '192.0.2.1', scheme: 'https', host: 'shop.example' } as const
    const rawHeaders = ['x-secret', 'client', 'Connection', 'x-secret', 'Accept', '*/*', 'X-SECRET', 'again']
    const passed = requestHeaders({ httpVersion: '1.1', rawHeaders }, front, guarded.origin, [])
    assert.deepEqual(passed.slice(0, 6), ['Host', 'o.example', 'Accept', '*/*', 'X-Secret', 'own'])
    assert.doesNotMatch(passed.join('\n'), /client|again/)
    const rendered = headersForOrigin({ 'x-secret': 'page', accept: '*/*' }, 'https', guarded)
    assert.equal(rendered['x-secret'], 'own')
    assert.deepEqual(ownRequestHeaders(guarded).slice(-2), ['X-Secret', 'own'])
  })

  it('to other hosts: as the page sent them', () => {
    const page = { host: 'a', accept: '*/*', connection: 'close', via: '1.1 x' }
    const sent = { host: 'b.example', accept: '*/*', via: '1.1 x' }
    assert.deepEqual(headersForOther(page, 'b.example'), sent)
  })
})

describe('response headers', () => {
  it('lose what is between two hops, and the gateway’s own mark', () => {
    const received = ['Content-Type', 'text/html', 'Set-Cookie', 'a=1', 'Connection', 'x-hop', 'X-Hop', '1']
    received.push('Transfer-Encoding', 'chunked', 'X-Prepaint-Gateway', 'unreachable')
    const kept = { 'content-type': 'text/html', 'set-cookie': ['a=1'] }
    assert.deepEqual(headersFromOther(received), kept)
    const remembered = ['Alt-Svc', 'h3', 'Accept-CH', 'Device-Memory', 'Critical-CH', 'Device-Memory']
    assert.deepEqual(headersFromOrigin([...received, ...remembered], site), kept)
  })

  it('that are repeated reach a page as node:http joins them', () => {
    const repeated = ['Vary', 'a', 'vary', 'b', 'Content-Type', 'text/html', 'Content-Type', 'text/plain']
    repeated.push('__proto__', 'x', 'constructor', 'y')
    const joined = { vary: 'a, b', 'content-type': 'text/html', constructor: 'y' }
    assert.deepEqual(headersFromOther(repeated), joined)
  })
})

describe('for renders and for people the same', () => {
  const ORIGIN = 'https://www.origin.example:8443'
  const REWRITTEN: [name: string, value: string, shown: string][] = [
    ['Location', `${ORIGIN}/a?b#c`, 'https://shop.example/a?b#c'],
    ['Location', 'http://WWW.Origin.Example/a', 'http://shop.example/a'],
    ['Location', '//www.origin.example:8443', 'https://shop.example/'],
    ['Location', ` ${ORIGIN}/a `, 'https://shop.example/a'],
    ['Location', Buffer.from(`${ORIGIN}/größe`).toString('latin1'), 'https://shop.example/gr%C3%B6%C3%9Fe'],
    ['Content-Location', `${ORIGIN}/a`, 'https://shop.example/a'],
    ['Refresh', `5; url=${ORIGIN}/a?b=1`, '5; url=https://shop.example/a?b=1'],
    [
      'Link',
      `<${ORIGIN}/a>; rel=x, <https://b.example/>`,
      '<https://shop.example/a>; rel=x, <https://b.example/>',
    ],
    ['Set-Cookie', 'a=1; Domain=www.origin.example; Path=/', 'a=1; Domain=shop.example; Path=/'],
    ['Set-Cookie', 'a=1; domain = .ORIGIN.example', 'a=1; domain = shop.example'],
  ]
  // Proves decided "Rewritten headers"
  for (const [name, value, shown] of REWRITTEN) {
    it(`${name} ${value} is shown as ${shown}`, () => {
      assert.deepEqual(seen(name, value), { render: shown, person: shown })
    })
  }

  const KEPT: [name: string, values: readonly string[]][] = [
    ['Location', ['/a', 'a', '?a', '', 'https://www.origin.example:9000/', 'ftp://www.origin.example/']],
    ['Location', ['https://www.origin.example.evil.example/', 'https://www.origin.example@evil.example/']],
    ['Location', ['https://[', 'java\tscript:1', '\\\\evil.example']],
    ['Set-Cookie', ['a=1; Domain=', 'a=1; Domain=gin.example', 'domain=www.origin.example']],
    ['Content-Security-Policy', [`default-src 'self' ${ORIGIN}`]],
    ['Access-Control-Allow-Origin', [ORIGIN]],
  ]
  for (const [name, values] of KEPT) {
    it(`${name} stays: ${values.join(' ')}`, () => {
      for (const value of values) assert.deepEqual(seen(name, value), { render: value, person: value })
    })
  }

  it('a cookie for a domain that site and origin share stays for all of it', () => {
    const shared = siteAt('www.red.example', 'https://origin.red.example')
    const cookie = 'a=1; Domain=red.example'
    assert.deepEqual(seen('Set-Cookie', cookie, shared), { render: cookie, person: cookie })
  })
})
