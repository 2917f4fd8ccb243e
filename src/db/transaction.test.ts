import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

import { openTestDatabase } from '../../test/support/database.ts'
import { retriedTransaction, transaction } from './transaction.ts'

const database = await openTestDatabase({ empty: true })
await database.pool.query('create table entry (n integer unique)')
await database.pool.query('create table row_of (name text primary key, changes integer not null default 0)')
await database.pool.query(`insert into row_of (name) values ('a'), ('b')`)

describe('transaction', () => {
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

describe('a retried transaction', () => {
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
})
