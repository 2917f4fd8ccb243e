import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { endOfStepMs, quantileMs, roundedMs, stepOf, TIME_STEPS } from './time-range.ts'

describe('steps of time', () => {
  it('each duration is in the step that ends at or after it, and not in the one before', () => {
    for (const ms of [0.05, 0.0625, 0.07, 0.1, 1, 1.5, 33, 250, 10_000, 90_000]) {
      const step = stepOf(ms / 1_000)
      assert(endOfStepMs(step) >= ms * 0.999999, `${ms} ms is in step ${step}`)
      assert(step === 0 || endOfStepMs(step - 1) < ms * 1.000001, `${ms} ms is past step ${step - 1}`)
    }
  })

  it('what is longer than all steps is in the last, what is no time in the first', () => {
    assert.equal(stepOf(1e9), TIME_STEPS - 1)
    assert.equal(stepOf(Number.POSITIVE_INFINITY), TIME_STEPS - 1)
    for (const seconds of [0, -1, Number.NaN]) assert.equal(stepOf(seconds), 0)
  })
})

describe('quantiles', () => {
  const timesOf = (allMs: readonly number[]) => {
    const times = new Array<number>(TIME_STEPS).fill(0)
    for (const ms of allMs) times[stepOf(ms / 1_000)]! += 1
    return times
  }

  it('of nothing there is none', () => {
    assert.equal(quantileMs([], 0.5), null)
    assert.equal(quantileMs([0, 0], 0.5), null)
  })

  it('are right to within a fifth, also of counts that were added up', () => {
    const all = Array.from({ length: 1_000 }, (_, at) => 0.1 * 1.01 ** at)
    const [even, odd] = [0, 1].map((rest) => timesOf(all.filter((_, at) => at % 2 === rest)))
    const added = even!.map((count, step) => count + odd![step]!)
    for (const share of [0.05, 0.5, 0.95, 0.99]) {
      const exact = all[Math.floor(share * all.length)]!
      const found = quantileMs(added, share)!
      assert(Math.abs(found / exact - 1) < 0.2, `${share}: ${found} for ${exact}`)
    }
  })

  it('of one duration are that one', () => {
    const times = timesOf([20])
    for (const share of [0.5, 0.95]) assert(Math.abs(quantileMs(times, share)! / 20 - 1) < 0.42)
  })

  it('are told with three digits', () => {
    assert.deepEqual([12.3456, 0.071_23, 1_234, null].map(roundedMs), [12.3, 0.0712, 1230, null])
  })
})
