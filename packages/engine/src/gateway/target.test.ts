import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readSite } from './target.ts'

it('a site is read from a checked origin URL, and from no other', () => {
  const site = readSite('Shop.Example', 'https://www.origin.example:8443')
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
