import type net from 'node:net'

import { type AnswerHead, AnswerReader, type TakeAnswer } from './answer-reader.ts'
import { type OriginCall, OriginSilent } from './call.ts'

export type ConnectionKeeper = {
  free(connection: OriginConnection): void
  gone(connection: OriginConnection): void
}

/** One call at a time (no pipelining). Reused only if both messages are complete and no bytes followed. */
export class OriginConnection implements TakeAnswer {
  readonly socket: net.Socket
  readonly openedMs: number
  freeSinceMs = 0
  readonly #keeper: ConnectionKeeper
  readonly #reader = new AnswerReader()
  #call: OriginCall | null = null
  #isBegun = false
  /** Whether the response is complete. The request may not be. */
  #isAnswered = false
  #isPaused = false
  #hasServed = false
  #isGone = false
  #keptMs = Number.POSITIVE_INFINITY

  constructor(socket: net.Socket, keeper: ConnectionKeeper, openedMs: number) {
    this.socket = socket
    this.openedMs = openedMs
    this.#keeper = keeper
    for (const [event, listener] of Object.entries(this.#listeners)) socket.on(event, listener)
  }

  readonly #listeners = {
    data: (bytes: Buffer) => this.#receive(bytes),
    drain: () => this.#drain(),
    end: () => this.#ended(),
    timeout: () => this.#fail(new OriginSilent()),
    error: (error: Error) => this.#fail(error),
    close: () => this.#fail(new Error('The origin closed without an answer')),
  }

  start(call: OriginCall): void {
    this.#call = call
    this.#isBegun = false
    this.#isAnswered = false
    call.connection = this
    call.onKeptConnection = this.#hasServed
    this.#hasServed = true
    this.#reader.begin(call.request.method, this, call.request.mayUpgrade)
    this.socket.setTimeout(call.request.answerWaitMs)
    if (call.isSent) {
      this.socket.write(call.head, 'latin1')
      return
    }
    // Send the body's first bytes together with the head.
    this.socket.cork()
    this.socket.write(call.head, 'latin1')
    process.nextTick(() => this.socket.uncork())
    call.take.ready()
  }

  sent(): void {
    if (this.#isAnswered) this.#settle()
  }

  resume(call: OriginCall): void {
    if (this.#call !== call || !this.#isPaused) return
    this.#isPaused = false
    this.socket.resume()
  }

  drop(call: OriginCall): void {
    if (this.#call === call) this.destroy()
  }

  destroy(): void {
    this.#call = null
    this.socket.destroy()
    this.#leave()
  }

  keepFor(ms: number): void {
    this.socket.setTimeout(Math.min(ms, this.#keptMs))
  }

  get isUsable(): boolean {
    return !this.#isGone && this.#keptMs > 0
  }

  interim(statusCode: number): void {
    // 103 and others are dropped: not every client reads them (RFC 9110, section 15.2).
    if (statusCode === 100) this.#call?.take.continued()
  }

  head(head: AnswerHead): void {
    const call = this.#call!
    this.#keptMs = keptMs(head)
    this.#isBegun = true
    call.take.head(head)
  }

  data(part: Buffer): void {
    const call = this.#call
    if (call === null || call.take.data(part) || this.#isPaused) return
    this.#isPaused = true
    this.socket.pause()
  }

  end(trailers: string[]): void {
    this.#isAnswered = true
    const call = this.#call
    if (call === null) return
    call.isOver = call.isSent
    call.take.end(trailers)
  }

  upgrade(head: AnswerHead, rest: Buffer): void {
    const call = this.#call!
    this.#call = null
    call.isOver = true
    call.connection = null
    for (const [event, listener] of Object.entries(this.#listeners)) this.socket.off(event, listener)
    this.socket.setTimeout(0)
    this.socket.pause()
    this.#leave()
    call.take.upgraded?.(head, this.socket, rest)
  }

  #receive(bytes: Buffer): void {
    const call = this.#call
    if (call === null || this.#isAnswered) {
      this.#fail(new Error('The origin said more than an answer'))
      return
    }
    call.isAnswered = true
    const begun = this.#isBegun
    try {
      this.#reader.push(bytes)
    } catch (error) {
      this.#fail(error as Error)
      return
    }
    // Any bytes behind the response have been seen by now.
    if (this.#isAnswered) {
      if (call.isSent) this.#settle()
    } else if (this.#isBegun && !begun) this.socket.setTimeout(call.request.idleMs)
  }

  #drain(): void {
    const call = this.#call
    if (call === null || !call.needsDrain) return
    call.needsDrain = false
    call.take.drain()
  }

  #ended(): void {
    try {
      this.#reader.finish()
    } catch (error) {
      this.#fail(error as Error)
      return
    }
    if (this.#call?.isSent === true) this.#settle()
    // The response is complete, so the rest of the request body is not needed.
    else this.destroy()
  }

  #settle(): void {
    const call = this.#call
    this.#call = null
    if (call !== null) call.isOver = true
    if (this.#isPaused) {
      this.#isPaused = false
      this.socket.resume()
    }
    if (!this.#reader.isReusable || this.socket.destroyed) this.destroy()
    else this.#keeper.free(this)
  }

  #fail(error: Error): void {
    const call = this.#call
    this.destroy()
    if (call === null || call.isOver) return
    call.isOver = true
    if (!this.#isAnswered) call.take.fail(error)
  }

  #leave(): void {
    if (this.#isGone) return
    this.#isGone = true
    this.#keeper.gone(this)
  }
}

/** The origin's keep-alive time minus one second, so that it does not close under a request. */
function keptMs({ rawHeaders }: AnswerHead): number {
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!
    if (name.length !== 10 || name.toLowerCase() !== 'keep-alive') continue
    const said = /(?:^|[\s,])timeout=(\d{1,6})/i.exec(rawHeaders[at + 1]!)
    if (said !== null) return Math.max(0, Number(said[1]) - 1) * 1_000
  }
  return Number.POSITIVE_INFINITY
}
