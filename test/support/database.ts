import { setTimeout as sleep } from 'node:timers/promises'

import type pg from 'pg'
import { withClient } from '../../src/db/connection.ts'
import { createPool } from '../../src/db/database.ts'
import { silentLog } from '../../src/log.ts'
import { startTestCluster } from './postgres-server.ts'

export type TestDatabase = {
  pool: pg.Pool
  connection: pg.ClientConfig
  /** For a process of its own, as its DATABASE_URL. */
  url: string
  /** Ends the pool and drops the database, whoever is still connected; rejects where a connection was not given back. */
  close(): Promise<void>
}

/** A test that failed may hold a connection, for which the end of the pool would wait for ever. */
const GIVEN_BACK_WITHIN_MS = 30_000

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
      const waiting = new AbortController()
      const late = sleep(GIVEN_BACK_WITHIN_MS, 'late', { signal: waiting.signal }).catch(() => {})
      const ended = await Promise.race([pool.end(), late]).finally(() => waiting.abort())
      await withClient(admin, (client) => client.query(`drop database ${name} with (force)`))
      if (ended === 'late') throw new Error('a connection of the pool was not given back')
    },
  }
}
