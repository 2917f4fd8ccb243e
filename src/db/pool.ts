import pg from 'pg'

import type { Log } from '../log.ts'

/** Connections of one node; a server of default settings (100) so carries several nodes. */
const POOL_MAX = 16

/**
 * The pool of a node. All statements of ours are short: one that is not is cut
 * off rather than left to hold its connection and its locks.
 */
export function createPool(connection: pg.ClientConfig, log: Log): pg.Pool {
  const pool = new pg.Pool({
    ...connection,
    max: POOL_MAX,
    idleTimeoutMillis: 30_000,
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: 30_000,
    // For a connection whose other end vanished without a word.
    query_timeout: 45_000,
    // An idle pool must not keep a command from ending.
    allowExitOnIdle: true,
  })
  // Without a listener, an idle connection that breaks would end the process.
  pool.on('error', (error) => {
    // `end` does not wait for its connections to be gone: a server that stops right after it cuts them off.
    if (!pool.ending) log.warn({ err: error.message }, 'an idle database connection broke')
  })
  // The same for one that is in use, between two queries of a transaction; its next query tells.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
