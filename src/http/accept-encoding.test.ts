import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { chooseEncoding, createEncodingChoice, type Encoding } from './accept-encoding.ts'

describe('Accept-Encoding', () => {
  const cases: [header: string | undefined, encoding: Encoding][] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip, deflate, br', 'br'],
    ['x-gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['gzip;q=0.2, identity;q=0.5', 'identity'],
    ['*', 'br'],
    ['*;q=0.5, br;q=0.1', 'gzip'],
    ['*;q=0, gzip', 'gzip'],
    ['identity;q=0', 'identity'],
    ['deflate, zstd', 'identity'],
    ['br;q=2, gzip;q=0.1', 'gzip'],
    ['br ; q=0.9 , gzip ; q=1', 'gzip'],
  ]
  const remembered = createEncodingChoice()
  for (const [header, encoding] of cases) {
    it(`${header ?? 'none'} -> ${encoding}`, () => {
      assert.equal(chooseEncoding(header), encoding)
      assert.deepEqual([remembered(header), remembered(header)], [encoding, encoding])
    })
  }
})
