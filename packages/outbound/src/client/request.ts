import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import { byName } from '../headers.ts'
import type { AnswerHead } from './answer-reader.ts'
import { OriginCall, type RequestBody } from './call.ts'
import type { KeptUse, OriginPool } from './pool.ts'

type OriginRequest = {
  method: string
  path: string
  headers: readonly string[]
  /** Limits the wait for a connection, then the silence before and within the response. */
  silenceMs: number
  body?: { framing: Exclude<RequestBody, 'none'>; content: Readable } | null
  keptUse?: KeptUse
  signal?: AbortSignal
}

export type OriginResponse = AnswerHead & {
  headers: IncomingHttpHeaders
  /** Destroying it early ends the connection. Fails when the response breaks off. */
  body: Readable
}

export type SentRequest = {
  call: OriginCall
  response: Promise<OriginResponse>
}

/** Sends a request and returns its response as a stream. Throws when the request is invalid. */
export function sendRequest(pool: OriginPool, origin: Origin, request: OriginRequest): SentRequest {
  const { method, path, headers, silenceMs, body = null, keptUse, signal } = request
  const { promise, resolve, reject } = Promise.withResolvers<OriginResponse>()
  // The request may be cancelled before the response is awaited.
  promise.catch(() => {})
  let stream: Readable | null = null
  const call = new OriginCall(
    {
      method,
      path,
      headers,
      body: body?.framing ?? 'none',
      answerWaitMs: silenceMs,
      idleMs: silenceMs,
    },
    {
      ready: () => {
        body?.content.on('data', (part: Buffer) => call.write(part) || body.content.pause())
        body?.content.once('end', () => call.end([]))
      },
      drain: () => body?.content.resume(),
      continued: () => {},
      head: (head) => {
        stream = new Readable({
          read: () => call.resume(),
          destroy: (error, done) => {
            call.destroy()
            done(error)
          },
        })
        // The response may fail when it is no longer read.
        stream.on('error', () => {})
        resolve({ ...head, headers: byName(head.rawHeaders), body: stream })
      },
      data: (part) => stream!.push(part),
      end: () => stream!.push(null),
      fail: (error) => {
        if (stream === null) reject(error)
        else stream.destroy(error)
      },
    },
  )
  const abort = () => call.destroy(signal?.reason as Error)
  if (signal?.aborted === true) reject(signal.reason)
  else {
    signal?.addEventListener('abort', abort, { once: true })
    pool.send(call, origin, keptUse)
  }
  const settle = () => signal?.removeEventListener('abort', abort)
  promise.then(({ body }) => body.once('close', settle), settle)
  return { call, response: promise }
}
