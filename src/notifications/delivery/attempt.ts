import { createHmac } from 'node:crypto'
import { Readable } from 'node:stream'
import { plainText, retryAfterMs } from '../../outbound/answers.ts'
import type { OriginPool } from '../../outbound/client/pool.ts'
import { sendRequest } from '../../outbound/client/request.ts'
import { readText } from '../../outbound/get.ts'
import { connectFault } from '../../outbound/guarded-connect.ts'
import { readOrigin } from '../../outbound/origin.ts'
import { within } from '../../within.ts'
import type { Attempt, ClaimedRow } from './claim.ts'
import type { DeliveryError } from './deliveries.ts'
import { slackText } from './letters.ts'

export const CONNECT_MS = 5_000
const HEAD_MS = 10_000
const BODY_MS = 5_000
const BODY_BYTES = 16 * 1024
const ANSWER_CHARS = 1_000
const RETRY_AFTER_LIMIT_MS = 4 * 3_600_000

type Outgoing = Pick<ClaimedRow, 'endpoint_id' | 'url' | 'format' | 'event_id' | 'body' | 'seconds'>

type Around = {
  /** Raw bytes. */
  secret: Buffer
  userAgent: string
  nowMs(): number
  signal: AbortSignal
  headMs?: number
  bodyMs?: number
}

/** Never rejects. On a connection of its own, so that the address is checked each time; follows no redirect. */
export async function attemptDelivery(
  client: OriginPool,
  { endpoint_id: endpoint, url, format, event_id: id, body: event, seconds }: Outgoing,
  { secret, userAgent, nowMs, signal, headMs = HEAD_MS, bodyMs = BODY_MS }: Around,
): Promise<Attempt> {
  const startedMs = nowMs()
  const ended = (found: Partial<Attempt>): Attempt => ({
    ...{ end: 'retry', status: null, error: null, ms: Math.round(nowMs() - startedMs) },
    ...found,
  })
  const body = Buffer.from(format === 'slack' ? JSON.stringify({ text: slackText(event) }) : event)
  // Standard Webhooks: HMAC-SHA256 over `<id>.<timestamp>.<body>`.
  const mac = createHmac('sha256', secret).update(`${id}.${seconds}.`).update(body).digest('base64')
  const { protocol, host, pathname, search } = new URL(url)
  const origin = readOrigin(`${protocol}//${host}`, `endpoint ${endpoint}`)
  const headers = ['Host', origin.authority, 'User-Agent', userAgent, 'Content-Type', 'application/json']
  headers.push('Content-Length', String(body.length), 'Accept', '*/*', 'Connection', 'close')
  headers.push('webhook-id', id, 'webhook-timestamp', String(seconds), 'webhook-signature', `v1,${mac}`)
  const over = new AbortController()
  try {
    const sent = sendRequest(client, origin, {
      ...{ method: 'POST', path: `${pathname}${search}`, headers, silenceMs: headMs + bodyMs },
      ...{ keptUse: 'none', signal: AbortSignal.any([over.signal, signal]) },
      body: { framing: { bytes: body.length }, content: Readable.from([body]) },
    })
    const response = await within(headMs, sent.response, null)
    if (response === null) return ended({ error: 'timed-out' })
    const { statusCode: status, headers: answered } = response
    const read = readText(response.body, BODY_BYTES).then(({ text }) => text)
    const text = await within(bodyMs, read, '').catch(() => '')
    const wantedMs = retryAfterMs(answered['retry-after'], nowMs()) ?? 0
    return ended({
      end: status >= 200 && status < 300 ? 'delivered' : status === 410 ? 'failed' : 'retry',
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
