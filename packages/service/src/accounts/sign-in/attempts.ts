import { AppError } from '@prepaint/contract/errors.ts'

import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { parseEmail } from '../email.ts'

export const FAILURE_WINDOW_MS = 15 * 60_000

/** Wrong passwords per window: per IP and account, per IP, per account. */
export const MOST_FAILURES = { pair: 5, address: 20, account: 100 } as const

/** Reset requests per client IP, and e-mails per account, in a window. */
export const MOST_RESETS = { address: 10, account: 3 } as const

type Attempt = { email: string; address: string }

/**
 * Counts the attempt as a failure first, so concurrent attempts cannot exceed the limit. Any result but `wrong`
 * undoes the count. Throws `too_many_failures` per client IP or account; locking out an account takes very many
 * addresses.
 */
export async function countedAttempt<T>(
  pool: pg.Pool,
  attempt: Attempt,
  nowMs: number,
  wrong: 'wrong_credentials' | 'wrong_password',
  run: () => Promise<T>,
): Promise<T> {
  const subjects = subjectsOf(attempt)
  // Roll back refused attempts: they are not counted and do not extend the window.
  await transaction(pool, async (client) => {
    const counters = await increment(client, Object.values(subjects), nowMs)
    for (const kind of Object.keys(subjects) as (keyof typeof subjects)[]) {
      checkLimit(counters.get(subjects[kind])!, MOST_FAILURES[kind], nowMs, 'too_many_failures')
    }
  })
  try {
    const result = await run()
    await takeBack(pool, Object.values(subjects))
    await pool.query('delete from sign_in_failure where subject = $1', [subjects.pair])
    return result
  } catch (error) {
    if (!(error instanceof AppError && error.code === wrong)) await takeBack(pool, Object.values(subjects))
    throw error
  }
}

/** Throws `too_many_resets` per client IP. False: enough e-mails were sent to the account. */
export async function countResetRequest(db: Queryable, attempt: Attempt, nowMs: number): Promise<boolean> {
  const { address, account } = subjectsOf(attempt)
  const counters = await increment(db, [`reset ${address}`, `reset ${account}`], nowMs)
  checkLimit(counters.get(`reset ${address}`)!, MOST_RESETS.address, nowMs, 'too_many_resets')
  return counters.get(`reset ${account}`)!.failures <= MOST_RESETS.account
}

type Counter = { subject: string; started_at: Date; failures: number }

/** Adds one to each counter over all nodes; restarts ended windows. */
async function increment(
  db: Queryable,
  subjects: readonly string[],
  nowMs: number,
): Promise<Map<string, Counter>> {
  // Sorted, so that concurrent requests lock rows in the same order.
  const { rows } = await db.query<Counter>(
    `insert into sign_in_failure as f (subject, started_at, failures)
     select subject, $2, 1 from unnest($1::text[]) as subject
     on conflict (subject) do update set
       started_at = case when f.started_at <= $3 then $2 else f.started_at end,
       failures = case when f.started_at <= $3 then 1 else f.failures + 1 end
     returning subject, started_at, failures`,
    [subjects.toSorted(), new Date(nowMs), new Date(nowMs - FAILURE_WINDOW_MS)],
  )
  return new Map(rows.map((row) => [row.subject, row]))
}

function checkLimit(
  { failures, started_at }: Counter,
  most: number,
  nowMs: number,
  code: 'too_many_failures' | 'too_many_resets',
): void {
  if (failures <= most) return
  const waitMs = started_at.getTime() + FAILURE_WINDOW_MS - nowMs
  throw new AppError(code, { headers: { 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1_000))) } })
}

async function takeBack(db: Queryable, subjects: readonly string[]): Promise<void> {
  await db.query(
    `update sign_in_failure f set failures = greatest(0, f.failures - 1)
       from (select subject from sign_in_failure where subject = any ($1) order by subject for update) as mine
      where f.subject = mine.subject`,
    [subjects],
  )
}

function subjectsOf({ email, address }: Attempt): Record<keyof typeof MOST_FAILURES, string> {
  // Invalid e-mails belong to no account, and PostgreSQL does not accept every text.
  const account = parseEmail(email) ?? ''
  return { pair: `pair ${address} ${account}`, address: `address ${address}`, account: `account ${account}` }
}
