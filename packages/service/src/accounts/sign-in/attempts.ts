import { AppError } from '@prepaint/contract/errors.ts'
import { Rate } from '@prepaint/postgres/rates'
import { type Queryable, transaction } from '@prepaint/postgres/transaction.ts'
import type pg from 'pg'
import { parseEmail } from '../email.ts'

export const FAILURE_WINDOW_MS = 15 * 60_000

/** The most wrong passwords in a window: from an IP address to a person, from an IP address, and to a person. */
export const MOST_FAILURES = { pair: 5, address: 20, person: 100 } as const

/** The most reset requests of an IP address, and e-mails to a person, in a window. */
export const MOST_RESETS = { address: 10, person: 3 } as const

/** Everyone locks their rows in this order, so that attempts at once do not wait for each other in a circle. */
const KINDS = ['pair', 'address', 'person'] as const

const FAILURES = {
  pair: rateOf('sign-in pair', MOST_FAILURES.pair),
  address: rateOf('sign-in address', MOST_FAILURES.address),
  person: rateOf('sign-in person', MOST_FAILURES.person),
}

const RESETS = {
  address: rateOf('reset address', MOST_RESETS.address),
  person: rateOf('reset person', MOST_RESETS.person),
}

function rateOf(what: string, most: number): Rate {
  return new Rate({ what, most, withinMs: FAILURE_WINDOW_MS, window: 'fixed' })
}

type Attempt = { email: string; address: string }

/**
 * Counts the attempt as a failure first, so concurrent attempts cannot exceed the limit. Any result but `wrong`
 * takes its own count back, and no other. Throws `too_many_failures` per client IP or person; locking out a person takes very
 * many addresses.
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
    return result
  } catch (error) {
    if (!(error instanceof AppError && error.code === wrong)) await takeBack(pool, subjects)
    throw error
  }
}

/** Returns false if enough e-mails were sent to the person. Throws `too_many_resets` for too many requests of the client's IP address. */
export async function countResetRequest(db: Queryable, attempt: Attempt, nowMs: number): Promise<boolean> {
  const { address, person } = subjectsOf(attempt)
  const refusal = await RESETS.address.take(db, address, { nowMs })
  if (refusal !== null) throw new AppError('too_many_resets', { headers: refusal.headers })
  return (await RESETS.person.take(db, person, { nowMs })) === null
}

type Subjects = Record<keyof typeof MOST_FAILURES, string>

async function takeBack(db: Queryable, subjects: Subjects): Promise<void> {
  for (const kind of KINDS) await FAILURES[kind].giveBack(db, subjects[kind])
}

function subjectsOf({ email, address }: Attempt): Subjects {
  // Invalid e-mails belong to no person, and PostgreSQL does not accept every text.
  const person = parseEmail(email) ?? ''
  return { pair: `${address} ${person}`, address, person }
}
