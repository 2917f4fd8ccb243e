import { EventEmitter } from 'node:events'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { checkedLines } from '@prepaint/outbound/headers'
import type { BodilessRequest } from './bodiless-request.ts'
import type { EdgeResponse } from './exchange.ts'
import { writeTogether } from './write-together.ts'

/** What a response needs to know of its connection. */
export type AnsweringConnection = {
  readonly socket: Socket
  /**
   * Called once, when a head is made. Returns its lines about the connection, with the date unless the response has one. If
   * `keepsOpen` is false, the connection is closed behind this response.
   */
  beginAnswer(hasDate: boolean, keepsOpen: boolean): string
  /** Called once, when the kernel has taken the whole response. */
  answered(): void
}

// RFC 9112, section 4
const NOT_IN_REASON = /[^\t\x20-\x7e\x80-\xff]/
const NOTHING = Buffer.alloc(0)

/**
 * Writes the same bytes as Node's `ServerResponse`, for less than a third of its processor time: it is no stream, makes its head in one
 * string, and writes a short response at once.
 */
export class LaneResponse extends EventEmitter implements EdgeResponse {
  readonly req: BodilessRequest
  shouldKeepAlive = true
  statusCode = 200
  headersSent = false
  destroyed = false
  closed = false
  writableEnded = false
  writableFinished = false
  readonly #connection: AnsweringConnection
  /** Is written together with the first bytes of the body. */
  #head = ''
  #hasBody = true
  #isChunked = false
  #trailers = ''

  constructor(req: BodilessRequest, connection: AnsweringConnection) {
    super()
    this.req = req
    this.#connection = connection
  }

  writeHead(
    status: number,
    ...rest: [headers: string[]] | [reason: string | undefined, headers: string[]]
  ): this {
    if (this.headersSent) throw new Error('The head of this response was written before')
    if (!(status >= 200 && status <= 999)) throw new RangeError(`No response has the status ${status}`)
    const headers = rest.at(-1) as string[]
    const reason = rest.length === 2 && rest[0] !== undefined ? rest[0] : (STATUS_CODES[status] ?? 'unknown')
    if (NOT_IN_REASON.test(reason)) throw new TypeError('No status line can say this')
    const lines = checkedLines(headers)
    let hasDate = false
    let hasLength = false
    for (let at = 0; at < headers.length; at += 2) {
      const name = headers[at]!
      if (name.length === DATE.length) hasDate ||= name.toLowerCase() === DATE
      else if (name.length === LENGTH.length) hasLength ||= name.toLowerCase() === LENGTH
    }
    this.statusCode = status
    this.#hasBody = this.req.method !== 'HEAD' && status !== 204 && status !== 304
    this.#isChunked = this.#hasBody && !hasLength
    const coding = this.#isChunked ? 'Transfer-Encoding: chunked\r\n' : ''
    const own = this.#connection.beginAnswer(hasDate, this.shouldKeepAlive)
    this.#head = `HTTP/1.1 ${status} ${reason}\r\n${lines}${own}${coding}\r\n`
    this.headersSent = true
    return this
  }

  /** A request without a body waits for nothing. */
  writeContinue(): void {}

  addTrailers(trailers: [string, string][]): void {
    this.#trailers = checkedLines(trailers.flat())
  }

  flushHeaders(): void {
    if (!this.destroyed) this.#write(NOTHING)
  }

  /** Returns false if the caller shall wait for `drain`. */
  write(part: Buffer | string): boolean {
    if (this.destroyed || this.writableEnded) return true
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    if (!this.#hasBody || bytes.length === 0) return true
    if (!this.#isChunked) return this.#write(bytes)
    const { socket } = this.#connection
    socket.cork()
    this.#write(Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1'))
    socket.write(bytes)
    const mayGoOn = socket.write('\r\n', 'latin1')
    socket.uncork()
    return mayGoOn
  }

  end(part?: Buffer | string): this {
    if (this.destroyed || this.writableEnded) return this
    const { socket } = this.#connection
    if (this.#isChunked) {
      socket.cork()
      if (part !== undefined) this.write(part)
      this.#write(Buffer.from(`0\r\n${this.#trailers}\r\n`, 'latin1'))
      socket.uncork()
    } else {
      const bytes = typeof part === 'string' ? Buffer.from(part) : part
      this.#write(this.#hasBody && bytes !== undefined ? bytes : NOTHING)
    }
    this.writableEnded = true
    // Written synchronously, as most responses are.
    if (socket.writableLength === 0 && socket.errored === null) this.#finish()
    else {
      socket.write('', 'latin1', (error) => {
        if (!error) this.#finish()
      })
    }
    return this
  }

  /** Breaks off, so that a partial response never looks complete. The connection of a whole response stays. */
  destroy(): this {
    if (this.destroyed) return this
    this.destroyed = true
    this.#connection.socket.destroy()
    return this
  }

  /** Call when the connection has closed. */
  connectionClosed(): void {
    this.#close()
  }

  #write(bytes: Buffer): boolean {
    const head = this.#head
    this.#head = ''
    const { socket } = this.#connection
    if (head === '') return bytes.length === 0 || socket.write(bytes)
    return writeTogether(socket, head, bytes)
  }

  #finish(): void {
    if (this.destroyed || this.closed) return
    this.writableFinished = true
    this.emit('finish')
    this.#close()
    this.#connection.answered()
  }

  #close(): void {
    if (this.closed) return
    this.closed = true
    this.destroyed = true
    this.emit('close')
  }
}

const DATE = 'date'
const LENGTH = 'content-length'
