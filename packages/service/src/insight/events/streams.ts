import { frameOf, HELLO, type LiveEvent, REREAD } from '@prepaint/contract/events/event.ts'
import type { AccountId, PersonId } from '@prepaint/contract/ids.ts'
import type { OpenAccess } from '../../accounts/access.ts'

/**
 * A client of live updates. `by` is the session or key that gives it access; `fleet` is true for operators, who may be in no
 * account. It gets events of `domains` only, or of all domains if that is null.
 */
export type Subscriber = OpenAccess & { person: PersonId | null }

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
  /** Share links have as many again, so that who holds one takes none from the members. */
  perAccount: number
  perShareLink: number
  perNode: number
  bufferBytes: number
}

export const STREAM_LIMITS: StreamLimits = {
  ...{ perAccount: 20, perShareLink: 5, perNode: 1_000 },
  bufferBytes: 512 * 1024,
}

export type OpenStream = { readonly subscriber: Subscriber; readonly sink: Sink }

/** The open event streams of this node. `name` begins the ids of the events that it sends. */
export class Streams {
  readonly #name: string
  readonly #limits: StreamLimits
  readonly #open = new Set<OpenStream>()
  #sent = 0

  constructor(name: string, limits: StreamLimits) {
    this.#name = name
    this.#limits = limits
  }

  get count(): number {
    return this.#open.size
  }

  all(): OpenStream[] {
    return [...this.#open]
  }

  /** Accounts with a stream, each once. */
  accounts(): AccountId[] {
    return [...new Set(this.all().map(({ subscriber }) => subscriber.account))].filter((id) => id !== null)
  }

  /** Calls `begin` unless there are too many streams. `resumed`: the client may have missed events. */
  open(
    subscriber: Subscriber,
    begin: () => Sink,
    resumed: boolean,
  ): 'open' | 'gone' | 'account-full' | 'link-full' | 'node-full' {
    const shareOf = ({ by }: Subscriber) => ('share' in by ? by.share : null)
    const share = shareOf(subscriber)
    const alike = this.all()
      .map((stream) => stream.subscriber)
      .filter((each) => each.account === subscriber.account && (shareOf(each) === null) === (share === null))
    if (alike.length >= this.#limits.perAccount) return 'account-full'
    const ofLink = alike.filter((each) => share !== null && shareOf(each) === share)
    if (ofLink.length >= this.#limits.perShareLink) return 'link-full'
    if (this.#open.size >= this.#limits.perNode) return 'node-full'
    const sink = begin()
    // The client disconnected during the access check.
    if (sink.destroyed) return 'gone'
    const stream = { subscriber, sink }
    this.#open.add(stream)
    sink.once('close', () => this.#open.delete(stream))
    this.#sendTo(stream, resumed ? REREAD : HELLO)
    return 'open'
  }

  send(event: LiveEvent, isFor: (subscriber: Subscriber) => boolean): void {
    for (const stream of this.#open) if (isFor(stream.subscriber)) this.#sendTo(stream, event)
  }

  /** Sends a comment, so that clients and proxies keep quiet streams open. */
  beat(): void {
    for (const stream of this.#open) this.#write(stream, ':\n\n')
  }

  end(stream: OpenStream, reason: 'access' | 'node'): void {
    if (!this.#open.has(stream)) return
    this.#sendTo(stream, { event: 'end', data: { reason } })
    this.#open.delete(stream)
    stream.sink.end()
  }

  #sendTo(stream: OpenStream, event: LiveEvent): void {
    this.#sent++
    this.#write(stream, frameOf(event, `${this.#name}-${this.#sent}`))
  }

  #write(stream: OpenStream, text: string): void {
    stream.sink.write(text)
    if (stream.sink.writableLength <= this.#limits.bufferBytes) return
    // A client that does not read must reconnect.
    this.#open.delete(stream)
    stream.sink.destroy()
  }
}
