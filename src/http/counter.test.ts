import assert from 'node:assert/strict'
import { it } from 'node:test'

import { createCounter } from './client-limits.ts'

it('counts each key by itself, up to the limit, and forgets keys of which nothing is under way', () => {
  const counter = createCounter(2)
  assert.deepEqual([counter.enter('a'), counter.enter('a'), counter.enter('a')], [true, true, false])
  assert.equal(counter.enter('b'), true)
  assert.equal(counter.keys, 2)
  counter.leave('a')
  assert.deepEqual([counter.enter('a'), counter.enter('a')], [true, false])
  for (const key of ['a', 'a', 'b']) counter.leave(key)
  assert.equal(counter.keys, 0)
})
