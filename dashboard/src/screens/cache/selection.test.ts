import assert from 'node:assert/strict'
import { it } from 'node:test'

import { between, isSelected, NONE_SELECTED, selectedCount, withSelected } from './selection.ts'

const LOADED = ['/a', '/b', '/c']

it('selects and deselects pages one by one', () => {
  const two = withSelected(NONE_SELECTED, ['/a', '/b', '/a'], true, LOADED)
  assert.equal(selectedCount(two, 50_000), 2)
  const one = withSelected(two, ['/a', '/never'], false, LOADED)
  assert.deepEqual([isSelected(one, '/a'), isSelected(one, '/b')], [false, true])
  assert.equal(selectedCount(NONE_SELECTED, 5), 0, 'the first selection is unchanged')
})

it('all matching pages are selected, loaded or not', () => {
  const all = { kind: 'matching' } as const
  assert.equal(selectedCount(all, 50_000), 50_000)
  assert(isSelected(all, '/not-loaded'))
})

it('deselecting one of all matching pages keeps the other loaded ones', () => {
  const left = withSelected({ kind: 'matching' }, ['/b'], false, LOADED)
  assert.deepEqual(left, { kind: 'some', paths: new Set(['/a', '/c']) })
})

it('a range is the same in both directions', () => {
  assert.deepEqual(between(LOADED, 0, 1), ['/a', '/b'])
  assert.deepEqual(between(LOADED, 2, 1), ['/b', '/c'])
})
