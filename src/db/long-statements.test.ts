import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'

import pg from 'pg'

import { letTakeLong } from './long-statements.ts'
import { type TestDatabase, testDatabase } from './test-database.ts'
import { transaction } from './transaction.ts'

let database: TestDatabase
let hasty: pg.Pool
before(async () => {
  database = await testDatabase({ empty: true })
  hasty = new pg.Pool({ ...database.connection, max: 1, statement_timeout: 200, query_timeout: 400 })
})
after(async () => {
  await hasty.end()
  await database.close()
})

const SLOW = 'select pg_sleep(0.5)'

it('a statement takes longer than the pool lets it, also than the client waits', async () => {
  await assert.rejects(
    transaction(hasty, (client) => client.query(SLOW)),
    { code: '57014' },
  )
  await transaction(hasty, async (client) => {
    const db = await letTakeLong(client)
    assert.equal((await db.query(SLOW)).rowCount, 1)
  })
})

it('only in this transaction', async () => {
  await transaction(hasty, letTakeLong)
  await assert.rejects(hasty.query(SLOW), { code: '57014' })
})
