import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { renewalMs, suggestedMs } from '../acme/renewal.ts'
import { backOffMs, renewalBackOffMs } from './back-off.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const least = () => 0
const most = () => 1

describe('waiting after failures', () => {
  it('doubles up to a limit, for each kind of its own', () => {
    const minutes = (kind: Parameters<typeof backOffMs>[0]) =>
      [1, 2, 6, 7, 8, 9, 1_000].map((failures) => backOffMs(kind, failures, least) / MINUTE_MS)
    assert.deepEqual(minutes('not-here'), [1, 2, 32, 60, 60, 60, 60])
    assert.deepEqual(minutes('ca-away'), minutes('not-here'))
    assert.deepEqual(minutes('refused'), [10, 20, 320, 640, 1_280, 1_440, 1_440])
    assert.deepEqual(minutes('fault'), [5, 10, 160, 320, 360, 360, 360])
  })

  it('is up to a quarter less by chance, and never less than the CA wants, for two days at most', () => {
    assert.equal(backOffMs('refused', 1, most), 7.5 * MINUTE_MS)
    assert.equal(backOffMs('refused', 1, most, 3_600_000), 3_600_000)
    assert.equal(backOffMs('refused', 1, least, 1), 10 * MINUTE_MS)
    assert.equal(backOffMs('refused', 1, least, 365 * DAY_MS), 2 * DAY_MS)
  })
})

describe('waiting for a renewal', () => {
  const hours = (leftHours: number, wantedHours: number | null = null) =>
    renewalBackOffMs(24 * HOUR_MS, leftHours * HOUR_MS, wantedHours === null ? null : wantedHours * HOUR_MS) /
    HOUR_MS

  it('is shorter around the end of the certificate, and long again when that is long past', () => {
    const waits = [192, 80, 8, 0, -8, -80, -720].map((left) => hours(left))
    assert.deepEqual(waits, [24, 10, 1, 1 / 6, 1, 10, 24])
    // Never less than the CA wants, for two days at most.
    assert.deepEqual([hours(8, 5), hours(8, 9_000), hours(-8, 5)], [5, 48, 5])
  })
})

describe('the time of a renewal', () => {
  it('is at a third of the lifetime, up to a thirtieth earlier, however long that is', () => {
    for (const days of [90, 45, 6]) {
      const times = { notBeforeMs: 0, notAfterMs: days * DAY_MS }
      assert.equal(renewalMs(times, least), Math.round((days * DAY_MS * 2) / 3))
      assert.equal(renewalMs(times, most), Math.round(days * DAY_MS * (1 - 1 / 3 - 1 / 30)))
    }
  })

  it('is within the window that the CA suggests', () => {
    const window = { startMs: 1_000, endMs: 2_000, askAgainMs: 1 }
    assert.deepEqual([suggestedMs(window, least), suggestedMs(window, most)], [1_000, 2_000])
  })
})
