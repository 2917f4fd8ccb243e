import type net from 'node:net'
import { checkedLines } from '../headers.ts'
import type { AnswerHead } from './answer-reader.ts'
import type { OriginConnection } from './connection.ts'

export type RequestBody = 'none' | 'chunks' | { bytes: number }

type CallRequest = {
  method: string
  path: string
  /** Flat and complete, including the headers that delimit the body. */
  headers: readonly string[]
  body: RequestBody
  /** Longest silence before the response. */
  answerWaitMs: number
  /** Longest silence within the response. */
  idleMs: number
  mayUpgrade?: boolean
}

/** Callbacks of a call. None follows `fail` or `end`. */
export type TakeCall = {
  ready(): void
  drain(): void
  continued(): void
  /** May throw to fail the call. */
  head(head: AnswerHead): void
  /** Returns false to pause until `resume`. */
  data(part: Buffer): boolean
  end(trailers: string[]): void
  fail(error: Error): void
  upgraded?(head: AnswerHead, socket: net.Socket, rest: Buffer): void
}

// RFC 9112, section 3. Rejects characters that could split a line or a word.
const NOT_IN_TARGET = /[^\x21-\x7e\x80-\xff]/
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

export class OriginSilent extends Error {
  override name = 'OriginSilent'

  constructor() {
    super('The origin was silent for too long')
  }
}

/** One request and its response. The pool finds a connection for it. */
export class OriginCall {
  readonly request: CallRequest
  readonly take: TakeCall
  readonly head: string
  connection: OriginConnection | null = null
  leaveQueue: (() => void) | null = null
  /** Whether the connection was reused: the origin may have been about to close it. */
  onKeptConnection = false
  /** Whether a part of the response has arrived. */
  isAnswered = false
  isSent: boolean
  isOver = false
  needsDrain = false
  #leftBytes: number

  /** Throws on invalid characters in the request. */
  constructor(request: CallRequest, take: TakeCall) {
    this.request = request
    this.take = take
    this.head = requestHead(request)
    this.isSent = request.body === 'none'
    this.#leftBytes = typeof request.body === 'object' ? request.body.bytes : 0
  }

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
      if (this.#leftBytes < 0) this.destroy(new Error('The body is longer than it was to be'))
      else this.needsDrain = !socket.write(part)
    }
    return !this.needsDrain
  }

  end(trailers: readonly (readonly [name: string, value: string])[]): void {
    if (this.isOver || this.isSent) return
    if (this.#leftBytes > 0) {
      this.destroy(new Error('The body is shorter than it was to be'))
      return
    }
    if (this.request.body === 'chunks') {
      const lines = checkedLines(trailers.flat())
      this.connection!.socket.write(`0\r\n${lines}\r\n`, 'latin1')
    }
    this.isSent = true
    this.connection!.sent()
  }

  resume(): void {
    this.connection?.resume(this)
  }

  /** Ends the call and its connection. With an error, `fail` is called. */
  destroy(error?: Error): void {
    if (this.isOver) return
    this.isOver = true
    this.leaveQueue?.()
    this.connection?.drop(this)
    if (error !== undefined) this.take.fail(error)
  }
}

function requestHead({ method, path, headers }: CallRequest): string {
  if (!METHOD.test(method) || path === '' || NOT_IN_TARGET.test(path)) {
    throw new TypeError('No request line can say this method and path')
  }
  return `${method} ${path} HTTP/1.1\r\n${checkedLines(headers)}\r\n`
}

// RFC 9112, section 5: no folded lines, no space before the colon, no bare CR or LF. Linear time.
const LINES = /^(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/

/** Reads header lines (Latin-1, with line breaks) into a flat list of trimmed values. Returns null if they are malformed. */
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

/** `trim` would remove characters that are not HTTP white space. */
function trimmed(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
