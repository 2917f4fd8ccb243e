import type pg from 'pg'
import { type Queryable, retriedTransaction } from '../../db/transaction.ts'
import type { DeliveryError } from './deliveries.ts'
import { cancelWaiting, type Endpoint } from './endpoints.ts'
import type { Recipient } from './recipients.ts'

/** Longer than any attempt: then another node sends it. */
const LEASE_SECONDS = 60
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const GATHER_MS = MINUTE_MS

/** A claimed row with what it takes to send it, to an endpoint or to an address. Rows with one lease are one attempt. */
export type ClaimedRow = {
  id: string
  lease: string
  account_id: number
  endpoint_id: number | null
  recipient_id: number | null
  attempts: number
  age_ms: number
  /** Unix time of this attempt. */
  seconds: number
  replay_of: string | null
  event_id: string
  type: string
  body: string
  plan: string
  url: string
  format: Endpoint['format']
  is_active: boolean
  key_sealed: Buffer | null
  email: string
  address_state: Recipient['state']
  confirm_round: number
}

/** For `slots` free places, of accounts after `afterAccount`. One array for each attempt, in the order of claiming. */
export async function claimDeliveries(
  db: Queryable,
  of: { slots: number; afterAccount: number; byMail: boolean; speed: number },
): Promise<ClaimedRow[][]> {
  const { rows: claimed } = await db.query<{ id: string }>({
    name: 'claim-deliveries',
    text: `select id from claim_deliveries($1, $2, $3, $4 * interval '1 millisecond', $5 * interval '1 second') id`,
    values: [of.slots, of.afterAccount, of.byMail, GATHER_MS / of.speed, LEASE_SECONDS],
  })
  if (claimed.length === 0) return []
  // Not in the statement that claims: its snapshot may be older than a row that the function finds.
  const { rows } = await db.query<ClaimedRow>({
    name: 'claimed-deliveries',
    text: `select d.id, d.lease, d.account_id, d.endpoint_id, d.recipient_id, d.attempts, d.replay_of, d.event_id,
                  extract(epoch from d.last_attempt_at - d.created_at)::float8 * 1000 as age_ms,
                  floor(extract(epoch from d.last_attempt_at))::float8 as seconds, v.type, v.body, a.plan,
                  e.url, e.format, e.is_active, e.key_sealed, r.email, r.state as address_state, r.confirm_round
             from unnest($1::bigint[]) with ordinality as c (id, place)
             join delivery d on d.id = c.id
             join event v on v.id = d.event_id
             join account a on a.id = d.account_id
             left join endpoint e on e.id = d.endpoint_id
             left join recipient r on r.id = d.recipient_id
            order by c.place`,
    values: [claimed.map(({ id }) => id)],
  })
  return [...Map.groupBy(rows, ({ lease }) => lease).values()]
}

/** After the first, second, ... failed attempt; the last one repeats. */
const PAUSES_MS = [
  ...[5_000, 30_000, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS],
  ...[HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS],
]
const GIVE_UP_AFTER_MS = 24 * HOUR_MS

/** Milliseconds until the next attempt, or null: more than 24 h after the event. `random` is in 0..1. */
export function nextPause(
  of: { attempts: number; ageMs: number; retryAfterMs: number },
  speed: number,
  random: () => number,
): number | null {
  const pause = PAUSES_MS[Math.min(of.attempts, PAUSES_MS.length) - 1]! * (0.9 + 0.2 * random())
  const waitMs = Math.max(pause, of.retryAfterMs) / speed
  return of.ageMs + waitMs > GIVE_UP_AFTER_MS / speed ? null : waitMs
}

/** What becomes of the delivery, and what came back. */
export type Attempt = {
  end: 'delivered' | 'retry' | 'failed' | 'cancelled'
  status?: number | null
  error?: DeliveryError | null
  answer?: string | null
  ms?: number
  retryAfterMs?: number
}

/** Of the rows of one attempt, while the lease is ours. What was cancelled meanwhile is not tried again. */
export async function storeAttempt(
  pool: pg.Pool,
  rows: readonly ClaimedRow[],
  { end, status = null, error = null, answer = null, ms = 0, retryAfterMs = 0 }: Attempt,
  { speed, random }: { speed: number; random: () => number },
): Promise<void> {
  const { lease, type, attempts, age_ms: ageMs, endpoint_id: endpoint } = rows[0]!
  // Tests are tried once, and count for nothing.
  const isTest = type === 'endpoint.test'
  const pause =
    end === 'retry' && !isTest ? nextPause({ attempts, ageMs, retryAfterMs }, speed, random) : null
  const state = end === 'retry' ? (pause === null ? 'failed' : 'waiting') : end
  await retriedTransaction(pool, async (client) => {
    // The endpoint first: switching it off locks its deliveries afterwards.
    if (endpoint !== null && !isTest && end === 'delivered') {
      const sql =
        'update endpoint set failing_since = null, failures = 0 where id = $1 and failing_since is not null'
      await client.query(sql, [endpoint])
    } else if (endpoint !== null && !isTest && end !== 'cancelled') {
      await countFailure(client, endpoint, status === 410, speed)
    }
    await client.query(
      `update delivery set lease = null, status = $4, error = $5, answer = $6, ms = $7,
              state = case when $3 = 'waiting' then state else $3 end,
              due_at = clock_timestamp() + coalesce($8::float8, 0) * interval '1 millisecond'
        where id = any ($1::bigint[]) and lease = $2`,
      [rows.map(({ id }) => id), lease, state, status, error, answer, ms, pause],
    )
  })
}

const OFF_AFTER_MS = 72 * HOUR_MS
const OFF_AFTER_FAILURES = 10

/** Switches the endpoint off after too many, or at once if it is `gone`, and tells the account's own address. */
async function countFailure(client: Queryable, id: number, isGone: boolean, speed: number): Promise<void> {
  const { rowCount } = await client.query(
    `with counted as (
       update endpoint set failing_since = coalesce(failing_since, clock_timestamp()), failures = failures + 1
        where id = $1 and is_active returning failures, failing_since)
     select from counted
      where $2 or (failures >= $3 and failing_since <= clock_timestamp() - $4 * interval '1 millisecond')`,
    [id, isGone, OFF_AFTER_FAILURES, OFF_AFTER_MS / speed],
  )
  if (rowCount === 0) return
  await cancelWaiting(client, id)
  await client.query(
    `with off as (
       update endpoint set is_active = false, switched_off_at = clock_timestamp() where id = $1 returning *)
     select record_event(a.id, null, null, 'mail.switched_off', 'endpoint ' || off.id || ' off ' || switched_off_at,
                         json_build_object('url', off.url), r.id)
       from off join account a on a.id = off.account_id
       left join recipient r on r.account_id = a.id and lower(r.email) = a.email and r.state = 'confirmed'`,
    [id],
  )
}
