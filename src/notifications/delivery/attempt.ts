import { createHmac } from 'node:crypto'
import { Readable } from 'node:stream'
import { plainText, retryAfterMs } from '../../outbound/answers.ts'
import type { OriginPool } from '../../outbound/client/pool.ts'
import { sendRequest } from '../../outbound/client/request.ts'
import { readText } from '../../outbound/get.ts'
import { connectFault } from '../../outbound/guarded-connect.ts'
import { within } from '../../within.ts'
import type { DeliveryError } from './deliveries.ts'
import { endpointTarget } from './endpoint-url.ts'
import type { EndpointFormat } from './endpoints.ts'
import { slackText } from './slack.ts'

export const CONNECT_MS = 5_000
const HEAD_MS = 10_000
const BODY_MS = 5_000
const BODY_BYTES = 16 * 1024
const ANSWER_CHARS = 1_000
const RETRY_AFTER_LIMIT_MS = 4 * 3_600_000

export type Outgoing = {
  endpoint: number
  url: string
  format: EndpointFormat
  /** Raw bytes of the secret. */
  secret: Buffer
  eventId: string
  body: string
  /** Unix time of this attempt. */
  seconds: number
}

/** What came back. Delivered: a 2xx status. */
export type Attempt = {
  status: number | null
  error: DeliveryError | null
  answer: string | null
  ms: number
  retryAfterMs: number
}

type Around = {
  userAgent: string
  nowMs(): number
  signal: AbortSignal
  headMs?: number
  bodyMs?: number
}

/** Never rejects. On a connection of its own, so that the address is checked each time; follows no redirect. */
export async function attemptDelivery(
  client: OriginPool,
  { endpoint, url, format, secret, eventId, body: event, seconds }: Outgoing,
  { userAgent, nowMs, signal, headMs = HEAD_MS, bodyMs = BODY_MS }: Around,
): Promise<Attempt> {
  const startedMs = nowMs()
  const ended = (found: Partial<Attempt>): Attempt => ({
    ...{ status: null, error: null, answer: null, retryAfterMs: 0, ms: Math.round(nowMs() - startedMs) },
    ...found,
  })
  const body = Buffer.from(format === 'slack' ? JSON.stringify({ text: slackText(event) }) : event)
  // Standard Webhooks: HMAC-SHA256 over `<id>.<timestamp>.<body>`.
  const mac = createHmac('sha256', secret).update(`${eventId}.${seconds}.`).update(body).digest('base64')
  const { origin, path } = endpointTarget(url, endpoint)
  const headers = ['Host', origin.authority, 'User-Agent', userAgent, 'Content-Type', 'application/json']
  headers.push('Content-Length', String(body.length), 'Accept', '*/*', 'Connection', 'close')
  headers.push('webhook-id', eventId, 'webhook-timestamp', String(seconds), 'webhook-signature', `v1,${mac}`)
  const over = new AbortController()
  try {
    const sent = sendRequest(client, origin, {
      ...{ method: 'POST', path, headers, silenceMs: headMs + bodyMs, keptUse: 'none' },
      body: { framing: { bytes: body.length }, content: Readable.from([body]) },
      signal: AbortSignal.any([over.signal, signal]),
    })
    const response = await within(headMs, sent.response, null)
    if (response === null) return ended({ error: 'timed-out' })
    const { statusCode: status, headers: answered } = response
    const read = readText(response.body, BODY_BYTES).then(({ text }) => text)
    const text = await within(bodyMs, read, '').catch(() => '')
    const wantedMs = retryAfterMs(answered['retry-after'], nowMs()) ?? 0
    return ended({
      ...{ status, error: status >= 300 && status < 400 ? 'redirect' : null },
      ...{ answer: plainText(text, ANSWER_CHARS), retryAfterMs: Math.min(wantedMs, RETRY_AFTER_LIMIT_MS) },
    })
  } catch (error) {
    return ended({ error: errorOf(error) })
  } finally {
    over.abort()
  }
}

function errorOf(error: unknown): DeliveryError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO|ERR_SSL|ERR_TLS|EPROTO/.test(code)) return 'tls'
  return connectFault(error) ?? 'unreachable'
}
