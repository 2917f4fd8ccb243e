import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { HeavyHitters } from './visit-counts.ts'

const total = (hitters: HeavyHitters) =>
  hitters.others + [...hitters.paths.values()].reduce((sum, { visits }) => sum + visits, 0)

describe('heavy hitters', () => {
  it('a path that comes often only later gets a place, and keeps it', () => {
    const hitters = new HeavyHitters(3, { left: 9 })
    for (const path of ['/a', '/b', '/c', '/a', '/b', '/c']) hitters.add(path, 'hit', 200)
    for (let round = 0; round < 100; round++) {
      hitters.add('/new', 'hit', 200)
      hitters.add(`/invented-${round}`, 'hit', 200)
    }
    assert((hitters.paths.get('/new')?.visits ?? 0) > 95)
    assert.equal(total(hitters), 206)
  })

  it('without room, shared with others, there are no new places; one that has places gives them on', () => {
    const room = { left: 1 }
    const [one, two] = [new HeavyHitters(10, room), new HeavyHitters(10, room)]
    one.add('/a', 'hit', 200)
    two.add('/b', 'hit', 200)
    one.add('/c', 'hit', 200)
    assert.deepEqual([...one.paths.keys()], ['/c'])
    assert.deepEqual([...two.paths.keys()], [])
    assert.deepEqual([one.others, two.others, room.left], [1, 1, 0])
  })
})
