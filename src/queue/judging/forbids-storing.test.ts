import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { forbidsStoring } from './effect.ts'

describe('an origin forbids to store', () => {
  const rows: [value: string, forbids: boolean][] = [
    ['no-store', true],
    ['No-Store', true],
    ['private', true],
    ['max-age=0, no-cache,no-store ', true],
    ['private, max-age=600', true],
    ['no-cache', false],
    ['max-age=0, must-revalidate', false],
    ['public, max-age=600', false],
    ['private="set-cookie"', false],
    ['x="a, no-store, b"', false],
    ['x="\\", private, \\""', false],
    ['no-storey, un-private', false],
    ['', false],
    [',,', false],
    ['"', false],
  ]
  for (const [value, forbids] of rows) {
    it(`${forbids ? 'with' : 'not with'} ${value || 'nothing'}`, () =>
      assert.equal(forbidsStoring([['Cache-Control', value]]), forbids))
  }

  it('in any of its headers, and in no other', () => {
    assert.equal(
      forbidsStoring([
        ['cache-control', 'max-age=1'],
        ['cache-control', 'no-store'],
      ]),
      true,
    )
    assert.equal(forbidsStoring([['pragma', 'no-store']]), false)
  })

  it('and is read in no time, whatever it says', () => {
    assert.equal(forbidsStoring([['cache-control', `${'"\\'.repeat(50_000)}`]]), false)
  })
})
