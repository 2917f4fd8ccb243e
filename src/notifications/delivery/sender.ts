import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { type PlanCatalogue, planNamed } from '../../accounts/plans.ts'
import { endpointPurpose, type Vault } from '../../certificates/vault/vault.ts'
import type { Clock } from '../../clock.ts'
import type { Listener } from '../../db/listener.ts'
import type { Log } from '../../log.ts'
import type { AddressGuard } from '../../outbound/address-guard.ts'
import { createClient, type OriginPool } from '../../outbound/client/pool.ts'
import { attemptDelivery, CONNECT_MS } from './attempt.ts'
import { DELIVERY_CHANNEL } from './deliveries.ts'
import type { EndpointFormat } from './endpoints.ts'
import { NO_ATTEMPT, type SendResult, storeResult } from './outcome.ts'

const AT_ONCE = 32
/** Longer than any attempt: then another node sends it. */
const LEASE_SECONDS = 60
const GATHER_MS = 60_000
const POLL_MS = 1_000
const LEAST_POLL_MS = 20

/** A claimed row with what it takes to send it. Rows with one lease are one attempt. */
export type ClaimedRow = {
  id: string
  lease: string
  account_id: number
  endpoint_id: number | null
  recipient_id: number | null
  attempts: number
  age_ms: number
  seconds: number
  replay_of: string | null
  event_id: string
  type: string
  body: string
  plan: string
  url: string
  format: EndpointFormat
  is_active: boolean
  key_sealed: Buffer | null
}

/** Sends one e-mail for all rows. Never rejects. */
export type SendMail = (rows: readonly ClaimedRow[]) => Promise<SendResult['end']>

export type SenderDeps = {
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
  /** Null: no SMTP server; e-mails wait. */
  sendMail: SendMail | null
  random?: () => number
  ca?: string
}

export function startSender(deps: SenderDeps): Sender {
  const sender = new Sender(deps)
  sender.start()
  return sender
}

/** Sends deliveries of the fleet. No transaction is open while a receiver is awaited. */
export class Sender {
  readonly #deps: SenderDeps
  readonly #client: OriginPool
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<void>>()
  #lastAccount = 0
  #wake = Promise.withResolvers<void>()
  #looped: Promise<void> = Promise.resolve()

  constructor(deps: SenderDeps) {
    const { guard, ca } = deps
    this.#deps = deps
    this.#client = createClient(guard, { connectTimeoutMs: CONNECT_MS, ...(ca !== undefined && { ca }) })
  }

  start(): void {
    this.#deps.listener.on(DELIVERY_CHANNEL, () => this.#wake.resolve())
    this.#looped = this.#loop()
  }

  /** Attempts that are under way are given up, and repeated by another node or the next start. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('the node is shutting down'))
    this.#wake.resolve()
    await this.#looped
    await Promise.all(this.#running)
    this.#client.close()
  }

  async #loop(): Promise<void> {
    const { signal } = this.#closing
    const pollMs = Math.max(LEAST_POLL_MS, POLL_MS / this.#deps.speed)
    while (!signal.aborted) {
      this.#wake = Promise.withResolvers()
      try {
        if ((await this.#claim()) && this.#running.size < AT_ONCE) continue
      } catch (error) {
        this.#deps.log.warn({ err: error }, 'deliveries could not be claimed')
      }
      const woken = new AbortController()
      await Promise.race([
        this.#wake.promise,
        sleep(pollMs, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(() => {}),
      ])
      woken.abort()
    }
  }

  /** Returns whether there was any. */
  async #claim(): Promise<boolean> {
    const { pool, speed, sendMail } = this.#deps
    const { rows: claimed } = await pool.query<{ id: string }>({
      name: 'claim-deliveries',
      text: `select id from claim_deliveries($1, $2, $3, $4 * interval '1 millisecond', $5 * interval '1 second')`,
      values: [
        AT_ONCE - this.#running.size,
        this.#lastAccount,
        sendMail !== null,
        GATHER_MS / speed,
        LEASE_SECONDS,
      ],
    })
    if (claimed.length === 0) return false
    // Not in the statement that claims: its snapshot may be older than a row that the function finds.
    const { rows } = await pool.query<ClaimedRow>({
      name: 'claimed-deliveries',
      text: `select d.id, d.lease, d.account_id, d.endpoint_id, d.recipient_id, d.attempts, d.replay_of, d.event_id,
                    extract(epoch from d.last_attempt_at - d.created_at)::float8 * 1000 as age_ms,
                    floor(extract(epoch from d.last_attempt_at))::float8 as seconds,
                    v.type, v.body, a.plan, e.url, e.format, e.is_active, e.key_sealed
               from unnest($1::bigint[]) with ordinality as c (id, place)
               join delivery d on d.id = c.id
               join event v on v.id = d.event_id
               join account a on a.id = d.account_id
               left join endpoint e on e.id = d.endpoint_id
              order by c.place`,
      values: [claimed.map(({ id }) => id)],
    })
    this.#lastAccount = rows.at(-1)?.account_id ?? this.#lastAccount
    for (const unit of Map.groupBy(rows, ({ lease }) => lease).values()) this.#begin(unit)
    return true
  }

  #begin(unit: readonly ClaimedRow[]): void {
    const run = this.#send(unit)
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'the result of a delivery was not stored'),
      )
      .finally(() => {
        this.#running.delete(run)
        this.#wake.resolve()
      })
    this.#running.add(run)
  }

  async #send(unit: readonly ClaimedRow[]): Promise<void> {
    const { pool, speed, sendMail, random = Math.random } = this.#deps
    const [first] = unit
    const result: SendResult =
      first!.recipient_id === null
        ? await this.#post(first!)
        : { ...NO_ATTEMPT, end: (await sendMail?.(unit)) ?? 'retry' }
    // The lease ends, and another node sends it.
    if (this.#closing.signal.aborted && result.end === 'retry') return
    const sent = {
      ids: unit.map(({ id }) => id),
      lease: first!.lease,
      endpoint: first!.endpoint_id,
      isTest: first!.type === 'endpoint.test',
      attempts: first!.attempts,
      ageMs: first!.age_ms,
    }
    await storeResult(pool, sent, result, { speed, random })
  }

  async #post(row: ClaimedRow): Promise<SendResult> {
    const { plans, vault, clock, version, log } = this.#deps
    const isAsked = row.type === 'endpoint.test' || row.replay_of !== null
    if (!planNamed(plans, row.plan).webhooks || !(row.is_active || isAsked)) {
      return { ...NO_ATTEMPT, end: 'cancelled' }
    }
    const endpoint = row.endpoint_id!
    let secret: Buffer
    try {
      secret = vault.open(endpointPurpose(endpoint), row.key_sealed!)
    } catch (error) {
      log.error({ err: error }, 'the secret of an endpoint cannot be decrypted at this node')
      return { ...NO_ATTEMPT, end: 'retry' }
    }
    const outgoing = { endpoint, secret, url: row.url, format: row.format, eventId: row.event_id }
    const attempt = await attemptDelivery(
      this.#client,
      { ...outgoing, body: row.body, seconds: row.seconds },
      { userAgent: `Prepaint/${version}`, nowMs: clock.nowMs, signal: this.#closing.signal },
    )
    const isGood = attempt.status !== null && attempt.status >= 200 && attempt.status < 300
    return { ...attempt, end: isGood ? 'delivered' : attempt.status === 410 ? 'failed' : 'retry' }
  }
}
