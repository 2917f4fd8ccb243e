import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { transaction } from './transaction.ts'

describe('transaction', () => {
  let database: TestDatabase
  before(async () => {
    database = await testDatabase({ empty: true })
    await database.pool.query('create table entry (n integer unique)')
  })
  after(() => database.close())

  const entries = async () =>
    (await database.pool.query<{ n: number }>('select n from entry order by n')).rows.map(({ n }) => n)

  it('keeps all of it, and gives back what the work returns', async () => {
    const result = await transaction(database.pool, async (client) => {
      await client.query('insert into entry values (1)')
      await client.query('insert into entry values (2)')
      return 'done'
    })
    assert.equal(result, 'done')
    assert.deepEqual(await entries(), [1, 2])
  })

  it('keeps nothing of work that throws, and throws its error on', async () => {
    const fault = new Error('no')
    const failing = transaction(database.pool, async (client) => {
      await client.query('insert into entry values (3)')
      throw fault
    })
    await assert.rejects(failing, (error) => error === fault)
    assert.deepEqual(await entries(), [1, 2])
  })

  it('does not pass for stored what a swallowed error has undone', async () => {
    const failing = transaction(database.pool, async (client) => {
      await client.query('insert into entry values (4)')
      await client.query('insert into entry values (1)').catch(() => {})
    })
    await assert.rejects(failing, /was rolled back/)
    assert.deepEqual(await entries(), [1, 2])
  })

  it('throws a connection away that breaks inside, between two queries or in one', async () => {
    for (const waitForEnd of [true, false]) {
      const failing = transaction(database.pool, async (client) => {
        const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
        const ended = new Promise<void>((resolve) => client.once('end', () => resolve()))
        await database.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
        if (waitForEnd) await ended
        await client.query('insert into entry values (5)')
      })
      await assert.rejects(failing)
    }
    assert.deepEqual(await entries(), [1, 2])
  })

  it('gives every connection back: many more rounds than the pool has connections', async () => {
    const rounds = Array.from({ length: 100 }, (_, n) =>
      transaction(database.pool, async (client) => {
        await client.query('select 1')
        if (n % 2 === 0) throw new Error('even')
      }).catch((error: Error) => error.message),
    )
    assert.equal((await Promise.all(rounds)).filter((message) => message === 'even').length, 50)
    assert.equal(database.pool.waitingCount, 0)
    assert.equal(database.pool.idleCount, database.pool.totalCount)
  })
})
