import { EventEmitter } from 'node:events'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '@prepaint/runtime/clock.ts'
import { headerLines } from '../page/plain-page.ts'
import type { PageAnswer } from '../page/send-page.ts'
import { BodilessRequest } from './bodiless-request.ts'
import type { RequestHead, SendAnswer } from './exchange.ts'
import { type AnsweringConnection, LaneResponse } from './lane-response.ts'
import {
  encodeTarget,
  firstHead,
  isBeginning,
  isBeginningWithBytes,
  rawHeadersOf,
  readSimpleHead,
  type SimpleHead,
} from './simple-head.ts'
import { writeTogether } from './write-together.ts'

export type FastLaneOptions = {
  clock: Clock
  headersMs: number
  /** Close connections that have not read any of their response for this time. */
  idleMs: number
  keepAliveMs: number
  /** Returns false, and has had no side effects, if it has not answered. */
  answer(req: RequestHead, send: SendAnswer): boolean
  /** Takes a request that `answer` has not answered. `isNoHit` is false if `answer` failed. */
  request(req: BodilessRequest, res: LaneResponse, isNoHit: boolean): void
  /** Passes the connection to Node with the unanswered bytes. */
  handOver(socket: Socket): void
}

/** Node's own grace for requests in transit at the limit. */
const GRACE_MS = 1_000

/** What a client may send while its last request is being answered. Beyond that, it is not read. */
const WAITING_BYTES = 64 * 1024

/** The same response as Node's for a late head. */
const TOO_SLOW = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

/**
 * Reads and answers simple requests without Node's parser and streams, which would take more than half of the time of a hit or of a passed
 * request. Any other request moves the connection to Node.
 */
export class FastLane {
  readonly options: FastLaneOptions
  readonly #connections = new Set<LaneConnection>()
  readonly #dateLine = createDateLine()
  readonly #keepAlive: string
  #isEnding = false

  constructor(options: FastLaneOptions) {
    this.options = options
    const seconds = Math.floor(options.keepAliveMs / 1_000)
    this.#keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${seconds}\r\n`
  }

  /** If true, the next response of each connection is its last. */
  get isEnding(): boolean {
    return this.#isEnding
  }

  take(socket: Socket): void {
    this.#connections.add(new LaneConnection(socket, this))
  }

  forget(connection: LaneConnection): void {
    this.#connections.delete(connection)
  }

  /** Returns the head of a hit. */
  headOf({ status, same, own }: PageAnswer, nowMs: number): string {
    return `${statusLine(status)}${same.lines}${headerLines(own)}${this.#dateLine(nowMs)}${this.#keepAlive}\r\n`
  }

  ownLines(hasDate: boolean, keepsOpen: boolean): string {
    const date = hasDate ? '' : this.#dateLine(this.options.clock.nowMs())
    return `${date}${keepsOpen ? this.#keepAlive : 'Connection: close\r\n'}`
  }

  end(): void {
    this.#isEnding = true
  }

  /** Closes idle connections at once, the others after their response. */
  closeIdle(): void {
    for (const connection of this.#connections) connection.endBehindAnswer()
  }

  closeAll(): void {
    for (const { socket } of this.#connections) socket.destroy()
  }
}

/** A connection whose requests were all simple so far. */
class LaneConnection implements AnsweringConnection {
  readonly socket: Socket
  readonly #lane: FastLane
  #answers = 0
  /** The hit that the client has not taken yet. */
  #sending: EventEmitter | null = null
  /** The response under way to any other request. */
  #response: LaneResponse | null = null
  #isLast = false
  /** The beginning of a request line that has bytes to encode, and the time for the rest of it. */
  #held: { bytes: Buffer; timer: NodeJS.Timeout } | null = null
  /** What has come behind the request that is being answered. */
  #waiting: Buffer | null = null
  #hasLeft = false
  /** The client has ended its half, and waits for the answers to what it sent. */
  #hasEnded = false

  constructor(socket: Socket, lane: FastLane) {
    this.socket = socket
    this.#lane = lane
    socket.setTimeout(lane.options.headersMs)
    for (const [event, listener] of Object.entries(this.#listeners)) socket.on(event, listener)
  }

  readonly #listeners = {
    data: (part: Buffer) => this.#read(part),
    end: () => this.#clientEnded(),
    error: () => void this.socket.destroy(),
    timeout: () => this.#late(),
    drain: () => void this.#response?.emit('drain'),
    close: () => this.#closed(),
  }

  beginAnswer(hasDate: boolean, keepsOpen: boolean): string {
    this.#isLast ||= !keepsOpen || this.#lane.isEnding
    return this.#lane.ownLines(hasDate, !this.#isLast)
  }

  answered(): void {
    this.#response = null
    this.#answers++
    if (this.#isLast) {
      // What comes behind the last answer is no request.
      this.socket.off('data', this.#listeners.data)
      this.socket.destroySoon()
      return
    }
    this.socket.setTimeout(this.#keepAliveMs)
    if (this.#waiting !== null) this.#readNext()
    else if (this.#hasEnded) this.socket.end()
  }

  /** A connection without any request may still send one, as with Node. */
  endBehindAnswer(): void {
    this.#isLast = this.#answers > 0 || this.#response !== null
    if (this.#isLast && !this.#isBusy) this.socket.destroy()
  }

  get #isBusy(): boolean {
    const isAnswering = this.#sending !== null || this.#response !== null
    return isAnswering || this.#waiting !== null || this.#held !== null
  }

  get #waitingBytes(): number {
    return this.#waiting?.length ?? 0
  }

  get #keepAliveMs(): number {
    return this.#lane.options.keepAliveMs + GRACE_MS
  }

  #read(part: Buffer): void {
    if (this.#response !== null || this.#waiting !== null) {
      this.#wait(part)
      return
    }
    const received = this.#held === null ? part : Buffer.concat([this.#held.bytes, part])
    const isBehindAnswer = this.#answers > 0 && this.#sending === null
    if (isBeginningWithBytes(received) || (isBehindAnswer && isBeginning(received))) {
      this.#held ??= { bytes: received, timer: setTimeout(() => this.#late(), this.#lane.options.headersMs) }
      this.#held.bytes = received
      return
    }
    this.#forgetHeld()
    const isAlone = !this.#lane.isEnding && this.#sending === null
    const { first, others } = firstHead(received)
    let bytes = first
    let head = isAlone ? readSimpleHead(first) : null
    if (head === null) {
      bytes = encodeTarget(first)
      if (isAlone && bytes !== first) head = readSimpleHead(bytes)
    }
    if (head === null) {
      this.#leave(others === null ? bytes : Buffer.concat([bytes, others]))
      return
    }
    this.#waiting = others
    const tried = this.#tryHit(head)
    if (tried !== 'answered') this.#request(head, tried === 'no-hit')
    else if (others !== null) this.#readNext()
  }

  /** After an error the request is handled in the usual way: it fails again there, gives 503 and is logged. */
  #tryHit({ method, url, headers }: SimpleHead): 'answered' | 'no-hit' | 'failed' {
    const before = this.#answers
    try {
      const isAnswered = this.#lane.options.answer({ method, url, headers, socket: this.socket }, this.#send)
      return isAnswered ? 'answered' : 'no-hit'
    } catch (error) {
      if (this.#answers !== before) throw error
      return 'failed'
    }
  }

  readonly #send: SendAnswer = (answer, nowMs) => {
    const { socket } = this
    const head = this.#lane.headOf(answer, nowMs)
    if (answer.body === null) socket.write(head, 'latin1', this.#taken)
    else writeTogether(socket, head, answer.body, this.#taken)
    if (this.#answers++ === 0) socket.setTimeout(this.#keepAliveMs)
    if (socket.writableLength === 0) return null
    socket.setTimeout(this.#lane.options.idleMs)
    this.#sending = new EventEmitter()
    return this.#sending
  }

  readonly #taken = (): void => {
    if (this.#sending === null) return
    this.#sending.emit('close')
    this.#sending = null
    if (this.#isLast) this.socket.destroy()
    else if (!this.#hasLeft) this.socket.setTimeout(this.#keepAliveMs)
  }

  #request({ method, url, headers, lines }: SimpleHead, isNoHit: boolean): void {
    const { options } = this.#lane
    const { socket } = this
    const rawHeaders = rawHeadersOf(lines)
    const request = new BodilessRequest({ httpVersion: '1.1', method, url, headers, rawHeaders, socket })
    const response = new LaneResponse(request, this)
    this.#response = response
    this.socket.setTimeout(options.idleMs)
    options.request(request, response, isNoHit)
  }

  #wait(part: Buffer): void {
    this.#waiting = this.#waiting === null ? part : Buffer.concat([this.#waiting, part])
    if (this.#waitingBytes > WAITING_BYTES) this.socket.pause()
  }

  /** Reads what has come behind a request that is answered, after other connections had their turn. */
  #readNext(): void {
    setImmediate(() => this.#readWaiting())
  }

  #readWaiting(): void {
    const bytes = this.#waiting
    this.#waiting = null
    if (bytes === null || this.socket.destroyed || this.socket.writableEnded) return
    this.#read(bytes)
    if (this.#hasLeft) return
    const leftBytes = this.#waitingBytes
    if (leftBytes <= WAITING_BYTES && this.socket.isPaused()) this.socket.resume()
    if (this.#hasEnded && leftBytes === 0 && this.#response === null) this.socket.end()
  }

  #leave(bytes: Buffer): void {
    const { socket } = this
    if (this.#hasEnded) {
      // Node could not be given its bytes.
      socket.end()
      return
    }
    this.#forget()
    this.#hasLeft = true
    // Node closes the connection, after answering the requests behind this one.
    this.#isLast = false
    for (const [event, listener] of Object.entries(this.#listeners)) socket.off(event, listener)
    // Read nothing during the handover.
    socket.pause()
    socket.unshift(bytes)
    this.#lane.options.handOver(socket)
    socket.resume()
  }

  /** Like Node, says nothing on a connection that is idle behind a response. */
  #late(): void {
    const { socket } = this
    if (this.#held === null && (this.#answers > 0 || this.#response !== null)) {
      socket.destroy()
      return
    }
    socket.off('data', this.#listeners.data)
    socket.end(TOO_SLOW, () => socket.destroy())
  }

  /** A client that ends its half while the origin is asked has left. */
  #clientEnded(): void {
    if (this.#response !== null && !this.#response.writableEnded) this.socket.destroy()
    else if (this.#waiting === null) this.socket.end()
    else this.#hasEnded = true
  }

  #closed(): void {
    this.#forget()
    this.#response?.connectionClosed()
    this.#response = null
  }

  #forget(): void {
    this.#forgetHeld()
    this.#lane.forget(this)
  }

  #forgetHeld(): void {
    clearTimeout(this.#held?.timer)
    this.#held = null
  }
}

function statusLine(status: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
}

function createDateLine(): (nowMs: number) => string {
  let second = Number.NaN
  let line = ''
  return (nowMs) => {
    const now = Math.floor(nowMs / 1_000)
    if (now !== second) {
      second = now
      line = `Date: ${new Date(now * 1_000).toUTCString()}\r\n`
    }
    return line
  }
}
