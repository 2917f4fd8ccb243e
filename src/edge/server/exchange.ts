import type { IncomingHttpHeaders } from 'node:http'
import type { Readable, Writable } from 'node:stream'

/** What a request says before its body; a page from memory is chosen by nothing else. */
export type RequestHead = {
  method?: string | undefined
  url?: string | undefined
  headers: IncomingHttpHeaders
  socket: {
    remoteAddress?: string | undefined
    encrypted?: unknown
  }
}

/**
 * A request of HTTP/1.1 or HTTP/2, as the edge reads it: node's IncomingMessage
 * is one, and so is `Http2Request`. `Host` is there in either.
 */
export type EdgeRequest = Readable &
  RequestHead & {
    /** `1.0`, `1.1` or `2.0`. */
    httpVersion: string
    /** Flat: name, value, name, value ... Of HTTP/2 without pseudo headers. */
    rawHeaders: string[]
    rawTrailers: string[]
    /** The body has been read to its end. */
    complete: boolean
    socket: {
      /** Ends the connection; of HTTP/2, where others use it too, only this exchange. */
      destroy(): unknown
    }
  }

/** The answer to one: node's ServerResponse, or `Http2Response`. */
export type EdgeResponse = Writable & {
  readonly headersSent: boolean
  /** Once they are sent: that of the answer. */
  readonly statusCode: number
  /** false: the connection ends behind this answer. HTTP/2 has no such thing. */
  shouldKeepAlive: boolean
  /** Throws for a status or header that no message may have. */
  writeHead(status: number, headers: string[]): EdgeResponse
  writeHead(status: number, reason: string | undefined, headers: string[]): EdgeResponse
  addTrailers(trailers: [string, string][]): void
  writeContinue(): void
  /** Sends the head before there is a body. */
  flushHeaders(): void
  readonly req: { method?: string | undefined; complete: boolean; headers: IncomingHttpHeaders }
}
