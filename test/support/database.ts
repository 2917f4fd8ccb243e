import { after } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AccountId, DomainId } from '@prepaint/contract/ids.ts'
import { withClient } from '@prepaint/postgres/connection.ts'
import { createPool } from '@prepaint/postgres/database.ts'
import { createListener } from '@prepaint/postgres/listener.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { connectionTo, startTestCluster } from './postgres-server.ts'

export type TestDatabase = Awaited<ReturnType<typeof testDatabase>>

/** A failed test may hold a connection, and the pool would wait for it for ever. */
const GIVEN_BACK_WITHIN_MS = 30_000

/** How many sessions of this database wait for another's lock. */
export async function waitingForLocks(pool: pg.Pool): Promise<number> {
  const { rowCount } = await pool.query(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rowCount!
}

/** Names the socket directory of the server that run-setup.ts has started. */
export const SHARED_SERVER = 'PREPAINT_TEST_DATABASE_SERVER'

let cluster: Promise<pg.ClientConfig> | undefined
let count = 0

/** A new database on the run's PostgreSQL, or this process's if it runs alone. It has the schema unless `empty` is true. */
export async function testDatabase({ empty = false } = {}) {
  const shared = process.env[SHARED_SERVER]
  if (shared === undefined) cluster ??= startTestCluster()
  const server = shared === undefined ? await cluster! : connectionTo(shared)
  const admin = { ...server, database: 'postgres' }
  const name = `test_${process.pid}_${++count}`
  await withClient(admin, (client) =>
    client.query(`create database ${name} template ${empty ? 'template0' : 'template1'}`),
  )
  const connection = { ...server, database: name }
  const pool = createPool(connection, silentLog())
  return {
    pool,
    connection,
    url: `postgres:///${name}?${new URLSearchParams({ host: String(server.host), user: String(server.user) })}`,
    /** The first column of the rows that a query gives. */
    async column<T = unknown>(text: string, ...values: unknown[]) {
      const { rows } = await pool.query<[T]>({ text, values, rowMode: 'array' })
      return rows.map(([first]) => first)
    },
    /** Drops the database even if clients are connected; rejects if a connection was not released. */
    async close(): Promise<void> {
      const waiting = new AbortController()
      const late = sleep(GIVEN_BACK_WITHIN_MS, 'late', { signal: waiting.signal }).catch(() => {})
      const ended = await Promise.race([pool.end(), late]).finally(() => waiting.abort())
      await withClient(admin, (client) => client.query(`drop database ${name} with (force)`))
      if (ended === 'late') throw new Error('a connection of the pool was not given back')
    },
  }
}

/** As `testDatabase`, for all tests of a file. */
export async function openTestDatabase(options?: { empty?: boolean }): Promise<TestDatabase> {
  const database = await testDatabase(options)
  after(() => database.close())
  return database
}

/**
 * Truncates `tables`, which may end with options. The audit log would refuse it, so its triggers are off meanwhile; those that
 * count what is gone are not.
 */
export async function emptyTables(pool: pg.Pool, tables: string): Promise<void> {
  await pool.query(
    `begin; alter table audit_entry disable trigger user; truncate ${tables}; alter table audit_entry enable trigger user; commit`,
  )
}

/** A domain of an account, or of a new one with that plan. No node is told. */
export async function insertDomain(
  pool: pg.Pool,
  name: string,
  of: { account?: AccountId; plan?: string; originUrl?: string; active?: boolean } = {},
): Promise<DomainId> {
  const { account = null, plan = 'pro', originUrl = 'https://origin.example.com', active = true } = of
  const { rows } = await pool.query<{ id: DomainId }>(
    `with owner as (
       insert into account (email, plan) select $1 || '@example.com', $2 where $3::integer is null returning id)
     insert into domain (account_id, custom_domain, origin_url, is_active)
     select coalesce($3, (select id from owner)), $1, $4, $5 returning id`,
    [name, plan, account, originUrl, active],
  )
  return rows[0]!.id
}

/** All that the nodes are told to forget because of `act`, in the order of the commits. */
export async function invalidatedBy(database: TestDatabase, act: () => Promise<unknown>): Promise<unknown[]> {
  return (await notifiedBy(database, ['invalidate'], act)).map((payload) => JSON.parse(payload))
}

/** What is notified on these channels because of `act`. */
export async function notifiedBy(
  { connection, pool }: TestDatabase,
  channels: readonly string[],
  act: () => Promise<unknown>,
): Promise<string[]> {
  const listener = await createListener(connection, silentLog())
  const heard: string[] = []
  const { promise: last, resolve } = Promise.withResolvers<void>()
  for (const channel of channels) listener.on(channel, (payload) => heard.push(payload))
  listener.on('last', () => resolve())
  await listener.settled()
  try {
    await act()
    await pool.query('notify last')
    await last
  } finally {
    await listener.close()
  }
  return heard
}
