import type { AccountId } from '../../ids.ts'
import { frameOf, HELLO, type LiveEvent, REREAD } from './event.ts'

/** Whom a stream is for, and by what it was let in: that can end while the stream stands. */
export type Subscriber = {
  account: AccountId
  by: { session: number } | { key: number }
  /** An operator who hears of the whole fleet, too. */
  fleet: boolean
}

/** Where frames go; the answer of a request is one. */
export type Sink = {
  write(frame: string): unknown
  end(): unknown
  destroy(): unknown
  /** Written, and not taken yet. */
  readonly writableLength: number
  /** Then it closes no more: it has. */
  readonly destroyed: boolean
  once(event: 'close', react: () => void): unknown
}

export type StreamLimits = {
  perAccount: number
  perNode: number
  /** What a reader may leave lying; one who leaves more is cut off. */
  bufferBytes: number
}

export const STREAM_LIMITS: StreamLimits = { perAccount: 20, perNode: 1_000, bufferBytes: 512 * 1024 }

export type OpenStream = { readonly subscriber: Subscriber; readonly sink: Sink }

export type Streams = {
  /** `begin` is called unless there are too many. `resumed`: the reader has heard events before, and may have missed some. */
  open(
    subscriber: Subscriber,
    begin: () => Sink,
    resumed: boolean,
  ): 'open' | 'gone' | 'account-full' | 'node-full'
  /** To all streams that `isFor` names. */
  send(event: LiveEvent, isFor: (subscriber: Subscriber) => boolean): void
  /** A comment, so that neither end nor what lies between takes a quiet stream for a dead one. */
  beat(): void
  end(stream: OpenStream, reason: 'access' | 'node'): void
  accounts(): AccountId[]
  all(): OpenStream[]
  readonly count: number
}

/** The streams of this node. `name` sets the ids of its events apart from those of others. */
export function createStreams(name: string, limits: StreamLimits): Streams {
  const open = new Set<OpenStream>()
  let sent = 0

  function write(stream: OpenStream, text: string): void {
    stream.sink.write(text)
    if (stream.sink.writableLength <= limits.bufferBytes) return
    // Whoever does not read is not waited for: he comes again, and reads all anew.
    open.delete(stream)
    stream.sink.destroy()
  }

  function tell(stream: OpenStream, event: LiveEvent): void {
    write(stream, frameOf(event, `${name}-${++sent}`))
  }

  return {
    open(subscriber, begin, resumed) {
      const ofAccount = [...open].filter((each) => each.subscriber.account === subscriber.account)
      if (ofAccount.length >= limits.perAccount) return 'account-full'
      if (open.size >= limits.perNode) return 'node-full'
      const sink = begin()
      // He went while it was looked up who he is.
      if (sink.destroyed) return 'gone'
      const stream = { subscriber, sink }
      open.add(stream)
      sink.once('close', () => open.delete(stream))
      tell(stream, resumed ? REREAD : HELLO)
      return 'open'
    },
    send(event, isFor) {
      for (const stream of open) if (isFor(stream.subscriber)) tell(stream, event)
    },
    beat() {
      for (const stream of open) write(stream, ':\n\n')
    },
    end(stream, reason) {
      if (!open.has(stream)) return
      tell(stream, { event: 'end', data: { reason } })
      open.delete(stream)
      stream.sink.end()
    },
    accounts: () => [...new Set([...open].map(({ subscriber }) => subscriber.account))],
    all: () => [...open],
    get count() {
      return open.size
    },
  }
}
