import type { Queryable } from '../db/transaction.ts'
import { AppError } from '../errors.ts'

export const FAILURE_WINDOW_MS = 15 * 60_000

/** Who guesses passwords from one address at one account, from one address, and at one account from everywhere. */
export const MOST_FAILURES = { pair: 5, address: 20, account: 100 } as const

type Attempt = { email: string; address: string }

/**
 * Throws `too_many_failures` when this address has failed too often, or too
 * many have failed at this account. An owner whose account is attacked from
 * elsewhere can still sign in: it takes very many addresses to lock him out.
 */
export async function checkFailures(db: Queryable, attempt: Attempt, nowMs: number): Promise<void> {
  const subjects = subjectsOf(attempt)
  const { rows } = await db.query<{ subject: string; started_at: Date; failures: number }>(
    'select subject, started_at, failures from sign_in_failure where subject = any ($1) and started_at > $2',
    [Object.values(subjects), new Date(nowMs - FAILURE_WINDOW_MS)],
  )
  for (const row of rows) {
    const kind = (Object.keys(subjects) as (keyof typeof subjects)[]).find((k) => subjects[k] === row.subject)
    if (kind === undefined || row.failures < MOST_FAILURES[kind]) continue
    const waitMs = row.started_at.getTime() + FAILURE_WINDOW_MS - nowMs
    throw new AppError('too_many_failures', {
      headers: { 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1_000))) },
    })
  }
}

/** Counts a failure, over all nodes. */
export async function noteFailure(db: Queryable, attempt: Attempt, nowMs: number): Promise<void> {
  // In one order everywhere, so that two at once do not wait for each other.
  const subjects = Object.values(subjectsOf(attempt)).toSorted()
  await db.query(
    `insert into sign_in_failure as f (subject, started_at, failures)
     select subject, $2, 1 from unnest($1::text[]) as subject
     on conflict (subject) do update set
       started_at = case when f.started_at <= $3 then $2 else f.started_at end,
       failures = case when f.started_at <= $3 then 1 else f.failures + 1 end`,
    [subjects, new Date(nowMs), new Date(nowMs - FAILURE_WINDOW_MS)],
  )
}

/** After a success: he knows the password, and what he mistyped before counts no more. */
export async function forgetFailures(db: Queryable, attempt: Attempt): Promise<void> {
  await db.query('delete from sign_in_failure where subject = $1', [subjectsOf(attempt).pair])
}

/** Longer ones are nobody's address. */
const EMAIL_CHARS = 254

function subjectsOf({ email, address }: Attempt): Record<keyof typeof MOST_FAILURES, string> {
  const account = email.trim().toLowerCase().slice(0, EMAIL_CHARS)
  return { pair: `pair ${address} ${account}`, address: `address ${address}`, account: `account ${account}` }
}
