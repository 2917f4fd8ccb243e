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

export type Transport = (request: AcmeRequest) => Promise<AcmeAnswer>

type TransportOptions = {
  userAgent: string
  timeoutMs?: number
  limitBytes?: number
  /** Extra CA certificates (PEM) for tests. For a private CA use NODE_EXTRA_CA_CERTS. */
  ca?: string
}

/** No address guard: a CA may be private. No redirects. Rejects with AcmeProblem or the signal's reason. */
export function createTransport(options: TransportOptions): Transport {
  const { userAgent, timeoutMs = 20_000, limitBytes = 1_048_576, ca } = options
  return async ({ method, url, body, signal }) => {
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
    if (!/^https:\/\//i.test(url) || !URL.canParse(url)) {
      throw new AcmeProblem('unreachable', 'the CA names an address that is not https')
    }
    try {
      const request = https.request(url, {
        method,
        agent: false,
        signal: within,
        headers: {
          'User-Agent': userAgent,
          ...(body !== undefined && {
            'Content-Type': 'application/jose+json',
            'Content-Length': Buffer.byteLength(body),
          }),
        },
        ...(ca !== undefined && { ca }),
      })
      request.on('error', () => {})
      request.on('response', (answer) => answer.on('error', () => {}))
      request.end(body)
      const [response] = (await once(request, 'response', { signal: within })) as [http.IncomingMessage]
      const parts: Buffer[] = []
      let bytes = 0
      for await (const part of response as AsyncIterable<Buffer>) {
        bytes += part.length
        if (bytes > limitBytes) throw new Error(`its answer has more than ${limitBytes} bytes`)
        parts.push(part)
      }
      return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }
    } catch (cause) {
      signal.throwIfAborted()
      const why = within.aborted ? `no answer within ${timeoutMs / 1_000} s` : wordsOf(cause)
      throw new AcmeProblem('unreachable', `the CA cannot be reached: ${why}`, { cause })
    }
  }
}

/** Omits the CA's address, which only the log has. */
function wordsOf(cause: unknown): string {
  const { code, syscall, message } = cause as NodeJS.ErrnoException
  return syscall !== undefined || cause instanceof AggregateError ? (code ?? 'no connection') : message
}
