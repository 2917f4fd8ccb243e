import { frameOf, HELLO, type LiveEvent, REREAD } from '@prepaint/contract/events/event.ts'
import type { AccountId } from '@prepaint/contract/ids.ts'

/** `by`: the session or key that gives access. */
export type Subscriber = {
  account: AccountId
  by: { session: number } | { key: number }
  fleet: boolean
}

export type Sink = {
  write(frame: string): unknown
  end(): unknown
  destroy(): unknown
  readonly writableLength: number
  /** If true, `close` has already been emitted. */
  readonly destroyed: boolean
  once(event: 'close', react: () => void): unknown
}

export type StreamLimits = {
  perAccount: number
  perNode: number
  bufferBytes: number
}

export const STREAM_LIMITS: StreamLimits = { perAccount: 20, perNode: 1_000, bufferBytes: 512 * 1024 }

export type OpenStream = { readonly subscriber: Subscriber; readonly sink: Sink }

export type Streams = {
  /** Calls `begin` unless there are too many streams. `resumed`: the client may have missed events. */
  open(
    subscriber: Subscriber,
    begin: () => Sink,
    resumed: boolean,
  ): 'open' | 'gone' | 'account-full' | 'node-full'
  send(event: LiveEvent, isFor: (subscriber: Subscriber) => boolean): void
  /** Sends a comment, so that clients and proxies keep quiet streams open. */
  beat(): void
  end(stream: OpenStream, reason: 'access' | 'node'): void
  accounts(): AccountId[]
  all(): OpenStream[]
  readonly count: number
}

export function createStreams(name: string, limits: StreamLimits): Streams {
  const open = new Set<OpenStream>()
  let sent = 0

  function write(stream: OpenStream, text: string): void {
    stream.sink.write(text)
    if (stream.sink.writableLength <= limits.bufferBytes) return
    // A client that does not read must reconnect.
    open.delete(stream)
    stream.sink.destroy()
  }

  function send(stream: OpenStream, event: LiveEvent): void {
    write(stream, frameOf(event, `${name}-${++sent}`))
  }

  return {
    open(subscriber, begin, resumed) {
      const ofAccount = [...open].filter((each) => each.subscriber.account === subscriber.account)
      if (ofAccount.length >= limits.perAccount) return 'account-full'
      if (open.size >= limits.perNode) return 'node-full'
      const sink = begin()
      // Disconnected during the access check.
      if (sink.destroyed) return 'gone'
      const stream = { subscriber, sink }
      open.add(stream)
      sink.once('close', () => open.delete(stream))
      send(stream, resumed ? REREAD : HELLO)
      return 'open'
    },
    send(event, isFor) {
      for (const stream of open) if (isFor(stream.subscriber)) send(stream, event)
    },
    beat() {
      for (const stream of open) write(stream, ':\n\n')
    },
    end(stream, reason) {
      if (!open.has(stream)) return
      send(stream, { event: 'end', data: { reason } })
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
