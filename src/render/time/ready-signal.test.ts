import assert from 'node:assert/strict'
import { it } from 'node:test'

import { createReadySignal } from './stillness.ts'

const cases: [words: string[], state: 'none' | 'hold' | 'ready'][] = [
  [[], 'none'],
  [['hold a'], 'hold'],
  [['ready a'], 'ready'],
  [['hold a', 'ready a'], 'ready'],
  [['hold a', 'hold b', 'ready a'], 'hold'],
  [['hold a', 'hold b', 'ready a', 'ready b'], 'ready'],
  [['hold a', 'ready b'], 'hold'],
  [['nonsense a'], 'none'],
]

for (const [words, state] of cases) {
  it(`${words.join(', ') || 'nothing'}: ${state}`, () => {
    const signal = createReadySignal()
    for (const word of words) {
      const [verb, flag = ''] = word.split(' ')
      signal.hear(verb, flag)
    }
    assert.equal(signal.state, state)
  })
}
