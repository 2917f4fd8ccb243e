import { createHmac } from 'node:crypto'
import { Readable } from 'node:stream'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import { type AddressGuard, connectFault, plainText, readOrigin, retryAfterMs } from '@prepaint/outbound'
import { createClient, type OriginPool, sendRequest } from '@prepaint/outbound/client'
import type { Listener } from '@prepaint/postgres/listener.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { startWhileDue } from '@prepaint/runtime/while-due.ts'
import { within } from '@prepaint/runtime/within.ts'
import type pg from 'pg'
import { channelPurpose, type Vault } from '../../certificates/vault/vault.ts'
import type { Mailer } from '../../mail/mailer.ts'
import { linkToken, secretOf } from './addresses.ts'
import { type Attempt, type ClaimedRow, claimDeliveries, storeAttempt } from './claim.ts'
import { DELIVERY_CHANNEL, type DeliveryError } from './deliveries.ts'
import { letterOf, slackText } from './letters.ts'

const AT_ONCE = 32
const POLL_MS = 1_000
const LEAST_POLL_MS = 20

type SenderDeps = {
  pool: pg.Pool
  listener: Pick<Listener, 'on'>
  guard: AddressGuard
  vault: Vault
  plans: PlanCatalogue
  clock: Clock
  log: Log
  version: string
  /** Divides the times of docs/notifications.md. */
  speed: number
  publicUrl: string
  /** Null: no SMTP server; e-mails wait. */
  mailer: Pick<Mailer, 'send'> | null
}

/**
 * Sends deliveries of the fleet. No transaction is open while a receiver is awaited. At `close`, attempts that are under
 * way are given up, and repeated by another node or the next start.
 */
export function startSender(deps: SenderDeps): { close(): Promise<void> } {
  const { pool, listener, guard, log, speed, mailer } = deps
  const client = createClient(guard, { connectTimeoutMs: CONNECT_MS })
  const closing = new AbortController()
  const running = new Set<Promise<void>>()
  let lastAccount = 0

  const loop = startWhileDue(Math.max(LEAST_POLL_MS, POLL_MS / speed), claim, (error) =>
    log.warn({ err: error }, 'deliveries could not be claimed'),
  )
  listener.on(DELIVERY_CHANNEL, loop.wake)

  async function claim(): Promise<boolean> {
    const slots = AT_ONCE - running.size
    if (slots === 0 || closing.signal.aborted) return false
    const of = { slots, afterAccount: lastAccount, byMail: mailer !== null, speed }
    const claimed = await claimDeliveries(pool, of)
    // After the last account, the first has its turn again.
    const isTurn = lastAccount > 0
    lastAccount = claimed.at(-1)?.[0]?.account_id ?? 0
    for (const rows of claimed) {
      const run = send(rows)
        .catch((error: unknown) => log.warn({ err: error }, 'the result of a delivery was not stored'))
        .finally(() => {
          running.delete(run)
          loop.wake()
        })
      running.add(run)
    }
    return claimed.length > 0 || isTurn
  }

  async function send(rows: readonly ClaimedRow[]): Promise<void> {
    const [first] = rows as [ClaimedRow]
    const attempt = await (first.format === 'mail' ? mail(deps, rows) : post(first)).catch(
      (error: unknown) => {
        log.error({ err: error }, 'a delivery could not be sent from this node')
        return { end: 'retry' } as const
      },
    )
    // The lease ends, and another node sends it.
    if (closing.signal.aborted && attempt.end === 'retry') return
    await storeAttempt(pool, rows, attempt, speed)
  }

  async function post(row: ClaimedRow): Promise<Attempt> {
    const { plans, vault, clock, version } = deps
    const isAsked = row.type === 'endpoint.test' || row.replay_of !== null
    const isOn = row.channel_state === 'confirmed' || isAsked
    if (!planNamed(plans, row.plan).webhooks || !isOn) return { end: 'cancelled' }
    const secret = vault.open(channelPurpose(row.channel_id), row.key_sealed!)
    const around = { userAgent: `Prepaint/${version}`, nowMs: clock.nowMs, signal: closing.signal }
    return attemptDelivery(client, row, { secret, ...around })
  }

  return {
    async close() {
      closing.abort(new Error('the node is shutting down'))
      await loop.close()
      await Promise.all(running)
      client.close()
    },
  }
}

/** One e-mail for the claimed rows of one address, oldest first. */
async function mail(
  { pool, vault, publicUrl, mailer }: Pick<SenderDeps, 'pool' | 'vault' | 'publicUrl' | 'mailer'>,
  rows: readonly ClaimedRow[],
): Promise<Attempt> {
  const [{ channel_id: id, type, address: to, channel_state: state, confirm_round: round }] = rows as [
    ClaimedRow,
  ]
  if (mailer === null) return { end: 'retry' }
  if (type !== 'mail.confirmation' && state !== 'confirmed') return { end: 'cancelled' }
  const secret = await secretOf(pool, vault, id)
  const unsubscribe = `${publicUrl}/unsubscribe/${linkToken(secret, id, 0)}`
  const confirm = `${publicUrl}/confirm#${linkToken(secret, id, round)}`
  const bodies = rows.map(({ body }) => body)
  const outcome = await mailer.send({
    to,
    ...letterOf(bodies, { unsubscribe, confirm, publicUrl }),
    // Made from the newest event: a repetition after a crash is recognised, and one that holds more is another e-mail.
    messageId: `<${rows.at(-1)!.event_id}.${id}@${new URL(publicUrl).hostname}>`,
    headers: {
      'List-Unsubscribe': `<${unsubscribe}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    },
  })
  if (outcome !== 'refused') return { end: outcome === 'sent' ? 'delivered' : 'retry' }
  await pool.query(`update channel set state = 'refused' where id = $1 and state <> 'unsubscribed'`, [id])
  return { end: 'failed' }
}

const CONNECT_MS = 5_000
const HEAD_MS = 10_000
const BODY_MS = 5_000
const BODY_BYTES = 16 * 1024
const ANSWER_CHARS = 1_000
const RETRY_AFTER_LIMIT_MS = 4 * 3_600_000

/** `secret`: raw bytes. */
type Around = {
  secret: Buffer
  userAgent: string
  nowMs(): number
  signal: AbortSignal
  headMs?: number
  bodyMs?: number
}

/** Does not reject. On a connection of its own, so that the address is checked each time; follows no redirect. */
export async function attemptDelivery(
  client: OriginPool,
  row: Pick<ClaimedRow, 'channel_id' | 'address' | 'format' | 'event_id' | 'body' | 'seconds'>,
  { secret, userAgent, nowMs, signal, headMs = HEAD_MS, bodyMs = BODY_MS }: Around,
): Promise<Attempt> {
  const { address, format, event_id: id, seconds } = row
  const startedMs = nowMs()
  const ended = (end: Attempt['end'], found: Partial<Attempt>): Attempt => {
    return { end, status: null, error: null, ms: Math.round(nowMs() - startedMs), ...found }
  }
  const body = Buffer.from(format === 'slack' ? JSON.stringify({ text: slackText(row.body) }) : row.body)
  // Standard Webhooks: HMAC-SHA256 over `<id>.<timestamp>.<body>`.
  const mac = createHmac('sha256', secret).update(`${id}.${seconds}.`).update(body).digest('base64')
  const { protocol, host, pathname, search } = new URL(address)
  const origin = readOrigin(`${protocol}//${host}`, `endpoint ${row.channel_id}`)
  const headers = ['Host', origin.authority, 'User-Agent', userAgent, 'Content-Type', 'application/json']
  headers.push('Content-Length', String(body.length), 'Accept', '*/*', 'Connection', 'close')
  headers.push('webhook-id', id, 'webhook-timestamp', String(seconds), 'webhook-signature', `v1,${mac}`)
  const over = new AbortController()
  try {
    const sent = sendRequest(client, origin, {
      method: 'POST',
      path: `${pathname}${search}`,
      headers,
      silenceMs: headMs + bodyMs,
      keptUse: 'none',
      signal: AbortSignal.any([over.signal, signal]),
      body: { framing: { bytes: body.length }, content: Readable.from([body]) },
    })
    const response = await within(headMs, sent.response, null)
    if (response === null) return ended('retry', { error: 'timed-out' })
    const { statusCode: status, headers: answered } = response
    const text = await readStart(response.body, bodyMs)
    const wantedMs = retryAfterMs(answered['retry-after'], nowMs()) ?? 0
    return ended(status >= 200 && status < 300 ? 'delivered' : status === 410 ? 'failed' : 'retry', {
      status,
      error: status >= 300 && status < 400 ? 'redirect' : null,
      answer: plainText(text, ANSWER_CHARS),
      retryAfterMs: Math.min(wantedMs, RETRY_AFTER_LIMIT_MS),
    })
  } catch (error) {
    return ended('retry', { error: errorOf(error) })
  } finally {
    over.abort()
  }
}

/** What came of a body until then, also if it breaks off. */
async function readStart(body: Readable, withinMs: number): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  const read = async () => {
    for await (const part of body as AsyncIterable<Buffer>) {
      parts.push(part)
      bytes += part.length
      if (bytes >= BODY_BYTES) break
    }
  }
  await within(withinMs, read(), undefined).catch(() => {})
  return Buffer.concat(parts).toString('utf8', 0, Math.min(bytes, BODY_BYTES))
}

function errorOf(error: unknown): DeliveryError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO|ERR_SSL|ERR_TLS|EPROTO/.test(code)) return 'tls'
  return connectFault(error) ?? 'unreachable'
}
