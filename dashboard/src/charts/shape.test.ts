import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  added,
  areaPath,
  decades,
  labelled,
  lengthOf,
  linePath,
  stacked,
  ticksTo,
  withRest,
} from './shape.ts'

const layer = (values: (number | null)[]) => ({ name: '', values, colour: 0, whole: '' })
const named = (name: string, ...visits: number[]) => ({
  name,
  visits,
  total: visits.reduce((sum, each) => sum + each, 0),
})

describe('the lines of a grid', () => {
  it('are at round numbers and end just above the highest value', () => {
    assert.deepEqual(ticksTo(0), [0, 1])
    assert.deepEqual(ticksTo(1), [0, 1])
    assert.deepEqual(ticksTo(3), [0, 1, 2, 3])
    assert.deepEqual(ticksTo(100), [0, 25, 50, 75, 100])
    assert.deepEqual(ticksTo(1, false), [0, 0.25, 0.5, 0.75, 1])
    assert.deepEqual(ticksTo(0.2), [0, 1])
    for (const most of [1, 2, 7, 9, 13, 99, 101, 1_234, 87_000]) {
      const ticks = ticksTo(most)
      const top = ticks.at(-1)!
      assert(top >= most && top <= most * 2.01, `${most}: ${ticks}`)
      assert(ticks.length >= 2 && ticks.length <= 7, `${most}: ${ticks}`)
    }
  })

  it('of a logarithmic scale are powers of ten around all values', () => {
    assert.deepEqual(decades([0.07, 900]), [0.01, 0.1, 1, 10, 100, 1_000])
    assert.deepEqual(decades([10]), [10, 100])
    assert.deepEqual(decades([0, -1]), [1, 10])
    assert.deepEqual(decades([]), [1, 10])
  })
})

describe('layers and lines', () => {
  it('each layer starts where the one below ends; no value counts as 0', () => {
    assert.deepEqual(stacked([layer([1, null, 3]), layer([2, 2, 0])]), [
      { low: [0, 0, 0], high: [1, 0, 3] },
      { low: [1, 0, 3], high: [3, 2, 3] },
    ])
  })

  it('a line is interrupted without a value, and a single point is visible', () => {
    assert.equal(
      linePath([[0, 1], [1, 2.06], null, [3, 3], null, null, [6, 1], [7, 1]]),
      'M0 1L1 2.1M3 3h0.01M6 1L7 1',
    )
    assert.equal(linePath([null, null]), '')
  })

  it('an area is outlined along its top and its bottom', () => {
    assert.equal(areaPath([0, 10], [5, 5], [1, 2]), 'M0 1L10 2L10 5L0 5Z')
  })
})

describe('series', () => {
  const all = [named('a', 5, 1), named('b', 3, 0), named('c', 1, 1), named('d', 0, 1)]

  it('series beyond the number of colours are added up', () => {
    assert.deepEqual(withRest(all, 4, 'rest'), all)
    assert.deepEqual(withRest(all, 3, 'rest'), [all[0], all[1], { name: 'rest', visits: [1, 2], total: 3 }])
    assert.deepEqual(added('all', []), { name: 'all', visits: [], total: 0 })
  })

  it('labels are few, even, and at the end', () => {
    const places = (count: number) => Array.from({ length: count }, (_, at) => at)
    assert.deepEqual(labelled(places(24), 6), [3, 7, 11, 15, 19, 23])
    assert.deepEqual(labelled([5, 29, 53], 6), [5, 29, 53])
    assert.deepEqual(labelled([], 6), [])
    assert.deepEqual(labelled(places(5), 0), [4])
  })

  it('ends with the last value', () => {
    assert.deepEqual([[1, null, 2, null], [null], []].map(lengthOf), [3, 0, 0])
  })
})
