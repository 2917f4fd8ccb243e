import type pg from 'pg'
import { type PlanCatalogue, planNamed } from '../../accounts/plans.ts'
import { endpointPurpose, type Vault } from '../../certificates/vault/vault.ts'
import type { Clock } from '../../clock.ts'
import type { Listener } from '../../db/listener.ts'
import type { Log } from '../../log.ts'
import type { AddressGuard } from '../../outbound/address-guard.ts'
import { createClient } from '../../outbound/client/pool.ts'
import { startWhileDue } from '../../while-due.ts'
import { attemptDelivery, CONNECT_MS } from './attempt.ts'
import { type Attempt, type ClaimedRow, claimDeliveries, storeAttempt } from './claim.ts'
import { DELIVERY_CHANNEL } from './deliveries.ts'
import { type MailServer, sendMail } from './send-mail.ts'

const AT_ONCE = 32
const POLL_MS = 1_000
const LEAST_POLL_MS = 20

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
  mail: MailServer | null
}

/**
 * Sends deliveries of the fleet. No transaction is open while a receiver is awaited. At `close`, attempts that are under
 * way are given up, and repeated by another node or the next start.
 */
export function startSender(deps: SenderDeps): { close(): Promise<void> } {
  const { pool, listener, guard, log, speed, mail } = deps
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
    const of = { slots, afterAccount: lastAccount, byMail: mail !== null, speed }
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
    const attempt: Attempt =
      first.recipient_id === null
        ? await post(first)
        : { end: mail === null ? 'retry' : await sendMail(deps, mail, rows) }
    // The lease ends, and another node sends it.
    if (closing.signal.aborted && attempt.end === 'retry') return
    await storeAttempt(pool, rows, attempt, { speed, random: Math.random })
  }

  async function post(row: ClaimedRow): Promise<Attempt> {
    const { plans, vault, clock, version } = deps
    const isAsked = row.type === 'endpoint.test' || row.replay_of !== null
    if (!planNamed(plans, row.plan).webhooks || !(row.is_active || isAsked)) return { end: 'cancelled' }
    let secret: Buffer
    try {
      secret = vault.open(endpointPurpose(row.endpoint_id!), row.key_sealed!)
    } catch (error) {
      log.error({ err: error }, 'the secret of an endpoint cannot be decrypted at this node')
      return { end: 'retry' }
    }
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
