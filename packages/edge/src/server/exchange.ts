import type { IncomingHttpHeaders } from 'node:http'
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

/** An HTTP/1.1 or HTTP/2 request: Node's IncomingMessage, `BodilessRequest` or `Http2Request`. Always has `Host`. */
export type EdgeRequest = NodeJS.EventEmitter &
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
    /** These stop and start the events `data` of the body. */
    pause(): unknown
    resume(): unknown
  }

/** Emits `drain`, `finish` when all is sent, and `close`. Node's ServerResponse, `LaneResponse` or `Http2Response`. */
export type EdgeResponse = NodeJS.EventEmitter & {
  readonly headersSent: boolean
  readonly statusCode: number
  /** Also after `close`: nothing can be written any more. */
  readonly destroyed: boolean
  readonly closed: boolean
  readonly writableFinished: boolean
  /** If false, the connection is closed after this response. Has no effect in HTTP/2. */
  shouldKeepAlive: boolean
  /** Throws on an invalid status or header. */
  writeHead(status: number, headers: string[]): EdgeResponse
  writeHead(status: number, reason: string | undefined, headers: string[]): EdgeResponse
  /** Returns false if the caller shall wait for `drain`. */
  write(part: Buffer | string): boolean
  end(part?: Buffer | string): unknown
  /** Breaks off. */
  destroy(): unknown
  addTrailers(trailers: [string, string][]): void
  writeContinue(): void
  flushHeaders(): void
  /** Ends the stream with ENHANCE_YOUR_CALM, unless the answer has begun. HTTP/1.1 has no such thing. */
  refuse?(): void
  /** Whether `refuse` has ended it. */
  readonly isRefused?: boolean
  readonly req: { method?: string | undefined; complete: boolean; headers: IncomingHttpHeaders }
}

/** Writes a hit. Returns null if the kernel took the whole response, otherwise an emitter of `close`. */
export type SendAnswer = (answer: PageAnswer, nowMs: number) => NodeJS.EventEmitter | null
