import type pg from 'pg'
import { type Queryable, retriedTransaction } from '../../db/transaction.ts'
import type { Attempt } from './attempt.ts'
import type { ClaimedRow } from './claim.ts'
import { cancelWaiting } from './endpoints.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

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

export type SendResult = { end: 'delivered' | 'retry' | 'failed' | 'cancelled' } & Attempt

export const NO_ATTEMPT: Attempt = { status: null, error: null, answer: null, ms: 0, retryAfterMs: 0 }

/** Of the rows of one attempt, while the lease is ours. What was cancelled meanwhile is not tried again. */
export async function storeResult(
  pool: pg.Pool,
  rows: readonly ClaimedRow[],
  result: SendResult,
  { speed, random }: { speed: number; random: () => number },
): Promise<void> {
  const { lease, type, attempts, age_ms: ageMs, endpoint_id: endpoint } = rows[0]!
  const { end, status, error, answer, ms, retryAfterMs } = result
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
  const { rows } = await client.query<{ account_id: number; url: string; is_enough: boolean }>(
    `update endpoint set failing_since = coalesce(failing_since, clock_timestamp()), failures = failures + 1
      where id = $1 and is_active
     returning account_id, url,
               failures >= $2 and failing_since <= clock_timestamp() - $3 * interval '1 millisecond' as is_enough`,
    [id, OFF_AFTER_FAILURES, OFF_AFTER_MS / speed],
  )
  const [endpoint] = rows
  if (endpoint === undefined || !(isGone || endpoint.is_enough)) return
  await client.query(
    'update endpoint set is_active = false, switched_off_at = clock_timestamp() where id = $1',
    [id],
  )
  await cancelWaiting(client, id)
  await client.query(
    `select record_event(a.id, null, null, 'mail.switched_off', 'endpoint ' || $2 || ' off ' || clock_timestamp(), $3, r.id)
       from account a left join recipient r on r.account_id = a.id and lower(r.email) = a.email and r.state = 'confirmed'
      where a.id = $1`,
    [endpoint.account_id, id, { url: endpoint.url }],
  )
}
