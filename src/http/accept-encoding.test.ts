import assert from 'node:assert/strict'
import { it } from 'node:test'

import { chooseEncoding, createEncodingChoice, type Encoding } from './accept-encoding.ts'

it('Accept-Encoding chooses the encoding, read or remembered', () => {
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
    ['br;q=2, gzip;q=0.1', 'gzip'],
    ['br ; q=0.9 , gzip ; q=1', 'gzip'],
  ]
  const remembered = createEncodingChoice()
  for (const [header, encoding] of cases) {
    const chosen = [chooseEncoding(header), remembered(header), remembered(header)]
    assert.deepEqual(chosen, Array(3).fill(encoding), header)
  }
})
