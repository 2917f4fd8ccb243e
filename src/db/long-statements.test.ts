import assert from 'node:assert/strict'
import { after, it } from 'node:test'

import pg from 'pg'
import { testDatabase } from '../../test/support/database.ts'
import { LONG_AT_ONCE, letTakeLong } from './long-statements.ts'
import { transaction } from './transaction.ts'

const database = await testDatabase({ empty: true })
// Long for all that is quick, also where the machine is busy.
const hasty = new pg.Pool({ ...database.connection, max: 1, statement_timeout: 700, query_timeout: 1_100 })
after(async () => {
  await hasty.end()
  await database.close()
})

const SLOW = 'select pg_sleep(1.2)'
/** The server has both ended it and said so, or the client was the first to see that it takes too long. */
const isCutOff = (error: Error & { code?: string }) =>
  error.code === '57014' || error.message === 'Query read timeout'

it('a statement takes longer than the pool lets it, also than the client waits', async () => {
  await assert.rejects(
    transaction(hasty, (client) => client.query(SLOW)),
    isCutOff,
  )
  await transaction(hasty, async (client) => {
    const db = await letTakeLong(client)
    assert.equal((await db.query(SLOW)).rowCount, 1)
  })
})

it('only in this transaction', async () => {
  await transaction(hasty, letTakeLong)
  await assert.rejects(hasty.query(SLOW), isCutOff)
})

it('so many at a time; for one more the usual limits hold; asking twice takes no second place', async () => {
  const clients = await Promise.all(Array.from({ length: LONG_AT_ONCE + 1 }, () => database.pool.connect()))
  const limit = async (client: pg.PoolClient) => {
    await letTakeLong(client)
    await letTakeLong(client)
    const { rows } = await client.query('show statement_timeout')
    return rows[0].statement_timeout
  }
  try {
    const limits: string[] = []
    for (const client of clients) {
      await client.query('begin')
      limits.push(await limit(client))
    }
    assert.deepEqual(limits, [...Array.from({ length: LONG_AT_ONCE }, () => '15min'), '30s'])
    await clients[0]!.query('commit')
    await clients.at(-1)!.query('rollback; begin')
    assert.equal(await limit(clients.at(-1)!), '15min')
  } finally {
    for (const client of clients) {
      await client.query('rollback')
      client.release()
    }
  }
})

it('nobody who needs a lock is waited for as long', async () => {
  await transaction(database.pool, async (client) => {
    const db = await letTakeLong(client)
    const { rows } = await db.query('show lock_timeout')
    assert.deepEqual(rows, [{ lock_timeout: '30s' }])
  })
})
