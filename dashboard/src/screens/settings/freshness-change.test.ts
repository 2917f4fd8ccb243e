import assert from 'node:assert/strict'
import { it } from 'node:test'
import { freshnessChanges } from './freshness-change.ts'

const SITE = { fresh_seconds: 86_400, stale_seconds: 604_800, keep_seconds: 2_592_000 }

it('a rule changes the freshness that it sets, and the rest is as on the site', () => {
  assert.deepEqual(freshnessChanges(undefined, { fresh_seconds: 3_600 }, SITE), ['Fresh for 24 h → 1 h'])
  assert.deepEqual(freshnessChanges({ fresh_seconds: 600, keep_seconds: 86_400 }, undefined, SITE), [
    'Fresh for 10 min → 24 h',
    'Kept for 24 h → 30 days',
  ])
})

it('nothing changes where a rule sets what is so already', () => {
  assert.deepEqual(freshnessChanges(undefined, undefined, SITE), [])
  assert.deepEqual(freshnessChanges(undefined, { fresh_seconds: 86_400 }, SITE), [])
  assert.deepEqual(freshnessChanges({ stale_seconds: 0 }, { stale_seconds: 0 }, SITE), [])
})
