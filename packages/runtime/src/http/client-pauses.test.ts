import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ClientPauses, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, REFUSALS_BEFORE_PAUSE } from './client-pauses.ts'

const CLIENT = '203.0.113.1'
const OTHER = '203.0.113.2'
const MINUTE_MS = 60_000

function start() {
  let nowMs = 1_000_000
  const pauses = new ClientPauses({ nowMs: () => nowMs })
  const refuse = (times: number) => {
    for (let time = 0; time < times; time++) pauses.noteRefusal(CLIENT)
  }
  /** Goes on until the client is paused, and returns how long it is paused. */
  const pause = () => {
    refuse(REFUSALS_BEFORE_PAUSE + 1)
    const fromMs = nowMs
    while (pauses.isPaused(CLIENT)) nowMs += 100
    return nowMs - fromMs
  }
  const wait = (ms: number) => {
    nowMs += ms
  }
  return { pauses, refuse, pause, wait }
}

describe('a client that is refused', () => {
  it(`is not paused after ${REFUSALS_BEFORE_PAUSE} refusals, and is after one more; no other client is`, () => {
    const { pauses, refuse } = start()
    refuse(REFUSALS_BEFORE_PAUSE)
    assert.equal(pauses.isPaused(CLIENT), false)
    refuse(1)
    assert.equal(pauses.isPaused(CLIENT), true)
    assert.equal(pauses.isPaused(OTHER), false)
    assert.equal(pauses.begun, 1)
  })

  it('is not paused if its refusals are spread over more than ten seconds', () => {
    const { pauses, refuse, wait } = start()
    refuse(REFUSALS_BEFORE_PAUSE)
    wait(10_001)
    refuse(REFUSALS_BEFORE_PAUSE)
    assert.equal(pauses.isPaused(CLIENT), false)
  })

  it('is paused twice as long each time that it goes on, for a minute at most', () => {
    const { pause } = start()
    assert.deepEqual(
      Array.from({ length: 8 }, pause),
      [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000),
    )
    assert.deepEqual([FIRST_PAUSE_MS, LONGEST_PAUSE_MS], [1_000, 60_000])
  })

  it('is paused for the first time again ten minutes after its last pause', () => {
    const { pause, wait } = start()
    pause()
    wait(9 * MINUTE_MS)
    assert.equal(pause(), 2 * FIRST_PAUSE_MS)
    wait(10 * MINUTE_MS + 1)
    assert.equal(pause(), FIRST_PAUSE_MS)
  })

  it('is not paused longer for what is refused in its pause', () => {
    const { pauses, refuse, wait } = start()
    refuse(REFUSALS_BEFORE_PAUSE + 1)
    refuse(10 * REFUSALS_BEFORE_PAUSE)
    wait(FIRST_PAUSE_MS)
    assert.equal(pauses.isPaused(CLIENT), false)
    assert.equal(pauses.begun, 1)
  })
})
