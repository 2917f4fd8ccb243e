import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemoryRate } from './memory-rate.ts'

function newRate(subjects = 10) {
  const clock = { atMs: 1_000, nowMs: () => clock.atMs }
  return { clock, rate: new MemoryRate(clock, { most: 3, withinMs: 60_000, subjects }) }
}

describe('a rate in memory', () => {
  it('is used up at its limit, and not one use before', () => {
    const { rate } = newRate()
    for (let n = 0; n < 3; n++) {
      assert.equal(rate.waitMs('a'), null)
      rate.count('a')
    }
    assert.equal(rate.waitMs('a'), 60_000)
    assert.equal(rate.waitMs('b'), null)
  })

  it('begins anew a minute after the first use, and uses beyond the limit do not extend that', () => {
    const { rate, clock } = newRate()
    for (let n = 0; n < 5; n++) rate.count('a')
    clock.atMs += 59_999
    rate.count('a')
    assert.equal(rate.waitMs('a'), 1)
    clock.atMs += 1
    assert.equal(rate.waitMs('a'), null)
    rate.count('a')
    assert.equal(rate.waitMs('a'), null)
  })

  it('a use that is given back may be taken again, in the same window', () => {
    const { rate, clock } = newRate()
    for (let n = 0; n < 3; n++) rate.count('a')
    rate.giveBack('a')
    assert.equal(rate.waitMs('a'), null)
    clock.atMs += 1_000
    rate.count('a')
    assert.equal(rate.waitMs('a'), 59_000)
    rate.giveBack('b')
    for (let n = 0; n < 3; n++) rate.count('b')
    assert.equal(rate.waitMs('b'), 60_000)
  })

  it('remembers as many subjects as it may', () => {
    const { rate } = newRate(2)
    for (const subject of ['a', 'b', 'c']) for (let n = 0; n < 3; n++) rate.count(subject)
    assert.deepEqual(
      ['a', 'b', 'c'].map((subject) => rate.waitMs(subject)),
      [null, 60_000, 60_000],
    )
  })
})
