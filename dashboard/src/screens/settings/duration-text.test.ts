import assert from 'node:assert/strict'
import { it } from 'node:test'
import { exactDuration } from '../../format.ts'
import { parseDuration } from './duration-text.ts'

it('a duration is read with its unit, in any spelling', () => {
  for (const [text, seconds] of [
    ['7 days', 604_800],
    ['1 day', 86_400],
    ['24 h', 86_400],
    ['24h', 86_400],
    ['1.5 hours', 5_400],
    ['10 min', 600],
    [' 10 Minutes ', 600],
    ['25 s', 25],
    ['3,660 days', 316_224_000],
    ['0', 0],
  ] as const) {
    assert.equal(parseDuration(text), seconds, text)
  }
})

it('a number without a unit, or with another one, is no duration', () => {
  for (const text of ['', '12', '-1 h', 'soon', '5 ms', '1 month', 'h']) {
    assert.equal(parseDuration(text), null, text)
  }
})

it('every duration that is shown is read as the same', () => {
  for (const seconds of [0, 1, 25, 90, 600, 5_400, 86_400, 90_000, 90_061, 172_800, 604_800]) {
    assert.equal(parseDuration(exactDuration(seconds)), seconds)
  }
})
