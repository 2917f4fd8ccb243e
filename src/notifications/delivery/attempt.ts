import { createHmac } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OriginPool } from '../../outbound/client/pool.ts'
import { sendRequest } from '../../outbound/client/request.ts'
import { readText } from '../../outbound/get.ts'
import { connectFault } from '../../outbound/guarded-connect.ts'
import type { DeliveryError } from './deliveries.ts'
import { endpointTarget } from './endpoint-url.ts'
import type { EndpointFormat } from './endpoints.ts'
import { slackText } from './slack.ts'

export const CONNECT_MS = 5_000
const HEAD_MS = 10_000
const BODY_MS = 5_000
const BODY_BYTES = 16 * 1024
const ANSWER_CHARS = 1_000

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

/** Standard Webhooks: `<id>.<timestamp>.<body>`, HMAC-SHA256. */
export function signature(secret: Buffer, id: string, seconds: number, body: string): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${seconds}.${body}`).digest('base64')}`
}

/** Never rejects. On a connection of its own, so that the address is checked each time; follows no redirect. */
export async function attemptDelivery(
  client: OriginPool,
  { endpoint, url, format, secret, eventId, body: event, seconds }: Outgoing,
  { userAgent, nowMs, signal }: { userAgent: string; nowMs(): number; signal: AbortSignal },
): Promise<Attempt> {
  const startedMs = nowMs()
  const body = Buffer.from(format === 'slack' ? JSON.stringify({ text: slackText(event) }) : event)
  const { origin, path } = endpointTarget(url, endpoint)
  const headers = ['Host', origin.authority, 'User-Agent', userAgent, 'Content-Type', 'application/json']
  headers.push('Content-Length', String(body.length), 'Accept', '*/*', 'Connection', 'close')
  headers.push('webhook-id', eventId, 'webhook-timestamp', String(seconds))
  headers.push('webhook-signature', signature(secret, eventId, seconds, body.toString()))
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new TooLate()), HEAD_MS)
  try {
    const sent = sendRequest(client, origin, {
      ...{ method: 'POST', path, headers, silenceMs: HEAD_MS + BODY_MS, keptUse: 'none' },
      body: { framing: { bytes: body.length }, content: Readable.from([body]) },
      signal: AbortSignal.any([late.signal, signal]),
    })
    const { statusCode: status, headers: answered, body: stream } = await sent.response
    clearTimeout(timer)
    const read = readText(stream, BODY_BYTES).then(
      ({ text }) => text,
      () => '',
    )
    const bodyTimer = new AbortController()
    const text = await Promise.race([read, sleep(BODY_MS, '', { signal: bodyTimer.signal }).catch(() => '')])
    bodyTimer.abort()
    stream.destroy()
    return {
      status,
      error: status >= 300 && status < 400 ? 'redirect' : null,
      answer: printable(text).slice(0, ANSWER_CHARS),
      ms: Math.round(nowMs() - startedMs),
      retryAfterMs: retryAfter(answered['retry-after'], nowMs()),
    }
  } catch (error) {
    const ms = Math.round(nowMs() - startedMs)
    return { status: null, error: errorOf(error), answer: null, ms, retryAfterMs: 0 }
  } finally {
    clearTimeout(timer)
  }
}

class TooLate extends Error {
  override name = 'TooLate'
}

function errorOf(error: unknown): DeliveryError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO|ERR_SSL|ERR_TLS|EPROTO/.test(code)) return 'tls'
  if (error instanceof TooLate) return 'timed-out'
  return connectFault(error) ?? 'unreachable'
}

const RETRY_AFTER_LIMIT_MS = 4 * 3_600_000

/** Seconds or a date (RFC 9110, section 10.2.3). */
function retryAfter(header: string | undefined, nowMs: number): number {
  if (header === undefined) return 0
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(0, ms), RETRY_AFTER_LIMIT_MS)
}

/** Without control and direction characters, and as PostgreSQL can store it. */
function printable(text: string): string {
  return text.toWellFormed().replace(/[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu, ' ')
}
