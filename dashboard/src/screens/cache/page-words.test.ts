import assert from 'node:assert/strict'
import { it } from 'node:test'

import { size } from './page-words.ts'

it('sizes are short and have a unit', () => {
  const cases: [number, string][] = [
    [0, '0 bytes'],
    [999, '999 bytes'],
    [1_000, '1.0 kB'],
    [34_240, '34.2 kB'],
    [231_000, '231 kB'],
    [1_500_000, '1.5 MB'],
    [5_000_000_000_000, '5000 GB'],
  ]
  for (const [bytes, words] of cases) assert.equal(size(bytes), words)
})
