import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { parsePageUrl } from './path.ts'

describe('the URL of a page', () => {
  const CASES: [url: string, scheme: string, host: string, path: string][] = [
    ['https://shop.example', 'https', 'shop.example', '/'],
    ['http://shop.example/', 'http', 'shop.example', '/'],
    ['HTTPS://Shop.Example:8443/A', 'https', 'Shop.Example:8443', '/A'],
    ['https://shop.example?a=1', 'https', 'shop.example', '/?a=1'],
    ['https://shop.example/a?b=https://c/?d#e', 'https', 'shop.example', '/a?b=https://c/?d'],
    ['https://shop.example/%41/../b//c?', 'https', 'shop.example', '/%41/../b//c?'],
    ['https://shop.example/100%', 'https', 'shop.example', '/100%'],
    ['https://shop.example/größe und 😀', 'https', 'shop.example', '/gr%C3%B6%C3%9Fe%20und%20%F0%9F%98%80'],
    ['https://shop.example/\ud800', 'https', 'shop.example', '/%EF%BF%BD'],
    ['https://shop.example/?_escaped_fragment_=', 'https', 'shop.example', '/'],
    ['https://shop.example/a?_escaped_fragment_', 'https', 'shop.example', '/a'],
    ['https://shop.example/a?b=1&_escaped_fragment_=', 'https', 'shop.example', '/a?b=1'],
    ['https://shop.example/a?_escaped_fragment_=&b=1', 'https', 'shop.example', '/a?b=1'],
    ['https://shop.example/?_escaped_fragment_=/a', 'https', 'shop.example', '/?_escaped_fragment_=/a'],
    ['https://[::1]/', 'https', '[::1]', '/'],
  ]
  for (const [url, scheme, host, path] of CASES) {
    it(url.toWellFormed(), () => assert.deepEqual(parsePageUrl(url), { scheme, host, path }))
  }

  const WRONG = [
    '',
    '/',
    'shop.example/',
    'ftp://shop.example/',
    'https:/shop.example/',
    'https:///path',
    'https://user:password@shop.example/',
    'https://shop.example\\@other.example/',
    'https://shop example/',
    ' https://shop.example/',
    'javascript://shop.example/%0aalert(1)',
  ]
  for (const url of WRONG) it(`none: ${url}`, () => assert.equal(parsePageUrl(url), null))
})
