import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CacheMarks } from './cache-marks.ts'

function newMarks(isConnected: boolean) {
  const state = { isConnected }
  const marks = new CacheMarks(() => state.isConnected)
  /** The stamp of a value during whose read `meanwhile` happened. */
  const read = (meanwhile = () => {}) => {
    const began = marks.begin()
    meanwhile()
    return marks.stamp(began)
  }
  return { marks, state, read }
}

describe('an entry of a cache', () => {
  it('has no mark if it was read while notifications arrived, also after other notifications', () => {
    const { marks, read } = newMarks(true)
    const stamp = read()!
    marks.notified()
    assert.equal(marks.isMarked(stamp), false)
  })

  it('is marked by a loss, and stays so when notifications arrive again', () => {
    const { marks, state, read } = newMarks(true)
    const stamp = read()!
    state.isConnected = false
    marks.lost()
    assert.equal(marks.isMarked(stamp), true)
    state.isConnected = true
    marks.lost()
    assert.equal(marks.isMarked(stamp), true)
    assert.equal(marks.isMarked(read()!), false)
  })

  it('is marked if it was read without notifications, or if they were lost meanwhile', () => {
    const { marks, state, read } = newMarks(false)
    const before = read(() => {
      state.isConnected = true
      marks.lost()
    })
    assert.equal(marks.isMarked(before!), true)
    assert.equal(marks.isMarked(read(() => marks.lost())!), true)
  })

  it('is not kept if a notification came while it was read', () => {
    const { marks, read } = newMarks(true)
    assert.equal(
      read(() => marks.notified()),
      null,
    )
  })
})

describe('a read that is under way', () => {
  it('is shared until a notification or a loss', () => {
    const { marks } = newMarks(true)
    const began = marks.begin()
    assert.equal(marks.isCurrent(began), true)
    marks.notified()
    assert.equal(marks.isCurrent(began), false)
    const again = marks.begin()
    marks.lost()
    assert.equal(marks.isCurrent(again), false)
  })
})
