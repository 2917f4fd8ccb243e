import assert from 'node:assert/strict'
import { it } from 'node:test'

import { utcMonth } from './clock.ts'

it('a month ends with its last millisecond, in UTC', () => {
  assert.equal(utcMonth(Date.parse('2026-01-31T23:59:59.999Z')), '2026-01-01')
  assert.equal(utcMonth(Date.parse('2026-02-01T00:00:00.000Z')), '2026-02-01')
  assert.equal(utcMonth(Date.parse('2026-02-01T00:30:00+02:00')), '2026-01-01')
})
