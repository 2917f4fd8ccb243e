import assert from 'node:assert/strict'
import { it } from 'node:test'

import { rowWindow, scrollTo } from './windowed-rows.ts'

const list = { rows: 50_000, rowHeight: 40, height: 600 }

it('draws only the rows in sight, at any scroll position', () => {
  for (const scrolled of [0, 1, 39, 40, 1_000_003, 50_000 * 40 - 600]) {
    const { start, end } = rowWindow({ ...list, scrolled })
    assert(start * 40 <= scrolled && end * 40 >= Math.min(scrolled + 600, 50_000 * 40), `${scrolled}`)
    assert(end - start <= 600 / 40 + 1 + 2 * 8, `${scrolled}: ${end - start}`)
    assert(start >= 0 && end <= 50_000)
  }
})

it('handles a list shorter than the scroll position, and an empty list', () => {
  const { start, end } = rowWindow({ ...list, rows: 3, scrolled: 100_000 })
  assert(start >= 0 && start < 3 && end === 3)
  assert.deepEqual(rowWindow({ ...list, rows: 0, scrolled: 0 }), { start: 0, end: 0 })
  assert.equal(rowWindow({ ...list, scrolled: -50 }).start, 0)
})

it('scrolls only as far as needed', () => {
  const sight = { rowHeight: 40, height: 600, scrolled: 400 }
  assert.equal(scrollTo(10, sight), 400)
  assert.equal(scrollTo(24, sight), 400)
  assert.equal(scrollTo(25, sight), 440)
  assert.equal(scrollTo(9, sight), 360)
})
