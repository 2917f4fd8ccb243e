import assert from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import type pg from 'pg'
import { until } from '../../../test/support/condition.ts'
import { openTestDatabase } from '../../../test/support/database.ts'
import { GrowingPool, type PoolSize } from './growing-pool.ts'

const { connection } = await openTestDatabase({ empty: true })
const NEVER_MS = 1_000_000

function open(t: TestContext, size: PoolSize, config: pg.PoolConfig = connection): GrowingPool {
  const pool = new GrowingPool({ ...config, idleTimeoutMillis: 50 }, size)
  // The database is dropped while its last connections end.
  pool.on('connect', (client) => client.on('error', () => {}))
  const held = new Set<pg.PoolClient>()
  pool.on('acquire', (client) => held.add(client))
  pool.on('release', (_error, client) => held.delete(client))
  t.after(() => {
    // A test that fails has not given them back.
    for (const client of held) client.release()
    return pool.end()
  })
  return pool
}

it('does with few connections while nobody waits for long', async (t) => {
  const pool = open(t, { few: 2, most: 5, patienceMs: NEVER_MS })
  const rows = Array.from({ length: 50 }, (_, at) => pool.query('select $1::integer as at', [at]))
  assert.deepEqual(
    (await Promise.all(rows)).map((result) => result.rows[0].at),
    Array.from({ length: 50 }, (_, at) => at),
  )
  assert.equal(pool.totalCount, 2)
})

it('opens one more for who waits for long, up to its limit, and none beyond', async (t) => {
  const pool = open(t, { few: 2, most: 4, patienceMs: 5 })
  const held = await Promise.all(Array.from({ length: 4 }, () => pool.connect()))
  assert.equal(pool.totalCount, 4)
  const fifth = pool.connect()
  const sixth = pool.query('select 6 as at')
  // Ten times as long as the pool is patient.
  await held[0]!.query('select pg_sleep(0.05)')
  assert.deepEqual([pool.totalCount, pool.waitingCount], [4, 2])
  held[0]!.release()
  const client = await fifth
  client.release()
  assert.equal((await sixth).rows[0].at, 6)
  for (const each of held.slice(1)) each.release()
})

it('has few again when the others were not needed for a while', async (t) => {
  const pool = open(t, { few: 1, most: 3, patienceMs: 5 })
  const held = await Promise.all(Array.from({ length: 3 }, () => pool.connect()))
  for (const each of held) each.release()
  await until('they are closed', () => pool.options.max === 1)
  const one = await pool.connect()
  const [second, third] = [pool.connect(), pool.connect()]
  assert.deepEqual([pool.totalCount, pool.waitingCount], [1, 2])
  one.release()
  for (const each of [second, third]) (await each).release()
})

it('passes on why none can be opened, and takes up work again', async (t) => {
  const pool = open(t, { few: 1, most: 3, patienceMs: 5 }, { ...connection, database: 'not-there' })
  const answers = await Promise.allSettled(Array.from({ length: 4 }, () => pool.query('select')))
  assert.deepEqual(
    answers.map((answer) => answer.status === 'rejected' && answer.reason.code),
    ['3D000', '3D000', '3D000', '3D000'],
  )
  await until('none is being opened any more', () => pool.totalCount === 0)
  assert.equal(pool.waitingCount, 0)
  pool.options.database = connection.database
  assert.equal((await pool.query('select 1 as at')).rows[0].at, 1)
})
