import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { EdgeRequest } from './exchange.ts'

type ReadHead = Pick<EdgeRequest, 'httpVersion' | 'rawHeaders' | 'socket'> & {
  method: string
  url: string
  headers: IncomingHttpHeaders
}

/** A whole request without a body. It is no stream, which would cost more than the reading of its head. */
export class BodilessRequest extends EventEmitter implements EdgeRequest {
  readonly httpVersion: string
  readonly method: string
  url: string
  readonly headers: IncomingHttpHeaders
  rawHeaders: string[]
  readonly rawTrailers: string[] = []
  readonly complete = true
  readonly socket: EdgeRequest['socket']

  constructor({ httpVersion, method, url, headers, rawHeaders, socket }: ReadHead) {
    super()
    this.httpVersion = httpVersion
    this.method = method
    this.url = url
    this.headers = headers
    this.rawHeaders = rawHeaders
    this.socket = socket
  }

  pause(): this {
    return this
  }

  resume(): this {
    return this
  }
}
