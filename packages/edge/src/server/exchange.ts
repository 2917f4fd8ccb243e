import type { IncomingHttpHeaders } from 'node:http'
import type { Readable, Writable } from 'node:stream'
import type { PageAnswer } from '../page/send-page.ts'

export type RequestHead = {
  method?: string | undefined
  url?: string | undefined
  headers: IncomingHttpHeaders
  socket: {
    remoteAddress?: string | undefined
    encrypted?: unknown
  }
}

/** An HTTP/1.1 or HTTP/2 request: Node's IncomingMessage or `Http2Request`. Always has `Host`. */
export type EdgeRequest = Readable &
  RequestHead & {
    httpVersion: string
    /** Names and values by turns, without HTTP/2 pseudo headers. */
    rawHeaders: string[]
    rawTrailers: string[]
    complete: boolean
    socket: {
      /** Ends the connection; for HTTP/2, only this stream. */
      destroy(): unknown
    }
  }

export type EdgeResponse = Writable & {
  readonly headersSent: boolean
  readonly statusCode: number
  /** If false, the connection is closed after this response. Has no effect in HTTP/2. */
  shouldKeepAlive: boolean
  /** Throws on an invalid status or header. */
  writeHead(status: number, headers: string[]): EdgeResponse
  writeHead(status: number, reason: string | undefined, headers: string[]): EdgeResponse
  addTrailers(trailers: [string, string][]): void
  writeContinue(): void
  flushHeaders(): void
  readonly req: { method?: string | undefined; complete: boolean; headers: IncomingHttpHeaders }
}

/** Writes a hit. Returns null if the kernel took the whole response, otherwise an emitter of `close`. */
export type SendAnswer = (answer: PageAnswer, nowMs: number) => NodeJS.EventEmitter | null
