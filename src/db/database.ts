import type pg from 'pg'

import type { Log } from '../log.ts'
import { reachGivenServer } from './given-server.ts'
import { createPool } from './pool.ts'
import { openPrivatePostgres } from './private-postgres.ts'

export type Database = {
  pool: pg.Pool
  /** For connections of one's own (migrations, LISTEN). */
  connection: pg.ClientConfig
  /** Ends the pool, then the private PostgreSQL if this process started it. */
  close(): Promise<void>
}

export type DatabaseOptions = {
  /** null: the private PostgreSQL under `dataDir`. */
  databaseUrl: string | null
  dataDir: string
  log: Log
  /**
   * For commands beside a node: use the private PostgreSQL that runs, else start
   * one for the life of this command. Without it, a directory in use is refused.
   */
  attach?: boolean
  /** Told one line before each step that a person would notice. */
  onLongStep?(line: string): void
  /** How long a given server may take to come up; 20 s unless told. */
  waitMs?: number
}

/** Opens the database of this node. Throws DatabaseError with what the operator can do about it. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { databaseUrl, dataDir, log, attach = false, onLongStep = () => {}, waitMs = 20_000 } = options
  const server =
    databaseUrl === null
      ? await openPrivatePostgres({ dataDir, log, attach, onLongStep })
      : {
          connection: await reachGivenServer(databaseUrl, waitMs, onLongStep),
          close: async () => {},
        }
  const pool = createPool(server.connection, log)
  let closing: Promise<void> | undefined
  return {
    pool,
    connection: server.connection,
    close() {
      closing ??= pool.end().then(server.close, async (error) => {
        await server.close()
        throw error
      })
      return closing
    },
  }
}
