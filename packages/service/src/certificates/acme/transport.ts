import { once } from 'node:events'
import type http from 'node:http'
import https from 'node:https'

import { AcmeProblem } from './problem.ts'

export type AcmeAnswer = { status: number; headers: http.IncomingHttpHeaders; body: Buffer }

export type AcmeRequest = {
  method: 'GET' | 'HEAD' | 'POST'
  url: string
  body?: string
  signal: AbortSignal
}

type TransportOptions = {
  userAgent: string
  timeoutMs?: number
  limitBytes?: number
  /** Extra CA certificates (PEM) for tests. For a private CA use NODE_EXTRA_CA_CERTS. */
  ca?: string
}

/** Requests to a CA. There is no address guard, because a CA may be private, and no redirect is followed. */
export class Transport {
  readonly #userAgent: string
  readonly #timeoutMs: number
  readonly #limitBytes: number
  readonly #ca: string | undefined

  constructor({ userAgent, timeoutMs = 20_000, limitBytes = 1_048_576, ca }: TransportOptions) {
    this.#userAgent = userAgent
    this.#timeoutMs = timeoutMs
    this.#limitBytes = limitBytes
    this.#ca = ca
  }

  /** Rejects with AcmeProblem or the signal's reason. */
  async send({ method, url, body, signal }: AcmeRequest): Promise<AcmeAnswer> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)])
    if (!/^https:\/\//i.test(url) || !URL.canParse(url)) {
      throw new AcmeProblem('unreachable', 'the CA names an address that is not https')
    }
    const headers: http.OutgoingHttpHeaders = { 'User-Agent': this.#userAgent }
    if (body !== undefined) {
      headers['Content-Type'] = 'application/jose+json'
      headers['Content-Length'] = Buffer.byteLength(body)
    }
    try {
      const request = https.request(url, { method, agent: false, signal: within, headers, ca: this.#ca })
      request.on('error', () => {})
      request.on('response', (answer) => answer.on('error', () => {}))
      request.end(body)
      const [response] = (await once(request, 'response', { signal: within })) as [http.IncomingMessage]
      const { statusCode = 0, headers: answered } = response
      return { status: statusCode, headers: answered, body: await readBody(response, this.#limitBytes) }
    } catch (cause) {
      signal.throwIfAborted()
      const why = within.aborted ? `no answer within ${this.#timeoutMs / 1_000} s` : wordsOf(cause)
      throw new AcmeProblem('unreachable', `the CA cannot be reached: ${why}`, { cause })
    }
  }
}

async function readBody(response: http.IncomingMessage, limitBytes: number): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > limitBytes) throw new Error(`its answer has more than ${limitBytes} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Omits the CA's address, which only the log has. */
function wordsOf(cause: unknown): string {
  const { code, syscall, message } = cause as NodeJS.ErrnoException
  return syscall !== undefined || cause instanceof AggregateError ? (code ?? 'no connection') : message
}
