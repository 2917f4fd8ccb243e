import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { readSite, requestTarget, type Target } from './target.ts'

const site = readSite('Shop.Example', 'https://www.origin.example:8443')

it('a site is read from a checked origin URL, and from no other', () => {
  assert.deepEqual([site.name, site.origin.authority], ['shop.example', 'www.origin.example:8443'])
  // The Host header is without the scheme's own port.
  for (const [url, written, port] of [
    ['https://a.example:443', 'a.example', 443],
    ['http://a.example:443', 'a.example:443', 443],
    ['http://[2606:4700::1111]:81', '[2606:4700::1111]:81', 81],
  ] as const) {
    const { origin } = readSite('a', url)
    assert.deepEqual([origin.authority, origin.port], [written, port])
  }
  const WRONG = ' b.example ftp://b.example http:// http://b.example/ http://u@b.example http://127.1'
  for (const wrong of WRONG.split(' ')) assert.throws(() => readSite('a', wrong), wrong)
})

describe('a whole request', () => {
  const CASES: [raw: string, target: string, path: string][] = [
    ['http://shop.example/a?b=%20', 'own http', '/a?b=%20'],
    ['http://shop.example:80', 'own http', '/'],
    ['http://shop.example?x', 'own http', '/?x'],
    ['HTTP://other.example:443/a//b/../c', 'other', '/a//b/../c'],
    ['http://www.origin.example:8443/', 'other', '/'],
    ['http://other.example/a#b', 'malformed', ''],
    ['http://other.example:8443/', 'port', '/'],
    ['http://shop.example:8443/', 'port', '/'],
    ['https://other.example/', 'scheme', ''],
    ['http://user@other.example/', 'malformed', ''],
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

function short(target: Target): string {
  if (target.kind === 'refused') return target.why
  return target.kind === 'own' ? `own ${target.scheme}` : 'other'
}
