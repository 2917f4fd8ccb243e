import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { HeavyHitters } from './visit-counts.ts'

const total = (hitters: HeavyHitters) =>
  hitters.others + [...hitters.paths.values()].reduce((sum, { visits }) => sum + visits, 0)

describe('heavy hitters', () => {
  it('within the bound, every path is counted exactly, with its newest verdict and status', () => {
    const hitters = new HeavyHitters(2, { left: 9 })
    hitters.add('/a', 'rendered', 200)
    hitters.add('/b', 'hit', 200, 'markdown')
    hitters.add('/a', 'pass; late', 404)
    assert.deepEqual(Object.fromEntries(hitters.paths), {
      '/a': { visits: 2, markdown: 0, cards: 0, verdict: 'pass; late', status: 404, floor: 0 },
      '/b': { visits: 1, markdown: 1, cards: 0, verdict: 'hit', status: 200, floor: 0 },
    })
    assert.equal(hitters.others, 0)
  })

  it('whoever asks for ever new paths makes no more entries, and drives out none that is asked for often', () => {
    const hitters = new HeavyHitters(10, { left: 1_000 })
    let asked = 0
    for (let round = 0; round < 2_000; round++) {
      for (const path of [`/invented-${round}`, '/often', `/more-${round}`, '/often-too']) {
        hitters.add(path, 'hit', 200)
        asked++
      }
    }
    assert.equal(hitters.paths.size, 10)
    assert.equal(hitters.paths.get('/often')?.visits, 2_000)
    assert.equal(hitters.paths.get('/often-too')?.visits, 2_000)
    assert.equal(total(hitters), asked, 'nothing is lost, and nothing counted twice')
  })

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
