import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readSite } from '../gateway/target.ts'
import {
  headersForOrigin,
  headersForOther,
  headersFromOrigin,
  headersFromOther,
  publicCookie,
  publicLocation,
} from './gateway-headers.ts'

const site = readSite('shop.example', 'https://www.origin.example:8443')

describe('request headers', () => {
  it('to the origin: its own Host, our forwarding headers and nobody else’s', () => {
    const headers = headersForOrigin(
      {
        ':method': 'GET',
        ':authority': 'shop.example',
        accept: '*/*',
        cookie: 'a=1',
        connection: 'keep-alive, X-Hop',
        'x-hop': '1',
        'keep-alive': '1',
        te: 'trailers',
        upgrade: 'h2c',
        'transfer-encoding': 'chunked',
        'proxy-authorization': 'x',
        expect: '100-continue',
        forwarded: 'for=1.2.3.4',
        via: '1.1 other',
        'x-forwarded-for': '1.2.3.4',
        'x-forwarded-port': '1',
        'x-forwarded-host': 'evil.example',
        'x-real-ip': '1.2.3.4',
      },
      'https',
      site,
    )
    assert.deepEqual(headers, {
      accept: '*/*',
      cookie: 'a=1',
      host: 'www.origin.example:8443',
      via: '1.1 prepaint',
      'x-prerender': '1',
      'x-forwarded-host': 'shop.example',
      'x-forwarded-proto': 'https',
    })
  })

  it('to other hosts: as the page sent them', () => {
    assert.deepEqual(
      headersForOther({ host: 'a', accept: '*/*', connection: 'close', via: '1.1 x' }, 'b.example'),
      {
        accept: '*/*',
        host: 'b.example',
        via: '1.1 x',
      },
    )
  })
})

describe('response headers', () => {
  it('lose what is between two hops, and the gateway’s own mark', () => {
    const received = {
      'content-type': 'text/html',
      'set-cookie': ['a=1'],
      connection: 'x-hop',
      'x-hop': '1',
      'transfer-encoding': 'chunked',
      'x-prepaint-gateway': 'unreachable',
    }
    assert.deepEqual(headersFromOther(received), { 'content-type': 'text/html', 'set-cookie': ['a=1'] })
    const remembered = { 'alt-svc': 'h3', 'accept-ch': 'Device-Memory', 'critical-ch': 'Device-Memory' }
    assert.deepEqual(headersFromOrigin({ ...received, ...remembered }, site), headersFromOther(received))
  })
})

describe('Location', () => {
  const CASES: [location: string, shown: string][] = [
    ['https://www.origin.example:8443/a?b#c', 'https://shop.example/a?b#c'],
    ['https://WWW.Origin.Example:8443/', 'https://shop.example/'],
    ['http://www.origin.example/a', 'https://shop.example/a'],
    ['https://www.origin.example', 'https://shop.example'],
    ['//www.origin.example:8443/a', 'https://shop.example/a'],
    [' https://www.origin.example:8443/a ', 'https://shop.example/a'],
    ['/a', '/a'],
    ['a', 'a'],
    ['?a', '?a'],
    ['', ''],
    ['https://other.example/', 'https://other.example/'],
    ['https://www.origin.example:9000/', 'https://www.origin.example:9000/'],
    ['https://www.origin.example.evil.example/', 'https://www.origin.example.evil.example/'],
    ['https://www.origin.example@evil.example/', 'https://www.origin.example@evil.example/'],
    ['https://evil.example/https://www.origin.example/', 'https://evil.example/https://www.origin.example/'],
    ['ftp://www.origin.example/', 'ftp://www.origin.example/'],
  ]
  for (const [location, shown] of CASES) {
    it(`${location} is shown as ${shown}`, () => assert.equal(publicLocation(location, site), shown))
  }
})

describe('Set-Cookie', () => {
  const CASES: [cookie: string, shown: string][] = [
    ['a=1; Domain=www.origin.example; Path=/', 'a=1; Domain=shop.example; Path=/'],
    ['a=1; domain = .origin.example', 'a=1; Domain=shop.example'],
    ['a=1; Secure', 'a=1; Secure'],
    ['a=1; Domain=', 'a=1; Domain='],
    ['a=1; Domain=other.example', 'a=1; Domain=other.example'],
    ['a=1; Domain=gin.example', 'a=1; Domain=gin.example'],
    ['domain=www.origin.example', 'domain=www.origin.example'],
  ]
  for (const [cookie, shown] of CASES) {
    it(`${cookie} is shown as ${shown}`, () => assert.equal(publicCookie(cookie, site), shown))
  }
})
