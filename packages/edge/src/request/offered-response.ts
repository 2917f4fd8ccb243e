import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { verdictHeaders } from '@prepaint/outbound/headers'
import type { EdgeResponse } from '../server/exchange.ts'

const PAGE_STATUS = 'X-Prepaint-Status'

/**
 * Offers a response to a site's own front, over the response to the front: 200 with the page, whose status is in the header
 * `X-Prepaint-Status`, or 204 if there is no page. `statusCode` is that of the page, as the edge reports it.
 */
export class OfferedResponse extends Writable implements EdgeResponse {
  statusCode = 200
  readonly #res: ServerResponse

  constructor(res: ServerResponse) {
    super({ decodeStrings: true })
    this.#res = res
    res.on('error', () => {})
    res.once('close', () => {
      if (!this.writableFinished) this.destroy()
    })
  }

  get req(): EdgeResponse['req'] {
    return this.#res.req
  }

  get headersSent(): boolean {
    return this.#res.headersSent
  }

  get shouldKeepAlive(): boolean {
    return this.#res.shouldKeepAlive
  }

  set shouldKeepAlive(should: boolean) {
    this.#res.shouldKeepAlive = should
  }

  writeHead(status: number, headers: string[]): this
  writeHead(status: number, reason: string | undefined, headers: string[]): this
  writeHead(status: number, ...rest: [string[]] | [string | undefined, string[]]): this {
    const headers = rest.at(-1) as string[]
    const verdict = headers[headers.indexOf('X-Prepaint') + 1] ?? ''
    // Answers without a site have no page.
    if (verdict.startsWith('none')) {
      this.#res.writeHead(204, ['X-Prepaint', 'pass; unavailable'])
      this.statusCode = 204
      return this
    }
    this.#res.writeHead(200, [...headers, PAGE_STATUS, `${status}`])
    this.statusCode = status
    return this
  }

  /** Answers 204: the front asks the origin itself. */
  leaveToOrigin(verdict: string): void {
    this.#res.writeHead(204, verdictHeaders(verdict))
    this.statusCode = 204
    this.end()
  }

  addTrailers(trailers: [string, string][]): void {
    this.#res.addTrailers(trailers)
  }

  writeContinue(): void {
    this.#res.writeContinue()
  }

  flushHeaders(): void {
    this.#res.flushHeaders()
  }

  override _write(part: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#res.write(part, done)
  }

  override _final(done: () => void): void {
    this.#res.end(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // Break off, so that a partial response never looks complete.
    if (!this.#res.writableFinished) this.#res.destroy()
    done(error)
  }
}
