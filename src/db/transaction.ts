import type pg from 'pg'

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
