import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'

import type pg from 'pg'

import { until } from '../../test/support/condition.ts'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../../test/support/database-proxy.ts'
import { silentLog } from '../log.ts'
import { createPool } from './database.ts'
import { DatabaseTimeouts, DatabaseUnresponsive, type TimeoutSettings } from './database-timeouts.ts'

const TIMES: TimeoutSettings = { queryMs: 1_000, pollMs: 20, graceMs: 20 }

describe('database timeouts', () => {
  let database: TestDatabase
  let proxy: DatabaseProxy
  let pool: pg.Pool
  let timeouts: DatabaseTimeouts
  before(async () => {
    database = await testDatabase({ empty: true })
    proxy = await startDatabaseProxy(database.connection)
    pool = createPool(proxy.connection, silentLog())
    timeouts = new DatabaseTimeouts({ pool, connection: proxy.connection, log: silentLog() }, TIMES)
  })
  after(async () => {
    timeouts.close()
    proxy.close()
    await pool.end()
    await database.close()
  })
  beforeEach(() => proxy.set('through'))

  const ask = () => timeouts.run(() => pool.query<{ n: number }>('select 1 as n'))

  /** In time, sooner or later: a busy machine may take longer than this limit for one of them. */
  const answered = () => until('it is answered', async () => (await ask()).rows[0]?.n === 1, 30_000)

  it('gives what is answered in time, and the error that was answered', async () => {
    await answered()
    await until(
      'its error is given',
      () =>
        timeouts
          .run(() => pool.query('select 1 / 0'))
          .then(
            () => assert.fail('nothing is divided by zero'),
            ({ message }: Error) => message === 'division by zero',
          ),
      30_000,
    )
    assert.equal(timeouts.unresponsive, false)
  })

  it('one query that takes long is given up, and nobody else suffers', async () => {
    const slow = pool.query('select pg_sleep(4)')
    await assert.rejects(
      timeouts.run(() => slow),
      DatabaseUnresponsive,
    )
    await until('it is not called silent', () => !timeouts.unresponsive)
    await answered()
    // It was not cut off.
    assert.equal((await slow).rowCount, 1)
  })

  it('when a network swallows, the first waits and the others do not; it heals, with the connections that hung', async () => {
    await Promise.all([answered(), answered(), answered()])
    proxy.set('swallow')
    const hanging = [1, 2, 3].map(() => pool.query('select 2'))
    const cut = Promise.allSettled(hanging)
    await assert.rejects(ask(), /no response from the database in 1000 ms/)
    assert.equal(timeouts.unresponsive, true)
    let asked = false
    const startedMs = performance.now()
    await assert.rejects(
      timeouts.run(async () => {
        asked = true
      }),
      /does not respond/,
    )
    assert.equal(asked, false)
    assert.ok(performance.now() - startedMs < TIMES.queryMs)

    proxy.set('through')
    await until('it answers again', () => !timeouts.unresponsive)
    await answered()
    // Long before their time of 45 s is over.
    for (const { status } of await cut) assert.equal(status, 'rejected')
  })

  it('a server that is gone refuses at once: that is no silence', async () => {
    proxy.set('refuse')
    await assert.rejects(ask(), (error) => !(error instanceof DatabaseUnresponsive))
    assert.equal(timeouts.unresponsive, false)
    proxy.set('through')
    await answered()
  })
})
