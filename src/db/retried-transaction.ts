import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'

import { transaction } from './transaction.ts'

/** PostgreSQL breaks a deadlock by failing one of the two: that one is in the right when it comes again. */
const COME_AGAIN: ReadonlySet<string> = new Set(['40P01', '40001'])
const TRIES = 5
/** Else it takes the freed row again before the other, who waits for it, has woken: the same deadlock once more. */
const BACK_OFF_MS = 25

/**
 * Like `transaction`, for work that takes locks on rows that others take in
 * another order: after a deadlock it runs again from the start, a few times.
 * `work` must therefore do nothing but SQL.
 */
export function retriedTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  return retried(() => transaction(pool, work))
}

/** The same for a single statement. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      const again = error instanceof pg.DatabaseError && COME_AGAIN.has(error.code ?? '')
      if (!again || tries === TRIES) throw error
      await sleep(BACK_OFF_MS * tries)
    }
  }
}
