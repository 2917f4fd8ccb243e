import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  HEADER_VALUE_LIMIT_CHARS,
  PAGE_HEADERS_LIMIT,
  PAGE_HEADERS_LIMIT_CHARS,
  pageHeaders,
} from './page-headers.ts'

describe('headers that a page asks for', () => {
  // Proves decided "Headers set by a page"
  it('are kept, whatever their name, as in the services that people come from; of two with one name, the first', () => {
    const kept: Record<string, [name: string, value: string]> = {
      'X-Robots-Tag: noindex, nofollow': ['x-robots-tag', 'noindex, nofollow'],
      'link:<https://a.example/>; rel="canonical"': ['link', '<https://a.example/>; rel="canonical"'],
      ' Retry-After :  120 ': ['retry-after', '120'],
      'Content-Language: de': ['content-language', 'de'],
      'X-Own-Thing: a: b': ['x-own-thing', 'a: b'],
      'Location: /straße?ort=Łódź&a=%C3%A9': ['location', '/stra%C3%9Fe?ort=%C5%81%C3%B3d%C5%BA&a=%C3%A9'],
      "Content-Security-Policy: default-src 'self'": ['content-security-policy', "default-src 'self'"],
    }
    assert.deepEqual(pageHeaders([...Object.keys(kept), 'x-robots-tag: all']), Object.values(kept))
  })

  const DENIED =
    `set-cookie set-cookie2 transfer-encoding content-length connection keep-alive upgrade trailer te
    proxy-authenticate proxy-connection host date via server content-encoding content-type content-range etag
    last-modified repr-digest cache-control vary expires pragma age cdn-cache-control surrogate-control clear-site-data
    strict-transport-security alt-svc www-authenticate refresh status access-control-allow-origin
    cross-origin-opener-policy report-to nel sec-anything x-accel-redirect x-sendfile x-litespeed-location
    x-forwarded-for x-prepaint :status`.split(/\s+/)
  it('not those on which a cache, a proxy or the next visitor would act', () => {
    for (const name of DENIED.flatMap((name) => [name, name.toUpperCase()]))
      assert.deepEqual(pageHeaders([`${name}: 1`, 'x-kept: 1']), [['x-kept', '1']], name)
  })

  const HOSTILE: Record<string, string> = {
    'a second header behind a line break': 'X-A: 1\r\nSet-Cookie: a=b',
    'a bare carriage return': 'X-A: 1\rSet-Cookie: a=b',
    'a line break in the name': 'X-A\r\nSet-Cookie: a=b',
    'a NUL': 'X-A: 1\0',
    'letters that become line breaks in Latin-1': 'X-A: 1\u560d\u560aSet-Cookie: a=b',
    'a line separator': 'X-A: 1\u2028X-B: 2',
    'a line break in an address': 'Location: /ä\r\nSet-Cookie: a=b',
    'a line separator in an address': 'Location: /ä\u2028X-B: 2',
    'half a letter in an address': 'Location: /\ud83d',
    'a space in the name': 'X A: 1',
    'a denied name with a space before the colon': 'Set-Cookie : a=b',
    'a denied name with a tab': 'Set-Cookie\t: a=b',
    'no name': ': 1',
    'no colon': 'X-A',
    'no value': 'X-A:',
    'an object of its own': '__proto__ : 1 \x7f',
  }
  for (const [name, text] of Object.entries(HOSTILE))
    it(`a page may not set ${name}`, () => assert.deepEqual(pageHeaders([text]), []))

  // Proves decided "Headers set by a page"
  it('up to the limits of a name, a value, their number and all together', () => {
    const name = 'n'.repeat(100)
    const value = 'v'.repeat(HEADER_VALUE_LIMIT_CHARS)
    assert.deepEqual(pageHeaders([`${name}: ${value}`]), [[name, value]])
    assert.deepEqual(pageHeaders([`${name}n: 1`, `a: ${value}v`]), [])
    const many = Array.from({ length: PAGE_HEADERS_LIMIT + 1 }, (_, at) => `x-${at}: 1`)
    assert.equal(pageHeaders(many).length, PAGE_HEADERS_LIMIT)
    assert.equal(pageHeaders(many.slice(1)).length, PAGE_HEADERS_LIMIT)
    const quarter = 'v'.repeat(PAGE_HEADERS_LIMIT_CHARS / 4 - 1)
    assert.equal(pageHeaders(['a', 'b', 'c', 'd'].map((name) => `${name}: ${quarter}`)).length, 4)
    assert.equal(pageHeaders(['a', 'b', 'c', 'dd'].map((name) => `${name}: ${quarter}`)).length, 3)
  })
})
