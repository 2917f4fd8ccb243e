import assert from 'node:assert/strict'
import { it } from 'node:test'

import { between, chosenCount, isChosen, NOTHING_CHOSEN, withChosen } from './selection.ts'

const LOADED = ['/a', '/b', '/c']

it('some are chosen one by one, and no longer', () => {
  const two = withChosen(NOTHING_CHOSEN, ['/a', '/b', '/a'], true, LOADED)
  assert.equal(chosenCount(two, 50_000), 2)
  const one = withChosen(two, ['/a', '/never'], false, LOADED)
  assert.deepEqual([isChosen(one, '/a'), isChosen(one, '/b')], [false, true])
  assert.equal(chosenCount(NOTHING_CHOSEN, 5), 0, 'and what there was is as it was')
})

it('all that match are as many as match, loaded or not', () => {
  const all = { kind: 'matching' } as const
  assert.equal(chosenCount(all, 50_000), 50_000)
  assert(isChosen(all, '/not-loaded'))
})

it('whoever takes one away from all that match keeps those he can see', () => {
  const left = withChosen({ kind: 'matching' }, ['/b'], false, LOADED)
  assert.deepEqual(left, { kind: 'some', paths: new Set(['/a', '/c']) })
})

it('a range is the same from both ends', () => {
  assert.deepEqual(between(LOADED, 0, 1), ['/a', '/b'])
  assert.deepEqual(between(LOADED, 2, 1), ['/b', '/c'])
})
