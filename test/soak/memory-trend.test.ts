import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { type MemorySample, sampleMemory, trendOf } from './memory-trend.ts'

const MIB = 2 ** 20
const samples = (bytesAt: (n: number) => number): MemorySample[] =>
  Array.from({ length: 90 }, (_, n) => ({ atMs: n * 1_000, bytes: bytesAt(n) * MIB }))
/** Up and down by a hundred, as browsers come and go. */
const sawtooth = (n: number) => (n % 10) * 10

describe('memory is flat', () => {
  it('however it goes up and down, and however it grew at first', () => {
    const trend = trendOf(samples((n) => (n < 30 ? n * 20 : 600) + sawtooth(n)))
    assert.equal(trend.isFlat, true)
    assert(Math.abs(trend.growthBytes) < 30 * MIB, String(trend.growthBytes / MIB))
  })

  it('is not what grows by more than a seventh of itself', () => {
    const grows = (by: number) => trendOf(samples((n) => 600 + (by * Math.max(0, n - 30)) / 59 + sawtooth(n)))
    assert.equal(grows(80).isFlat, true)
    assert.equal(grows(150).isFlat, false)
  })

  it('is judged of few samples too', () => {
    assert.equal(trendOf([]).isFlat, true)
    assert.equal(trendOf(samples(() => 1).slice(0, 1)).isFlat, true)
  })
})

it('what a process holds is seen', () => {
  assert(sampleMemory([process.pid], 5).bytes > 10 * MIB)
  assert.equal(sampleMemory([process.pid], 5).atMs, 5)
})
