import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

export type Queryable = Pick<pg.Pool, 'query'> | Pick<pg.ClientBase, 'query'>

/** Commits, or rolls back if `work` throws. Discards a connection that cannot roll back. */
export async function transaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    await client.query('begin')
    const afterwards: (() => void)[] = []
    AFTER_COMMIT.set(client, afterwards)
    const result = await work(client)
    const end = await client.query('commit')
    // `work` swallowed an error: COMMIT of a failed transaction rolls back without one.
    if (end.command !== 'COMMIT') throw new Error('The transaction had failed and was rolled back')
    for (const step of afterwards) step()
    return result
  } catch (error) {
    await client.query('rollback').catch((cause: Error) => {
      broken = cause
    })
    throw error
  } finally {
    AFTER_COMMIT.delete(client)
    client.release(broken)
  }
}

/** What is to happen after the commit, by the connection of the transaction. */
const AFTER_COMMIT = new WeakMap<Queryable, (() => void)[]>()

/** Runs `step`, which must not throw, when the transaction of `db` has committed; at once if `db` is in none. */
export function afterCommit(db: Queryable, step: () => void): void {
  const afterwards = AFTER_COMMIT.get(db)
  if (afterwards === undefined) step()
  else afterwards.push(step)
}

/** The errors `deadlock_detected` and `serialization_failure`. */
const RETRYABLE: ReadonlySet<string> = new Set(['40P01', '40001'])
const TRIES = 5
/** Without a pause, the retry locks the row before the waiting transaction does: the same deadlock again. */
const BACK_OFF_MS = 25

/** Retries after a deadlock. `work` must do nothing but SQL. */
export function retriedTransaction<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  return retried(() => transaction(pool, work))
}

export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      const again = error instanceof pg.DatabaseError && RETRYABLE.has(error.code ?? '')
      if (!again || tries === TRIES) throw error
      await sleep(BACK_OFF_MS * tries)
    }
  }
}

/** Reads the database's time, in whole milliseconds. Running nodes use packages/service/src/insight/fleet/database-clock.ts. */
export async function databaseNow(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now')
  return rows[0]!.now
}
