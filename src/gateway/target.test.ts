import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { connectTarget, namesOwnHost, readSite, requestTarget } from './target.ts'

const site = readSite('Shop.Example', 'https://www.origin.example:8443')

describe('a site', () => {
  it('is read from a checked origin URL', () => {
    assert.deepEqual(site, {
      name: 'shop.example',
      origin: {
        protocol: 'https:',
        hostname: 'www.origin.example',
        port: 8443,
        authority: 'www.origin.example:8443',
        key: 'site https://www.origin.example:8443',
      },
    })
    assert.equal(readSite('a', 'http://b.example').origin.port, 80)
    assert.equal(readSite('a', 'https://b.example').origin.port, 443)
    assert.equal(readSite('a', 'http://[2606:4700::1111]:81').origin.hostname, '[2606:4700::1111]')
  })
  for (const wrong of [
    '',
    'b.example',
    'ftp://b.example',
    'http://',
    'http://b.example/',
    'http://u@b.example',
    'http://127.1',
  ]) {
    it(`is not read from ${JSON.stringify(wrong)}`, () => assert.throws(() => readSite('a', wrong)))
  }
})

describe('CONNECT', () => {
  const CASES: [raw: string, target: string][] = [
    ['shop.example:443', 'own https'],
    ['SHOP.example.:443', 'own https'],
    ['shop.example:80', 'own http'],
    ['shop.example:8443', 'port'],
    ['www.origin.example:8443', 'other'],
    ['www.origin.example:443', 'other'],
    ['other.example:443', 'other'],
    ['other.example:80', 'other'],
    ['other.example:8443', 'port'],
    ['other.example:22', 'port'],
    ['8.8.8.8:443', 'other'],
    ['[2606:4700::1111]:443', 'other'],
    ['other.example', 'malformed'],
    ['http://other.example:443', 'malformed'],
    ['', 'malformed'],
  ]
  for (const [raw, expected] of CASES) {
    it(`${raw}: ${expected}`, () => assert.equal(short(connectTarget(raw, site)), expected))
  }
})

describe('a whole request', () => {
  const CASES: [raw: string, target: string, path: string][] = [
    ['http://shop.example/a?b=%20', 'own http', '/a?b=%20'],
    ['http://shop.example:80', 'own http', '/'],
    ['http://shop.example?x', 'own http', '/?x'],
    ['HTTP://other.example/a//b/../c', 'other', '/a//b/../c'],
    ['http://other.example:443/', 'other', '/'],
    ['http://www.origin.example:8443/', 'other', '/'],
    ['http://other.example/a#b', 'malformed', ''],
    ['http://other.example:8443/', 'port', '/'],
    ['http://shop.example:8443/', 'port', '/'],
    ['https://other.example/', 'scheme', ''],
    ['http://user@other.example/', 'malformed', ''],
    ['http:///a', 'malformed', ''],
    ['/a', 'malformed', ''],
    ['*', 'malformed', ''],
  ]
  for (const [raw, expected, path] of CASES) {
    it(`${raw}: ${expected}`, () => {
      const { target, path: asked } = requestTarget(raw, site)
      assert.deepEqual([short(target), asked], [expected, path])
    })
  }
})

it('names its own host with its own port, or none', () => {
  const names = (raw: string | undefined, scheme: 'http' | 'https') => namesOwnHost(raw, scheme, site)
  assert(
    names('shop.example', 'https') && names('shop.example:443', 'https') && names('shop.example:80', 'http'),
  )
  for (const other of [
    undefined,
    '',
    'shop.example:80',
    'other.example',
    'a.shop.example',
    'shop.example, other.example',
  ]) {
    assert.equal(names(other, 'https'), false, other)
  }
})

it('writes a Host header without the scheme’s own port', () => {
  const authority = (url: string) => readSite('a', url).origin.authority
  assert.equal(authority('https://a.example:443'), 'a.example')
  assert.equal(authority('http://a.example:443'), 'a.example:443')
  assert.equal(authority('http://[2606:4700::1111]:81'), '[2606:4700::1111]:81')
})

function short(target: ReturnType<typeof connectTarget>): string {
  if (target.kind === 'refused') return target.why
  return target.kind === 'own' ? `own ${target.scheme}` : 'other'
}
