import assert from 'node:assert/strict'
import { it } from 'node:test'
import { type MemorySample, trendOf } from '../../bench/memory-trend.ts'

const MIB = 2 ** 20
const samples = (bytesAt: (n: number) => number): MemorySample[] =>
  Array.from({ length: 90 }, (_, n) => ({ atMs: n * 1_000, bytes: bytesAt(n) * MIB }))
/** Up and down by a hundred, as browsers come and go. */
const sawtooth = (n: number) => (n % 10) * 10

it('memory is flat however it goes up and down, and however it grew at first', () => {
  const trend = trendOf(samples((n) => (n < 30 ? n * 20 : 600) + sawtooth(n)))
  assert.equal(trend.isFlat, true)
  assert(Math.abs(trend.growthBytes) < 30 * MIB, String(trend.growthBytes / MIB))
})

it('memory is not flat that grows by more than a seventh of itself', () => {
  const grows = (by: number) => trendOf(samples((n) => 600 + (by * Math.max(0, n - 30)) / 59 + sawtooth(n)))
  assert.equal(grows(80).isFlat, true)
  assert.equal(grows(150).isFlat, false)
})
