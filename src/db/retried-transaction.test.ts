import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { retriedTransaction } from './transaction.ts'

let database: TestDatabase
before(async () => {
  database = await testDatabase({ empty: true })
  await database.pool.query('create table row_of (name text primary key, changes integer not null default 0)')
  await database.pool.query(`insert into row_of (name) values ('a'), ('b')`)
})
after(() => database.close())

it('two that lock rows in opposite orders both get through', async () => {
  let runs = 0
  const bothHoldOne = Promise.withResolvers<void>()
  let holding = 0
  const change = (first: string, second: string) =>
    retriedTransaction(database.pool, async (client) => {
      runs++
      await client.query('update row_of set changes = changes + 1 where name = $1', [first])
      if (++holding === 2) bothHoldOne.resolve()
      await bothHoldOne.promise
      await client.query('update row_of set changes = changes + 1 where name = $1', [second])
    })
  await Promise.all([change('a', 'b'), change('b', 'a')])
  // One has to come again; on a busy machine it may meet the other once more.
  assert(runs >= 3, `${runs} runs`)
  const { rows } = await database.pool.query('select name, changes from row_of order by name')
  assert.deepEqual(rows, [
    { name: 'a', changes: 2 },
    { name: 'b', changes: 2 },
  ])
})

it('any other error is thrown at once', async () => {
  let runs = 0
  const failing = retriedTransaction(database.pool, async (client) => {
    runs++
    await client.query('select 1 / 0')
  })
  await assert.rejects(failing, /division by zero/)
  assert.equal(runs, 1)
})

it('what keeps meeting deadlocks gives up after five tries', async () => {
  let runs = 0
  const failing = retriedTransaction(database.pool, async (client) => {
    runs++
    await client.query(`do $$ begin raise exception using errcode = '40P01'; end $$`)
  })
  await assert.rejects(failing, { code: '40P01' })
  assert.equal(runs, 5)
})
