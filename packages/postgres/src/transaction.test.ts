import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { AccountId } from '@prepaint/contract/ids.ts'
import pg from 'pg'
import { insertDomain, openTestDatabase, testDatabase } from '../../../test/support/database.ts'
import { joined } from './joined.ts'
import { LONG_AT_ONCE, LONG_OF_ACCOUNT, letTakeLong } from './long-statements.ts'
import { retriedTransaction, transaction } from './transaction.ts'

describe('transactions', async () => {
  const database = await openTestDatabase({ empty: true })
  await database.pool.query('create table entry (n integer unique)')
  await database.pool.query('create table row_of (name text primary key, changes integer not null default 0)')
  await database.pool.query(`insert into row_of (name) values ('a'), ('b')`)

  const entries = () => database.column('select n from entry order by n')

  it('keeps all of it and gives back what the work returns; nothing of work that throws, or has swallowed an error', async () => {
    const result = await transaction(database.pool, async (client) => {
      await client.query('insert into entry values (1), (2)')
      return 'done'
    })
    assert.equal(result, 'done')
    const fault = new Error('no')
    const failing = transaction(database.pool, async (client) => {
      await client.query('insert into entry values (3)')
      throw fault
    })
    await assert.rejects(failing, (error) => error === fault)
    const swallowing = transaction(database.pool, async (client) => {
      await client.query('insert into entry values (4)')
      await client.query('insert into entry values (1)').catch(() => {})
    })
    await assert.rejects(swallowing, /was rolled back/)
    assert.deepEqual(await entries(), [1, 2])
    assert.equal(database.pool.idleCount, database.pool.totalCount, 'their connections are given back')
  })

  it('two retried transactions that lock rows in opposite orders both get through', async () => {
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
    assert.deepEqual(await database.column('select changes from row_of'), [2, 2])
  })

  for (const [code, tries] of Object.entries({ '40P01': 5, '22012': 1 }))
    it(`error ${code} is thrown after so many tries: ${tries}`, async () => {
      let runs = 0
      const failing = retriedTransaction(database.pool, async (client) => {
        runs++
        await client.query(`do $$ begin raise exception using errcode = '${code}'; end $$`)
      })
      await assert.rejects(failing, { code })
      assert.equal(runs, tries)
    })
})

describe('long statements', async () => {
  const database = await testDatabase()
  // Long for all that is quick, also where the machine is busy.
  const hasty = new pg.Pool({ ...database.connection, max: 1, statement_timeout: 700, query_timeout: 1_100 })
  after(async () => {
    await hasty.end()
    await database.close()
  })

  const of = (account: number) => ({ account: account as AccountId })
  /** Begins a transaction that asks twice. Returns its time limit. */
  const limit = async (client: pg.PoolClient, owner: Parameters<typeof letTakeLong>[1]): Promise<string> => {
    await client.query('begin')
    await letTakeLong(client, owner)
    await letTakeLong(client, owner)
    const { rows } = await client.query('show statement_timeout')
    return rows[0].statement_timeout
  }

  const SLOW = 'select pg_sleep(1.2)'
  /** The server has both ended it and said so, or the client was the first to see that it takes too long. */
  const isCutOff = (error: Error & { code?: string }) =>
    error.code === '57014' || error.message === 'Query read timeout'

  it('a statement takes longer than the pool lets it, also than the client waits, in this transaction only', async () => {
    await transaction(hasty, async (client) => {
      const db = await letTakeLong(client, of(1))
      assert.equal((await db.query(SLOW)).rowCount, 1)
    })
    await assert.rejects(hasty.query(SLOW), isCutOff)
  })

  it('one more than the limit of long statements has the usual limits, and asking twice takes no second place', async () => {
    const clients = await Promise.all(Array.from({ length: LONG_AT_ONCE + 1 }, () => database.pool.connect()))
    try {
      const limits: string[] = []
      for (const [at, client] of clients.entries()) limits.push(await limit(client, of(at + 1)))
      assert.deepEqual(limits, [...Array(LONG_AT_ONCE).fill('15min'), '30s'])
      await clients[0]!.query('commit')
      await clients.at(-1)!.query('rollback')
      assert.equal(await limit(clients.at(-1)!, of(9)), '15min')
    } finally {
      for (const client of clients) client.release(true)
    }
  })

  it('one account has half of the long statements, and not one more, by its own number or by a domain of its own; another one has the others', async () => {
    const clients = await Promise.all(Array.from({ length: LONG_AT_ONCE + 1 }, () => database.pool.connect()))
    const domain = await insertDomain(database.pool, 'long.example')
    const [account] = await database.column<AccountId>('select account_id from domain where id = $1', domain)
    const owners = [{ account: account! }, { domain }, { domain }, of(account! + 1), of(account! + 1)]
    try {
      const limits: string[] = []
      for (const [at, client] of clients.entries()) limits.push(await limit(client, owners[at]!))
      const own = Array(LONG_OF_ACCOUNT).fill('15min')
      assert.deepEqual(limits, [...own, '30s', '15min', '15min'])
      await clients[0]!.query('commit')
      await clients[2]!.query('rollback')
      assert.equal(await limit(clients[2]!, { domain }), '15min')
    } finally {
      for (const client of clients) client.release(true)
    }
  })
})

const turn = () => new Promise((resolve) => setImmediate(resolve))
const rejection = (code: string) => Object.assign(new Error(`database error ${code}`), { code })

/** Statements wait for `go`, unless `isFree`. */
function statements(options: Parameters<typeof joined<string, string>>[1], isFree = true) {
  const batches: string[] = []
  const held: (() => void)[] = []
  const call = joined<string, string>(async (inputs) => {
    batches.push(inputs.join(' '))
    if (!isFree) await new Promise<void>((resolve) => held.push(resolve))
    const bad = inputs.find((input) => /^\d/.test(input))
    if (bad !== undefined) throw rejection(bad)
    return inputs.map((input) => input.toUpperCase())
  }, options)
  return { batches, call, go: () => held.shift()!() }
}

describe('joined calls', () => {
  it('calls of one turn share statements up to their limit, and each gets its own output', async () => {
    const { batches, call } = statements({ most: 3 })
    assert.deepEqual(await Promise.all(['a', 'b', 'c', 'd'].map(call)), ['A', 'B', 'C', 'D'])
    assert.deepEqual(batches, ['a b c', 'd'])
  })

  it('calls wait while the limit of statements of their group run, and share the next', async () => {
    const { batches, call, go } = statements({ most: 9, underWay: 1, groupOf: (name) => name[0]! }, false)
    const all = [call('a1')]
    await turn()
    all.push(call('a2'), call('b1'))
    await turn()
    all.push(call('a3'))
    await turn()
    assert.deepEqual(batches, ['a1', 'b1'])
    go()
    await turn()
    await turn()
    assert.deepEqual(batches, ['a1', 'b1', 'a2 a3'])
    go()
    go()
    assert.deepEqual(await Promise.all(all), ['A1', 'A2', 'B1', 'A3'])
  })

  it('a call succeeds although the content of another one is rejected', async () => {
    const { batches, call } = statements({ most: 9 })
    const ends = await Promise.allSettled(['a', '22P05', 'b', '23503'].map(call))
    assert.deepEqual(
      ends.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
    )
    assert.equal(batches.length, 5)
  })

  it('calls fail together where the database fails, and later ones do not', async () => {
    const { batches, call } = statements({ most: 9, underWay: 1 })
    const ends = await Promise.allSettled(['a', '57P01'].map(call))
    assert.deepEqual([ends.map(({ status }) => status), batches.length], [['rejected', 'rejected'], 1])
    assert.equal(await call('b'), 'B')
  })
})
