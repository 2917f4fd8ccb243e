import { createHmac } from 'node:crypto'
import { Readable } from 'node:stream'
import type { AccountId } from '@prepaint/contract/ids.ts'
import { type PlanCatalogue, planNamed } from '@prepaint/contract/settings/plans.ts'
import { type AddressGuard, connectFault, plainText, readOrigin, retryAfterMs } from '@prepaint/outbound'
import { createClient, type OriginPool, sendRequest } from '@prepaint/outbound/client'
import type { TaskKind } from '@prepaint/postgres/tasks'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { within } from '@prepaint/runtime/within.ts'
import type pg from 'pg'
import { readLook } from '../../accounts/branding.ts'
import { channelPurpose, type Vault } from '../../certificates/vault/vault.ts'
import type { MailSender } from '../../mail/mailer.ts'
import { linkToken, secretOf } from './addresses.ts'
import {
  type Attempt,
  type ClaimedRow,
  type EndpointRequest,
  msUntilDue,
  storeAttempt,
  takeDeliveries,
} from './claim.ts'
import type { DeliveryError } from './deliveries.ts'
import { letterOf, onlyIncidentOf, slackText } from './letters.ts'

const AT_ONCE = 32
/** Pause of a channel that has something due and no room for it. */
const HELD_UP_MS = 250

export type SenderOptions = {
  plans: PlanCatalogue
  version: string
  /** Links in e-mails begin with it. */
  publicUrl: string
  /** Divides the times of docs/notifications.md. */
  speed: number
}

/**
 * Sends deliveries of the fleet: a task for each channel, of the kind `delivery` for endpoints and `mail` for addresses, asked
 * for by `record_event`. No transaction is open while a receiver is awaited. Attempts that are under way when the node
 * closes are given up, and repeated when their lease ends.
 */
export class Sender {
  /** `mail` only if there is an SMTP server. */
  readonly kinds: readonly TaskKind[]
  readonly #pool: pg.Pool
  readonly #client: OriginPool
  readonly #vault: Vault
  readonly #mailer: MailSender | null
  readonly #clock: Clock
  readonly #log: Log
  readonly #options: SenderOptions

  /** Without `mailer` there is no SMTP server, and e-mails wait. */
  constructor(
    pool: pg.Pool,
    guard: AddressGuard,
    vault: Vault,
    mailer: MailSender | null,
    clock: Clock,
    log: Log,
    options: SenderOptions,
  ) {
    this.#pool = pool
    this.#client = createClient(guard, { connectTimeoutMs: CONNECT_MS })
    this.#vault = vault
    this.#mailer = mailer
    this.#clock = clock
    this.#log = log
    this.#options = options
    const endpoints = this.#kind('delivery', `c.format <> 'mail'`)
    this.kinds = mailer === null ? [endpoints] : [endpoints, this.#kind('mail', `c.format = 'mail'`)]
  }

  /** Call when no task runs any more. */
  close(): void {
    this.#client.close()
  }

  #kind(name: string, condition: string): TaskKind {
    return {
      name,
      slots: AT_ONCE,
      perAccount: 4,
      faultMessage: 'deliveries could not be sent',
      subjects: `
        select c.id as key, c.account_id, now() as due_at from channel c
         where ${condition} and exists (select from delivery d where d.channel_id = c.id and d.state = 'waiting')`,
      run: ({ key }, signal) => this.#sendDue(Number(key), signal),
    }
  }

  /** One round of attempts, so that the accounts take turns. */
  async #sendDue(channel: number, signal: AbortSignal): Promise<number | null> {
    const { speed } = this.#options
    const attempts = await takeDeliveries(this.#pool, channel, speed)
    await Promise.all(attempts.map((rows) => this.#send(rows, signal)))
    signal.throwIfAborted()
    const nextMs = await msUntilDue(this.#pool, channel, speed)
    // Due, and not taken: the account is at its limit, or a node that died had it.
    const isHeldUp = attempts.length === 0 && nextMs !== null
    return isHeldUp ? Math.max(nextMs, HELD_UP_MS / Math.min(speed, 10)) : nextMs
  }

  async #send(rows: readonly ClaimedRow[], signal: AbortSignal): Promise<void> {
    const [first] = rows as [ClaimedRow]
    const sent = first.format === 'mail' ? this.#mail(rows) : this.#post(first, signal)
    const attempt = await sent.catch((error: unknown) => {
      this.#log.error({ err: error }, 'a delivery could not be sent from this node')
      return { end: 'retry' } as const
    })
    // The lease ends, and another node sends it.
    if (signal.aborted && attempt.end === 'retry') return
    await storeAttempt(this.#pool, rows, attempt, this.#options.speed).catch((error: unknown) =>
      this.#log.warn({ err: error }, 'the result of a delivery was not stored'),
    )
  }

  async #post(row: ClaimedRow, signal: AbortSignal): Promise<Attempt> {
    const { plans, version } = this.#options
    const isAsked = row.type === 'endpoint.test' || row.replay_of !== null
    const isOn = row.channel_state === 'confirmed' || isAsked
    if (!planNamed(plans, row.plan).webhooks || !isOn) return { end: 'cancelled' }
    const secret = this.#vault.open(channelPurpose(row.channel_id), row.key_sealed!)
    const userAgent = `Prepaint/${version}`
    return attemptDelivery(this.#client, row, { secret, userAgent, clock: this.#clock, signal })
  }

  /** Sends one e-mail for the claimed rows of one address, oldest first. */
  async #mail(rows: readonly ClaimedRow[]): Promise<Attempt> {
    const [first] = rows as [ClaimedRow]
    const { channel_id: id, address: to, confirm_round: round } = first
    const { publicUrl } = this.#options
    if (this.#mailer === null) return { end: 'retry' }
    if (first.type !== 'mail.confirmation' && first.channel_state !== 'confirmed') return { end: 'cancelled' }
    const secret = await secretOf(this.#pool, this.#vault, id)
    const unsubscribe = `${publicUrl}/unsubscribe/${linkToken(secret, id, 0)}`
    const confirm = `${publicUrl}/confirm#${linkToken(secret, id, round)}`
    const bodies = rows.map(({ body }) => body)
    // Made from the newest event: a repetition after a crash is recognised, and one that holds more is another e-mail.
    const letter = `<${rows.at(-1)!.event_id}.${id}@${new URL(publicUrl).hostname}>`
    const answered = await this.#firstLetter(id, onlyIncidentOf(bodies))
    const { brand, senderName } = await readLook(this.#pool, first.account_id as AccountId)
    const outcome = await this.#mailer.send({
      to,
      senderName,
      ...letterOf(bodies, { unsubscribe, confirm, publicUrl }, brand),
      messageId: letter,
      headers: {
        'List-Unsubscribe': `<${unsubscribe}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      },
      answers: answered,
    })
    if (outcome === 'sent') return { end: 'delivered', letter }
    if (outcome !== 'refused') return { end: 'retry' }
    await this.#pool.query(`update channel set state = 'refused' where id = $1 and state <> 'unsubscribed'`, [
      id,
    ])
    return { end: 'failed' }
  }

  /** The letter to this address that opened the incident, which later ones answer; null: none was sent. */
  async #firstLetter(channel: number, incident: number | null): Promise<string | null> {
    if (incident === null) return null
    const { rows } = await this.#pool.query<{ letter: string }>(
      `select letter from delivery where channel_id = $1 and incident_id = $2 and letter is not null order by id limit 1`,
      [channel, incident],
    )
    return rows[0]?.letter ?? null
  }
}

const CONNECT_MS = 5_000
const HEAD_MS = 10_000
const BODY_MS = 5_000
const BODY_BYTES = 16 * 1024
const ANSWER_CHARS = 1_000
const RETRY_AFTER_LIMIT_MS = 4 * 3_600_000

type AttemptOptions = {
  /** The raw bytes that the receiver has too. */
  secret: Buffer
  userAgent: string
  clock: Clock
  signal: AbortSignal
  headMs?: number
  bodyMs?: number
}

/** Does not reject. On a connection of its own, so that the address is checked each time; follows no redirect. */
export async function attemptDelivery(
  client: OriginPool,
  request: EndpointRequest,
  { secret, userAgent, clock, signal, headMs = HEAD_MS, bodyMs = BODY_MS }: AttemptOptions,
): Promise<Attempt> {
  const { address, format, event_id: id, seconds } = request
  const startedMs = clock.nowMs()
  const ended = (end: Attempt['end'], found: Partial<Attempt>): Attempt => {
    return { end, status: null, error: null, ms: Math.round(clock.nowMs() - startedMs), ...found }
  }
  const text = format === 'slack' ? JSON.stringify({ text: slackText(request.body) }) : request.body
  const body = Buffer.from(text)
  // Standard Webhooks: HMAC-SHA256 over `<id>.<timestamp>.<body>`.
  const mac = createHmac('sha256', secret).update(`${id}.${seconds}.`).update(body).digest('base64')
  const { protocol, host, pathname, search } = new URL(address)
  const origin = readOrigin(`${protocol}//${host}`, `endpoint ${request.channel_id}`)
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
    const answer = plainText(await readStart(response.body, bodyMs), ANSWER_CHARS)
    const wantedMs = retryAfterMs(answered['retry-after'], clock.nowMs()) ?? 0
    return ended(endOf(status), {
      status,
      error: status >= 300 && status < 400 ? 'redirect' : null,
      answer,
      retryAfterMs: Math.min(wantedMs, RETRY_AFTER_LIMIT_MS),
    })
  } catch (error) {
    return ended('retry', { error: errorOf(error) })
  } finally {
    over.abort()
  }
}

/** A receiver that answers with 410 wants nothing any more. */
function endOf(status: number): Attempt['end'] {
  if (status >= 200 && status < 300) return 'delivered'
  return status === 410 ? 'failed' : 'retry'
}

/** Returns what came of a body until then, also if it breaks off. */
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
