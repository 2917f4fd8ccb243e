import assert from 'node:assert/strict'
import { it } from 'node:test'

import { browserCacheControl } from './own-domain.ts'

const cases: [destination: string | undefined, cacheControl: string | undefined, kept: string | undefined][] =
  [
    ['document', 'max-age=3600', 'no-store'],
    ['document', undefined, 'no-store'],
    ['iframe', 'max-age=3600', 'no-store'],
    ['empty', 'public, max-age=60', 'no-store'],
    [undefined, 'max-age=3600', 'no-store'],
    ['script', 'public, max-age=3600', 'public, max-age=3600'],
    ['script', 'no-store', 'no-store'],
    ['style', 'immutable', 'immutable'],
    ['script', 'public', 'no-cache'],
    ['style', undefined, 'no-cache'],
  ]

for (const [destination, cacheControl, kept] of cases) {
  it(`${destination} with "${cacheControl}" is kept as "${kept}"`, () => {
    assert.equal(browserCacheControl(destination, { cacheControl, expires: undefined }), kept)
  })
}

it('a date of expiry is as good as an age', () => {
  const expires = 'Thu, 01 Jan 2032 00:00:00 GMT'
  assert.equal(browserCacheControl('script', { cacheControl: undefined, expires }), undefined)
})
