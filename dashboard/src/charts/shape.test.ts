import assert from 'node:assert/strict'
import { it } from 'node:test'
import { decades, dotsOf, linePath, stacked, ticksTo, withRest } from './shape.ts'

const layer = (values: (number | null)[]) => ({ name: '', values, colour: 0, whole: '' })
const named = (name: string, first: number, second: number) => ({
  name,
  visits: [first, second],
  total: first + second,
})

it('the lines of a grid are at round numbers, or powers of ten, and end just above the highest value', () => {
  assert.deepEqual(
    [0, 1, 3, 100].map((most) => ticksTo(most).join()),
    ['0,1', '0,1', '0,1,2,3', '0,25,50,75,100'],
  )
  for (const most of [7, 13, 101, 87_000]) {
    const ticks = ticksTo(most)
    assert(ticks.at(-1)! >= most && ticks.at(-1)! <= most * 2 && ticks.length <= 7, `${most}: ${ticks}`)
  }
  assert.deepEqual(decades([0.07, 900]), [0.01, 0.1, 1, 10, 100, 1_000])
})

it('each layer starts where the one below ends, and a missing value counts as 0', () => {
  assert.deepEqual(stacked([layer([1, null, 3]), layer([2, 2, 0])]), [
    { low: [0, 0, 0], high: [1, 0, 3] },
    { low: [1, 0, 3], high: [3, 2, 3] },
  ])
})

it('a line is interrupted where a value is missing, and a single point is visible', () => {
  const line = linePath([[0, 1], [1, 2.06], null, [3, 3], null, null, [6, 1], [7, 1]])
  assert.equal(line, 'M0 1L1 2.1M3 3h0.01M6 1L7 1')
})

it('fewer than 12 values are dots, but for a dashed line', () => {
  const eleven = [null, ...Array.from({ length: 11 }, (_, at) => at), null]
  assert.deepEqual(
    dotsOf(layer(eleven)),
    Array.from({ length: 11 }, (_, at) => at + 1),
  )
  assert.equal(dotsOf(layer([...eleven, 1])), null)
  assert.equal(dotsOf({ ...layer([1, 2]), isDashed: true }), null)
})

it('series beyond the number of colours are added up as one', () => {
  const all = [named('a', 5, 1), named('b', 3, 0), named('c', 1, 1), named('d', 0, 1)]
  assert.deepEqual(withRest(all, 4, 'rest'), all)
  assert.deepEqual(withRest(all, 3, 'rest'), [all[0], all[1], { name: 'rest', visits: [1, 2], total: 3 }])
})
