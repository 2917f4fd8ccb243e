import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RecentMap } from './recent-map.ts'

const keys = (map: RecentMap<unknown>) => map.entries().map(([key]) => key)

describe('recent map', () => {
  it('removes the entry that was set longest ago, past its limit', () => {
    const map = new RecentMap<number>({ limit: 3 })
    for (const [at, key] of ['a', 'b', 'c'].entries()) map.set(key, at)
    assert.deepEqual(keys(map), ['a', 'b', 'c'])
    map.set('d', 3)
    assert.deepEqual(keys(map), ['b', 'c', 'd'])
    assert.deepEqual([map.get('a'), map.get('b'), map.size, map.weight], [undefined, 1, 3, 3])
  })

  it('keeps an entry that was read for another turn; peeking does not count', () => {
    const map = new RecentMap<number>({ limit: 3 })
    for (const key of ['a', 'b', 'c']) map.set(key, 0)
    map.get('a')
    map.peek('b')
    map.set('d', 0)
    assert.deepEqual(keys(map).toSorted(), ['a', 'c', 'd'])
    // Its turn is over unless it is asked for again.
    map.set('e', 0)
    map.set('f', 0)
    assert.equal(map.peek('a'), undefined)
  })

  it('weighs entries when they are set, and again when they are set again', () => {
    const gone: string[] = []
    const map = new RecentMap<number>({ limit: 10, weigh: (value) => value, gone: (key) => gone.push(key) })
    map.set('a', 4)
    map.set('b', 6)
    assert.deepEqual([map.weight, gone], [10, []])
    map.set('b', 5)
    assert.deepEqual([map.weight, gone], [9, []])
    map.set('c', 2)
    assert.deepEqual([map.weight, keys(map), gone], [7, ['b', 'c'], ['a']])
    map.set('b', 8)
    assert.deepEqual([map.weight, keys(map)], [10, ['c', 'b']])
  })

  it('keeps no entry that is heavier than the limit, and removes the entry of that key', () => {
    const gone: string[] = []
    const map = new RecentMap<number>({ limit: 10, weigh: (value) => value, gone: (key) => gone.push(key) })
    map.set('a', 10)
    map.set('b', 11)
    assert.deepEqual([keys(map), gone], [['a'], []])
    map.set('a', 11)
    assert.deepEqual([keys(map), map.weight, gone], [[], 0, ['a']])
  })
})
