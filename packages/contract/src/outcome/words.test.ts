import assert from 'node:assert/strict'
import { it } from 'node:test'
import { detailWords, outcomeWords } from './words.ts'

it('an outcome is said in words, and one of a later version in those of its code', () => {
  assert.equal(outcomeWords('timed-out'), 'not ready in time')
  assert.equal(outcomeWords('turned-blue'), 'turned blue')
})

it('a detail that is part of the outcome is left out', () => {
  assert.equal(detailWords('origin-unreachable', 'unreachable'), '')
  assert.equal(detailWords('origin-unreachable', 'name not found'), 'name not found')
  assert.equal(detailWords('blank', null), '')
})
