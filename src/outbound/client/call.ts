import type net from 'node:net'

import type { AnswerHead } from './answer-reader.ts'
import type { OriginConnection } from './connection.ts'

/** What delimits the body of a request: nothing, as there is none; its length; chunks. */
export type RequestBody = 'none' | 'chunks' | { bytes: number }

type CallRequest = {
  method: string
  /** With the query, as it came. */
  path: string
  /** Flat and complete, with those that delimit the body. */
  headers: readonly string[]
  body: RequestBody
  /** The origin may be silent for so long before its answer begins. */
  answerWaitMs: number
  /** And for so long in the middle of it. */
  idleMs: number
  /** The origin may answer 101: `upgraded` is told. */
  mayUpgrade?: boolean
}

/** What becomes of a call. After `fail` or `end` nothing more is said. */
export type TakeCall = {
  /** It has a connection: the body may come. */
  ready(): void
  /** More of the body may come. */
  drain(): void
  /** The origin said 100. */
  continued(): void
  /** An error that it throws fails the call. */
  head(head: AnswerHead): void
  /** false: no more, until `resume`. */
  data(part: Buffer): boolean
  /** `trailers`: flat. */
  end(trailers: string[]): void
  fail(error: Error): void
  /** 101: the socket is the caller's, paused; `rest` came right behind the head. */
  upgraded?(head: AnswerHead, socket: net.Socket, rest: Buffer): void
}

// RFC 9112, sections 3 and 5. Whatever it came by, nothing may be two lines, or two words, on its way to the origin.
const NOT_IN_TARGET = /[^\x21-\x7e\x80-\xff]/
const NOT_IN_NAME = /[^!#$%&'*+\-.^_`|~0-9A-Za-z]|^$/
const NOT_IN_VALUE = /[^\t\x20-\x7e\x80-\xff]/

/** The origin did not answer, or gave no connection, in time. */
export class OriginSilent extends Error {
  override name = 'OriginSilent'

  constructor() {
    super('The origin was silent for too long')
  }
}

/** One request to an origin and its answer. To be given to the pool, which finds it a connection. */
export class OriginCall {
  readonly request: CallRequest
  readonly take: TakeCall
  /** As it goes over the wire. */
  readonly head: string
  connection: OriginConnection | null = null
  /** While it waits for a connection. */
  leaveQueue: (() => void) | null = null
  /** The connection had served others; the origin may have been about to close it. */
  onKeptConnection = false
  /** Something of the answer has come. */
  isAnswered = false
  /** Nothing is left to be sent. */
  isSent: boolean
  /** It has ended, in whatever way. */
  isOver = false
  /** The connection takes no more of the body for now. */
  needsDrain = false
  #leftBytes: number

  /** Throws for what no request may have in it. */
  constructor(request: CallRequest, take: TakeCall) {
    this.request = request
    this.take = take
    this.head = requestHead(request)
    this.isSent = request.body === 'none'
    this.#leftBytes = typeof request.body === 'object' ? request.body.bytes : 0
  }

  /** A part of the body. false: no more, until `drain`. */
  write(part: Buffer): boolean {
    if (this.isOver || this.isSent || part.length === 0) return true
    const socket = this.connection!.socket
    if (this.request.body === 'chunks') {
      socket.cork()
      socket.write(`${part.length.toString(16)}\r\n`, 'latin1')
      socket.write(part)
      this.needsDrain = !socket.write('\r\n', 'latin1')
      socket.uncork()
    } else {
      this.#leftBytes -= part.length
      // The rest would be taken for the next request.
      if (this.#leftBytes < 0) this.destroy(new Error('The body is longer than it was to be'))
      else this.needsDrain = !socket.write(part)
    }
    return !this.needsDrain
  }

  /** The body has come to its end. */
  end(trailers: readonly (readonly [name: string, value: string])[]): void {
    if (this.isOver || this.isSent) return
    if (this.#leftBytes > 0) return void this.destroy(new Error('The body is shorter than it was to be'))
    if (this.request.body === 'chunks') {
      const lines = trailers.map(([name, value]) => headerLine(name, value)).join('')
      this.connection!.socket.write(`0\r\n${lines}\r\n`, 'latin1')
    }
    this.isSent = true
    this.connection!.sent()
  }

  resume(): void {
    this.connection?.resume(this)
  }

  /** Ends it and its connection. With an error `fail` is told. */
  destroy(error?: Error): void {
    if (this.isOver) return
    this.isOver = true
    this.leaveQueue?.()
    this.connection?.drop(this)
    if (error !== undefined) this.take.fail(error)
  }
}

function requestHead({ method, path, headers }: CallRequest): string {
  if (NOT_IN_NAME.test(method) || path === '' || NOT_IN_TARGET.test(path)) {
    throw new TypeError('No request line can say this method and path')
  }
  let head = `${method} ${path} HTTP/1.1\r\n`
  for (let at = 0; at < headers.length; at += 2) head += headerLine(headers[at]!, headers[at + 1]!)
  return `${head}\r\n`
}

function headerLine(name: string, value: string): string {
  if (NOT_IN_NAME.test(name) || NOT_IN_VALUE.test(value))
    throw new TypeError(`No header can say this: ${name}`)
  return `${name}: ${value}\r\n`
}

// RFC 9112, section 5: no folded lines, no space before the colon, no bare CR or LF. Of one meaning, so nothing is tried twice.
const LINES = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/

/**
 * The header lines of an HTTP/1.x message (Latin-1, each with its line break) as a
 * flat list, without the white space around values; null: they are malformed.
 */
export function headerLines(text: string): string[] | null {
  if (!LINES.test(text)) return null
  const flat: string[] = []
  for (let at = 0; at < text.length; ) {
    const colon = text.indexOf(':', at)
    const end = text.indexOf('\r\n', colon)
    flat.push(text.slice(at, colon), trimmed(text, colon + 1, end))
    at = end + 2
  }
  return flat
}

/** `trim` would take more for white space than HTTP does. */
function trimmed(text: string, from: number, to: number): string {
  let [start, end] = [from, to]
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
