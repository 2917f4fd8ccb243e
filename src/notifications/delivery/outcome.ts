import type pg from 'pg'
import { retriedTransaction } from '../../db/transaction.ts'
import type { Attempt } from './attempt.ts'
import { noteAttempt } from './endpoints.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** After the first, second, ... failed attempt; the last one repeats. */
const PAUSES_MS = [
  ...[5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS],
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

/** `isTest`: tried once, and counts for nothing. */
export type SentUnit = {
  ids: readonly string[]
  lease: string
  endpoint: number | null
  isTest: boolean
  attempts: number
  ageMs: number
}

export type SendResult = { end: 'delivered' | 'retry' | 'failed' | 'cancelled' } & Attempt

export const NO_ATTEMPT: Attempt = { status: null, error: null, answer: null, ms: 0, retryAfterMs: 0 }

/** Stores the result while the lease is ours. What was cancelled meanwhile is not tried again. */
export async function storeResult(
  pool: pg.Pool,
  unit: SentUnit,
  result: SendResult,
  { speed, random }: { speed: number; random: () => number },
): Promise<void> {
  const pause =
    result.end === 'retry' && !unit.isTest ? nextPause({ ...unit, ...result }, speed, random) : null
  const state = result.end === 'retry' ? (pause === null ? 'failed' : 'waiting') : result.end
  await retriedTransaction(pool, async (client) => {
    // The endpoint first: switching it off locks its deliveries afterwards.
    if (unit.endpoint !== null && !unit.isTest && result.end !== 'cancelled') {
      const attempt = { isGood: result.end === 'delivered', isGone: result.status === 410 }
      await noteAttempt(client, unit.endpoint, attempt, speed)
    }
    await client.query(
      `update delivery set lease = null, status = $4, error = $5, answer = $6, ms = $7,
              state = case when $3 = 'waiting' then state else $3 end,
              due_at = clock_timestamp() + coalesce($8::float8, 0) * interval '1 millisecond'
        where id = any ($1::bigint[]) and lease = $2`,
      [unit.ids, unit.lease, state, result.status, result.error, result.answer, result.ms, pause],
    )
  })
}
