import assert from 'node:assert/strict'
import { it } from 'node:test'

import type { AccountId } from '../../ids.ts'
import { HELLO } from './event.ts'
import { createStreams, type Sink, type Subscriber } from './streams.ts'

const of = (account: number, fleet = false): Subscriber => ({
  account: account as AccountId,
  by: { session: 1 },
  fleet,
})

/** A reader who takes nothing: all that is written lies there. */
function sink() {
  const seen = { text: '', ended: false, destroyed: false, close: () => {} }
  const made: Sink = {
    write: (frame) => {
      seen.text += frame
    },
    end: () => {
      seen.ended = true
    },
    destroy: () => {
      seen.destroyed = true
    },
    get writableLength() {
      return seen.text.length
    },
    get destroyed() {
      return seen.destroyed
    },
    once: (_event, react) => {
      seen.close = react
    },
  }
  return { begin: () => made, seen }
}

it('whoever leaves more unread than may lie there is cut off; at the limit he is not', () => {
  const frame = 'id: n-1\nevent: hello\ndata: {}\n\n'.length
  const streams = createStreams('n', { perAccount: 2, perNode: 3, bufferBytes: 2 * frame })
  const slow = sink()
  streams.open(of(1), slow.begin, false)
  streams.send(HELLO, () => true)
  assert.deepEqual([slow.seen.destroyed, streams.count], [false, 1])
  streams.beat()
  assert.deepEqual([slow.seen.destroyed, streams.count], [true, 0])
  const length = slow.seen.text.length
  streams.send(HELLO, () => true)
  assert.equal(slow.seen.text.length, length)
})
