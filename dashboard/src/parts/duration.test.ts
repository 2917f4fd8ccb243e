import assert from 'node:assert/strict'
import { it } from 'node:test'

import { bytes, duration } from './duration.ts'

it('times in the unit that people would take', () => {
  assert.deepEqual([0, 0.44, 9.96, 12.4, 119, 120, 7_199, 7_200, 172_800].map(duration), [
    '0 s',
    '0.4 s',
    '10 s',
    '12 s',
    '119 s',
    '2 min',
    '120 min',
    '2 h',
    '2 days',
  ])
})

it('sizes, too', () => {
  assert.deepEqual([0, 1, 1_023, 1_024, 1_536, 512 * 1024 ** 2, 1.5 * 1024 ** 3, 2 ** 60].map(bytes), [
    '0 B',
    '1 B',
    '1023 B',
    '1.0 KiB',
    '1.5 KiB',
    '512 MiB',
    '1.5 GiB',
    '1048576 TiB',
  ])
})
