import type pg from 'pg'

import { type Queryable, transaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import { parseEmail } from '../accounts.ts'

export const FAILURE_WINDOW_MS = 15 * 60_000

/** Who guesses passwords from one address at one account, from one address, and at one account from everywhere. */
export const MOST_FAILURES = { pair: 5, address: 20, account: 100 } as const

type Attempt = { email: string; address: string }

/**
 * Runs an attempt that shows a password, counted as a failure before it
 * begins: of a hundred at once no more than may fail are looked at. It is taken back
 * when the password was right, and for any error but `wrong`. Throws `too_many_failures` when this address has
 * failed too often, or too many have failed at this account. An owner whose account is attacked from
 * elsewhere can still sign in: it takes very many addresses to lock him out.
 */
export async function countedAttempt<T>(
  pool: pg.Pool,
  attempt: Attempt,
  nowMs: number,
  wrong: 'wrong_credentials' | 'wrong_password',
  tryIt: () => Promise<T>,
): Promise<T> {
  await countFailure(pool, attempt, nowMs)
  try {
    const result = await tryIt()
    await takeBack(pool, attempt)
    // He knows the password, and what he mistyped before counts no more.
    await pool.query('delete from sign_in_failure where subject = $1', [subjectsOf(attempt).pair])
    return result
  } catch (error) {
    if (!(error instanceof AppError && error.code === wrong)) await takeBack(pool, attempt)
    throw error
  }
}

/** Over all nodes. One that is refused is not counted, nor is a window made longer by it. */
async function countFailure(pool: pg.Pool, attempt: Attempt, nowMs: number): Promise<void> {
  const subjects = subjectsOf(attempt)
  await transaction(pool, async (client) => {
    // In one order everywhere, so that two at once do not wait for each other.
    const { rows } = await client.query<{ subject: string; started_at: Date; failures: number }>(
      `insert into sign_in_failure as f (subject, started_at, failures)
       select subject, $2, 1 from unnest($1::text[]) as subject
       on conflict (subject) do update set
         started_at = case when f.started_at <= $3 then $2 else f.started_at end,
         failures = case when f.started_at <= $3 then 1 else f.failures + 1 end
       returning subject, started_at, failures`,
      [Object.values(subjects).toSorted(), new Date(nowMs), new Date(nowMs - FAILURE_WINDOW_MS)],
    )
    for (const kind of Object.keys(subjects) as (keyof typeof subjects)[]) {
      const row = rows.find(({ subject }) => subject === subjects[kind])
      if (row === undefined || row.failures <= MOST_FAILURES[kind]) continue
      const waitMs = row.started_at.getTime() + FAILURE_WINDOW_MS - nowMs
      throw new AppError('too_many_failures', {
        headers: { 'Retry-After': String(Math.max(1, Math.ceil(waitMs / 1_000))) },
      })
    }
  })
}

async function takeBack(db: Queryable, attempt: Attempt): Promise<void> {
  await db.query(
    `update sign_in_failure f set failures = greatest(0, f.failures - 1)
       from (select subject from sign_in_failure where subject = any ($1) order by subject for update) as mine
      where f.subject = mine.subject`,
    [Object.values(subjectsOf(attempt))],
  )
}

function subjectsOf({ email, address }: Attempt): Record<keyof typeof MOST_FAILURES, string> {
  // What is no e-mail is nobody's, and PostgreSQL does not take all of it.
  const account = parseEmail(email) ?? ''
  return { pair: `pair ${address} ${account}`, address: `address ${address}`, account: `account ${account}` }
}
