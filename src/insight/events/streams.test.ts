import assert from 'node:assert/strict'
import { it } from 'node:test'

import type { AccountId } from '../../ids.ts'
import { HELLO, REREAD } from './event.ts'
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

it('as many as an account and the node may have, and not one more; a closed one makes room', () => {
  const streams = createStreams('n', { perAccount: 2, perNode: 3, bufferBytes: 1_000 })
  const first = sink()
  assert.equal(streams.open(of(1), first.begin, false), 'open')
  assert.equal(streams.open(of(1), sink().begin, false), 'open')
  const fails = () => assert.fail('nothing is begun for one that is refused')
  assert.equal(streams.open(of(1), fails, false), 'account-full')
  assert.equal(streams.open(of(2), sink().begin, false), 'open')
  assert.equal(streams.open(of(3), fails, false), 'node-full')
  first.seen.close()
  assert.equal(streams.open(of(3), sink().begin, false), 'open')
  assert.equal(streams.count, 3)
  assert.deepEqual(streams.accounts().toSorted(), [1, 2, 3])
})

it('begins with hello, or with reread for whoever comes again; ids never repeat', () => {
  const streams = createStreams('n', { perAccount: 2, perNode: 3, bufferBytes: 1_000 })
  const [fresh, again] = [sink(), sink()]
  streams.open(of(1), fresh.begin, false)
  streams.open(of(2), again.begin, true)
  streams.send(REREAD, ({ account }) => account === 1)
  assert.equal(fresh.seen.text, 'id: n-1\nevent: hello\ndata: {}\n\nid: n-3\nevent: reread\ndata: {}\n\n')
  assert.equal(again.seen.text, 'id: n-2\nevent: reread\ndata: {}\n\n')
})

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

it('the end says why, once', () => {
  const streams = createStreams('n', { perAccount: 2, perNode: 3, bufferBytes: 1_000 })
  const one = sink()
  streams.open(of(1), one.begin, false)
  const [stream] = streams.all()
  streams.end(stream!, 'access')
  streams.end(stream!, 'node')
  assert.match(one.seen.text, /event: end\ndata: \{"reason":"access"\}\n\n$/)
  assert.deepEqual([one.seen.ended, streams.count], [true, 0])
})
