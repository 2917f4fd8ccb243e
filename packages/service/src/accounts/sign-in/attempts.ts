import { AppError } from '@prepaint/contract/errors.ts'
import { Rate } from '@prepaint/postgres/rates'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { parseEmail } from '../email.ts'

export const FAILURE_WINDOW_MS = 15 * 60_000

/** The most wrong passwords in a window: from an IP address to an account, from an IP address, and to an account. */
export const MOST_FAILURES = { pair: 5, address: 20, account: 100 } as const

/** The most reset requests of an IP address, and e-mails to an account, in a window. */
export const MOST_RESETS = { address: 10, account: 3 } as const

/** Everyone locks their rows in this order, so that attempts at once do not wait for each other in a circle. */
const KINDS = ['pair', 'address', 'account'] as const

const FAILURES = {
  pair: rateOf('sign-in pair', MOST_FAILURES.pair),
  address: rateOf('sign-in address', MOST_FAILURES.address),
  account: rateOf('sign-in account', MOST_FAILURES.account),
}

const RESETS = {
  address: rateOf('reset address', MOST_RESETS.address),
  account: rateOf('reset account', MOST_RESETS.account),
}

function rateOf(what: string, most: number): Rate {
  return new Rate({ what, most, withinMs: FAILURE_WINDOW_MS, window: 'fixed' })
}

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
    for (const kind of KINDS) {
      const refusal = await FAILURES[kind].take(client, subjects[kind], { nowMs })
      if (refusal !== null) throw new AppError('too_many_failures', { headers: refusal.headers })
    }
  })
  try {
    const result = await run()
    await takeBack(pool, subjects)
    await FAILURES.pair.forget(pool, subjects.pair)
    return result
  } catch (error) {
    if (!(error instanceof AppError && error.code === wrong)) await takeBack(pool, subjects)
    throw error
  }
}

/** Returns false if enough e-mails were sent to the account. Throws `too_many_resets` for too many requests of the client's IP address. */
export async function countResetRequest(db: Queryable, attempt: Attempt, nowMs: number): Promise<boolean> {
  const { address, account } = subjectsOf(attempt)
  const refusal = await RESETS.address.take(db, address, { nowMs })
  if (refusal !== null) throw new AppError('too_many_resets', { headers: refusal.headers })
  return (await RESETS.account.take(db, account, { nowMs })) === null
}

type Subjects = Record<keyof typeof MOST_FAILURES, string>

async function takeBack(db: Queryable, subjects: Subjects): Promise<void> {
  for (const kind of KINDS) await FAILURES[kind].giveBack(db, subjects[kind])
}

function subjectsOf({ email, address }: Attempt): Subjects {
  // Invalid e-mails belong to no account, and PostgreSQL does not accept every text.
  const account = parseEmail(email) ?? ''
  return { pair: `${address} ${account}`, address, account }
}
