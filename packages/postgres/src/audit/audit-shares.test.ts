import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AuditShares } from './audit-shares.ts'

const MOST = 3
const DAY_MS = 86_400_000

function openShares() {
  const clock = { atMs: 0, nowMs: () => clock.atMs }
  const shares = new AuditShares(clock)
  /** Returns what the entry says was left out before it, or null if it is left out itself. */
  const add = (subject = 'domain.changed 1') => {
    const leftOut = shares.leftOutBefore({ subject, most: MOST })
    shares.count({ subject, most: MOST }, { isWritten: leftOut !== null })
    return leftOut
  }
  return { clock, add, shares }
}

describe('the share of a subject in the audit log', () => {
  it('is used up by as many entries as it has; beyond it fewer and fewer are written, and each says how many are missing', () => {
    const { add } = openShares()
    const added = Array.from({ length: MOST + 8 }, () => add())
    assert.deepEqual(added, [0, 0, 0, null, 1, null, 1, null, null, null, 3])
  })

  it('is the same for each subject, whatever another one has used', () => {
    const { add } = openShares()
    for (let entry = 0; entry < 100; entry++) add()
    assert.equal(add('domain.changed 2'), 0)
  })

  it('begins anew after a day, with an entry that says how many the day before has left out', () => {
    const { add, clock } = openShares()
    const added = Array.from({ length: MOST + 3 }, () => add())
    assert.deepEqual(added.slice(MOST), [null, 1, null])
    clock.atMs = DAY_MS - 1
    assert.equal(add(), 1)
    assert.equal(add(), null)
    clock.atMs = DAY_MS
    assert.deepEqual([add(), add()], [1, 0])
  })

  it('is not used by an entry that was rolled back', () => {
    const { add, shares } = openShares()
    for (let entry = 0; entry < 100; entry++)
      shares.leftOutBefore({ subject: 'domain.changed 1', most: MOST })
    assert.deepEqual([add(), add(), add(), add()], [0, 0, 0, null])
  })
})
