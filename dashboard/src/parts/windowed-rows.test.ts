import assert from 'node:assert/strict'
import { it } from 'node:test'
import { rowWindow, scrollTo } from './windowed-rows.ts'

const list = { rows: 50_000, rowHeight: 40, height: 600 }

it('draws only the rows in sight, at any scroll position, of short and empty lists too', () => {
  for (const scrolled of [0, 39, 1_000_003, 50_000 * 40 - 600]) {
    const { start, end } = rowWindow({ ...list, scrolled })
    assert(start * 40 <= scrolled && end * 40 >= scrolled + 600, `${scrolled}`)
    assert(start >= 0 && end <= 50_000 && end - start <= 600 / 40 + 1 + 2 * 8, `${scrolled}: ${end - start}`)
  }
  const short = rowWindow({ ...list, rows: 3, scrolled: 100_000 })
  assert(short.start >= 0 && short.start < 3 && short.end === 3)
  assert.deepEqual(rowWindow({ ...list, rows: 0, scrolled: 0 }), { start: 0, end: 0 })
  assert.equal(rowWindow({ ...list, scrolled: -50 }).start, 0)
})

it('scrolls only as far as needed', () => {
  const sight = { rowHeight: 40, height: 600, scrolled: 400 }
  assert.deepEqual(
    [10, 24, 25, 9].map((row) => scrollTo(row, sight)),
    [400, 400, 440, 360],
  )
})
