import assert from 'node:assert/strict'
import { it } from 'node:test'

import { startsOf, timeRange } from '../../../src/insight/traffic/time-range.ts'
import { RANGES, rangeNamed, rangeParams } from './traffic-queries.ts'

it('each range has as many steps as it says, at the server too, at any moment of an hour or day', () => {
  for (const now of ['2026-11-15T12:30:00Z', '2026-11-15T00:00:00.000Z', '2026-11-15T23:59:59.999Z']) {
    const nowMs = Date.parse(now)
    for (const range of RANGES) {
      const found = timeRange(Object.fromEntries(new URLSearchParams(rangeParams(range, nowMs))), nowMs)
      assert('range' in found, `${range.name} at ${now}: ${JSON.stringify(found)}`)
      // In the first moment of a step, the one that ends with it is the last that the server has.
      const count = startsOf(found.range).length
      assert(count === range.steps || (now.endsWith('00:00.000Z') && count === range.steps - 1), `${count}`)
    }
  }
})

it('the default range is used for unknown names', () => {
  assert.equal(rangeNamed('30d').label, '30 days')
  for (const name of [null, '', 'x', '1000d']) assert.equal(rangeNamed(name).name, '24h')
})
