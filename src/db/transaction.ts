import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** What runs a query: the pool, or the client of a transaction that is open. */
export type Queryable = Pick<pg.Pool, 'query'> | Pick<pg.ClientBase, 'query'>

/**
 * Runs `work` between `begin` and `commit` on one connection. When `work`
 * throws, everything is rolled back and its error is thrown on. A connection
 * that could not even roll back is thrown away, never handed to the next.
 */
export async function transaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('begin')
    const result = await work(client)
    const end = await client.query('commit')
    // PostgreSQL answers a commit of a failed transaction with a rollback, not
    // with an error: `work` swallowed one, and nothing was stored.
    if (end.command !== 'COMMIT') throw new Error('The transaction had failed and was rolled back')
    return result
  } catch (error) {
    await client.query('rollback').catch((cause: Error) => {
      broken = cause
    })
    throw error
  } finally {
    client.release(broken)
  }
}

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

/** What the database's clock says, to the millisecond below. A node that runs keeps its own by it: src/insight/fleet/database-clock.ts. */
export async function databaseNow(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now')
  return rows[0]!.now
}
