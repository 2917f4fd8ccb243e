import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { judge } from '../bench/compare-judge.ts'

const pairsOf = (...now: number[]) => now.map((each) => ({ before: 1_000, now: each }))

describe('comparing two versions', () => {
  it('5 % more in the median of the turns is not worse', () => {
    assert.deepEqual(judge(pairsOf(1_050, 1_050, 1_050)), {
      ratio: 1.05,
      least: 1.05,
      most: 1.05,
      isWorse: false,
    })
  })

  it('0.1 % beyond 5 % is worse', () => {
    assert.equal(judge(pairsOf(1_051, 1_051, 1_051)).isWorse, true)
  })

  it('one bad turn of three does not count, and is shown as the most', () => {
    assert.deepEqual(judge(pairsOf(1_000, 1_000, 2_000)), { ratio: 1, least: 1, most: 2, isWorse: false })
  })

  it('two bad turns of three count', () => {
    assert.equal(judge(pairsOf(1_000, 2_000, 2_000)).isWorse, true)
  })

  it('a load that makes both versions of a turn slower changes nothing', () => {
    const pairs = [
      { before: 1_000, now: 1_000 },
      { before: 9_000, now: 9_000 },
    ]
    assert.deepEqual(judge(pairs), { ratio: 1, least: 1, most: 1, isWorse: false })
  })

  it('without a turn there is no judgement', () => {
    assert.throws(() => judge([]), /Nothing was measured/)
  })
})
