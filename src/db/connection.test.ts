import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'

import pg from 'pg'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { isNotUpYet } from './connection.ts'

let database: TestDatabase
before(async () => {
  database = await testDatabase({ empty: true })
})
after(() => database.close())

it('a server that ends between two queries may be back in a moment, and what it refuses it will refuse again', async () => {
  const client = new pg.Client(database.connection)
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const ended = new Promise<void>((resolve) => client.once('end', () => resolve()))
  await database.pool.query('select pg_terminate_backend($1)', [rows[0]!.pid])
  await ended
  await assert.rejects(client.query('select'), isNotUpYet)
  await assert.rejects(database.pool.query('select 1 / 0'), (error) => !isNotUpYet(error))
})
