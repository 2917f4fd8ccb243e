import type pg from 'pg'

import { silentLog } from '../log.ts'
import { withClient } from './connection.ts'
import { createPool } from './pool.ts'
import { startTestCluster } from './test-cluster.ts'

export type TestDatabase = {
  pool: pg.Pool
  connection: pg.ClientConfig
  /** For a process of its own, as its DATABASE_URL. */
  url: string
  /** Ends the pool and drops the database, whoever is still connected. */
  close(): Promise<void>
}

let cluster: Promise<pg.ClientConfig> | undefined
let count = 0

/**
 * Test support: a new database on a PostgreSQL that all tests of this process
 * share and that ends with it. It has the schema, unless `empty` is asked for.
 */
export async function testDatabase({ empty = false } = {}): Promise<TestDatabase> {
  cluster ??= startTestCluster()
  const server = await cluster
  const admin = { ...server, database: 'postgres' }
  const name = `test_${++count}`
  await withClient(admin, (client) =>
    client.query(`create database ${name} template ${empty ? 'template0' : 'template1'}`),
  )
  const connection = { ...server, database: name }
  const pool = createPool(connection, silentLog())
  return {
    pool,
    connection,
    url: `postgres:///${name}?${new URLSearchParams({ host: String(server.host), user: String(server.user) })}`,
    async close() {
      await pool.end()
      await withClient(admin, (client) => client.query(`drop database ${name} with (force)`))
    },
  }
}
