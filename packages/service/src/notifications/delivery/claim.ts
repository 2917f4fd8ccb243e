import { type Queryable, retriedTransaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import type { DeliveryError } from './deliveries.ts'
import { cancelWaiting, type Endpoint } from './endpoints.ts'

/** Longer than any attempt: then another node sends it. */
const LEASE_SECONDS = 60
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const GATHER_MS = MINUTE_MS

/** What is sent to an endpoint. */
export type EndpointRequest = {
  channel_id: number
  address: string
  format: Endpoint['format'] | 'mail'
  event_id: string
  body: string
  /** Unix time of this attempt. */
  seconds: number
}

/** A row of the view `claimed`. Rows with one lease are one attempt. */
export type ClaimedRow = EndpointRequest & {
  id: string
  lease: string
  account_id: number
  attempts: number
  age_ms: number
  replay_of: string | null
  type: string
  plan: string
  /** Events are sent only where it is `confirmed`. */
  channel_state: string
  key_sealed: Buffer | null
  confirm_round: number
}

/** Takes what is due of a channel, within its limits. Returns one array for each attempt, the oldest first. */
export async function takeDeliveries(db: Queryable, channel: number, speed: number): Promise<ClaimedRow[][]> {
  const { rows } = await db.query<ClaimedRow>({
    name: 'take-deliveries',
    text: `select * from take_deliveries($1, $2 * interval '1 millisecond', $3 * interval '1 second')`,
    values: [channel, GATHER_MS / speed, LEASE_SECONDS],
  })
  return [...Map.groupBy(rows, ({ lease }) => lease).values()]
}

/** Returns the milliseconds until a delivery of the channel is due, 0 if one is, or null if none waits. */
export async function msUntilDue(db: Queryable, channel: number, speed: number): Promise<number | null> {
  const { rows } = await db.query<{ ms: number | null }>({
    name: 'next-delivery',
    text: `select (extract(epoch from min(
                     case when c.format = 'mail' and d.incident_id is not null and d.attempts = 0
                          then greatest(d.due_at, d.created_at + $2 * interval '1 millisecond') else d.due_at end)
                   - clock_timestamp()) * 1000)::float8 as ms
             from delivery d join channel c on c.id = d.channel_id
            where d.channel_id = $1 and d.state = 'waiting'
              and (c.format = 'mail' or not exists (
                     select from delivery o where o.channel_id = d.channel_id and o.incident_id = d.incident_id
                                              and o.state = 'waiting' and o.id < d.id))`,
    values: [channel, GATHER_MS / speed],
  })
  const ms = rows[0]?.ms ?? null
  return ms === null ? null : Math.max(0, ms)
}

/** After the first, second, ... failed attempt; the last one repeats. */
const PAUSES_MS = [
  5_000,
  30_000,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
  4 * HOUR_MS,
]
const GIVE_UP_AFTER_MS = 24 * HOUR_MS

/** Returns the milliseconds until the next attempt, or null if that is more than 24 hours after the event. `random` is in 0..1. */
export function nextPause(
  { attempts, ageMs, retryAfterMs }: { attempts: number; ageMs: number; retryAfterMs: number },
  speed: number,
  random: () => number,
): number | null {
  const pause = PAUSES_MS[Math.min(attempts, PAUSES_MS.length) - 1]! * (0.9 + 0.2 * random())
  const waitMs = Math.max(pause, retryAfterMs) / speed
  return ageMs + waitMs > GIVE_UP_AFTER_MS / speed ? null : waitMs
}

/** What becomes of the delivery, and what came back. */
export type Attempt = {
  end: 'delivered' | 'retry' | 'failed' | 'cancelled'
  status?: number | null
  error?: DeliveryError | null
  answer?: string | null
  ms?: number
  retryAfterMs?: number
  /** The Message-ID of an e-mail. */
  letter?: string | null
}

/** Stores what came of the rows of one attempt, while the lease is ours. What was cancelled meanwhile is not tried again. */
export async function storeAttempt(
  pool: pg.Pool,
  rows: readonly ClaimedRow[],
  { end, status = null, error = null, answer = null, ms = 0, retryAfterMs = 0, letter = null }: Attempt,
  speed: number,
): Promise<void> {
  const { lease, type, attempts, age_ms: ageMs, channel_id: channel, format } = rows[0]!
  // Tests are tried once, and count for nothing.
  const isTest = type === 'endpoint.test'
  const isAgain = end === 'retry' && !isTest
  const pause = isAgain ? nextPause({ attempts, ageMs, retryAfterMs }, speed, Math.random) : null
  let state: 'waiting' | Exclude<Attempt['end'], 'retry'>
  if (end !== 'retry') state = end
  else if (pause === null) state = 'failed'
  else state = 'waiting'
  await retriedTransaction(pool, async (client) => {
    // The endpoint first: switching it off locks its deliveries afterwards.
    if (format !== 'mail' && !isTest && end !== 'cancelled') {
      await countAttempt(client, channel, { isDelivered: end === 'delivered', isGone: status === 410 }, speed)
    }
    await client.query(
      `update delivery set lease = null, status = $4, error = $5, answer = $6, ms = $7, letter = $9,
              state = case when $3 = 'waiting' then state else $3 end,
              due_at = clock_timestamp() + coalesce($8::float8, 0) * interval '1 millisecond'
        where id = any ($1::bigint[]) and lease = $2`,
      [rows.map(({ id }) => id), lease, state, status, error, answer, ms, pause, letter],
    )
  })
}

const OFF_AFTER_MS = 72 * HOUR_MS
const OFF_AFTER_FAILURES = 10
const IS_OFF = `$2 or (failures + 1 >= $3 and failing_since <= clock_timestamp() - $4 * interval '1 millisecond')`

/** Switches the endpoint off after too many failures, or at once if it is gone, and tells the account's own address. */
async function countAttempt(
  client: Queryable,
  id: number,
  { isDelivered, isGone }: { isDelivered: boolean; isGone: boolean },
  speed: number,
): Promise<void> {
  if (isDelivered) {
    const since = 'where id = $1 and failing_since is not null'
    await client.query(`update channel set failing_since = null, failures = 0 ${since}`, [id])
    return
  }
  const { rowCount } = await client.query(
    `with counted as (
       update channel set failures = failures + 1, failing_since = coalesce(failing_since, clock_timestamp()),
              switched_off_at = case when ${IS_OFF} then clock_timestamp() end,
              state = case when ${IS_OFF} then 'off' else state end
        where id = $1 and state = 'confirmed' returning *)
     select record_event(a.id, null, null, 'mail.switched_off', 'endpoint ' || off.id || ' off ' || off.switched_off_at,
                         json_build_object('url', off.address), own.id)
       from counted off join account a on a.id = off.account_id
       left join channel own on own.account_id = a.id and own.format = 'mail' and lower(own.address) = a.email
                            and own.state = 'confirmed'
      where off.state = 'off'`,
    [id, isGone, OFF_AFTER_FAILURES, OFF_AFTER_MS / speed],
  )
  if (rowCount !== 0) await cancelWaiting(client, id)
}
