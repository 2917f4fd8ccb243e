import assert from 'node:assert/strict'
import { it } from 'node:test'

import { ReadySignal } from './virtual-time.ts'

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
    const signal = new ReadySignal()
    for (const word of words) signal.hear(word)
    assert.equal(signal.state, state)
  })
}
