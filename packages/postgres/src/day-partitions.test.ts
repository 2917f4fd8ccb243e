import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { openTestDatabase, waitingForLocks } from '../../../test/support/database.ts'
import { dropDays, dropEmptyDays, makeDays } from './day-partitions.ts'
import { transaction } from './transaction.ts'

const database = await openTestDatabase({ empty: true })
const { pool } = database
const SEEN = { table: 'seen', at: 'at' }
const DAY_MS = 86_400_000
const MIDNIGHT_MS = Date.UTC(2026, 10, 28)

const rowsOf = (table: string) => database.column<string>(`select what from ${table} order by 1`)
const partitions = () =>
  database.column<string>(
    `select inhrelid::regclass::text from pg_inherits where inhparent = 'seen'::regclass order by 1`,
  )
const insert = (what: string, atMs: number) =>
  pool.query('insert into seen values ($1, $2)', [new Date(atMs), what])

beforeEach(() =>
  pool.query(
    `drop table if exists seen;
     create table seen (at timestamptz not null, what text not null, primary key (at, what)) partition by range (at);
     create table seen_default partition of seen default`,
  ),
)

const MADE = ['seen_20261128', 'seen_20261129', 'seen_20261130', 'seen_20261201', 'seen_default']

describe('partitions of days', () => {
  it('are made for today and three more, by UTC, and once', async () => {
    await makeDays(pool, SEEN, MIDNIGHT_MS)
    assert.deepEqual(await partitions(), MADE)
    await makeDays(pool, SEEN, MIDNIGHT_MS + DAY_MS - 1)
    assert.deepEqual(await partitions(), MADE)
    await insert('first', MIDNIGHT_MS)
    await insert('last', MIDNIGHT_MS + 4 * DAY_MS - 1)
    await insert('before', MIDNIGHT_MS - 1)
    await insert('after', MIDNIGHT_MS + 4 * DAY_MS)
    assert.deepEqual(await rowsOf('seen_20261128'), ['first'])
    assert.deepEqual(await rowsOf('seen_20261201'), ['last'])
    assert.deepEqual(await rowsOf('seen_default'), ['after', 'before'])
  })

  it('made late get the rows of their day, and no others', async () => {
    for (const [what, atMs] of [
      ['first', MIDNIGHT_MS],
      ['last', MIDNIGHT_MS + DAY_MS - 1],
      ['before', MIDNIGHT_MS - 1],
    ] as const) {
      await insert(what, atMs)
    }
    await makeDays(pool, SEEN, MIDNIGHT_MS + 1)
    assert.deepEqual(await rowsOf('seen_20261128'), ['first', 'last'])
    assert.deepEqual(await rowsOf('seen_default'), ['before'])
    assert.deepEqual(await rowsOf('seen'), ['before', 'first', 'last'])
    await assert.rejects(insert('first', MIDNIGHT_MS), /duplicate key/, 'they have the key')
  })

  it('by several nodes at the same time are made once', async () => {
    await Promise.all([1, 2, 3].map(() => makeDays(pool, SEEN, MIDNIGHT_MS)))
    assert.deepEqual(await partitions(), MADE)
  })

  it('are dropped when they are old and empty', async () => {
    await makeDays(pool, SEEN, MIDNIGHT_MS)
    await insert('waiting', MIDNIGHT_MS)
    assert.equal(await dropEmptyDays(pool, SEEN, MIDNIGHT_MS + 2 * DAY_MS), 1)
    assert.deepEqual(await partitions(), ['seen_20261128', 'seen_20261130', 'seen_20261201', 'seen_default'])
    await pool.query('delete from seen')
    assert.equal(await dropEmptyDays(pool, SEEN, MIDNIGHT_MS + 2 * DAY_MS), 1)
    assert.deepEqual(await partitions(), ['seen_20261130', 'seen_20261201', 'seen_default'])
  })

  it('are made and dropped while other partitions are cleaned or read', async () => {
    await makeDays(pool, SEEN, MIDNIGHT_MS - DAY_MS)
    await transaction(pool, async (client) => {
      // The lock of VACUUM, and that of a query that names its partition.
      await client.query('lock table only seen_20261129 in share update exclusive mode')
      await client.query('select from seen_20261128')
      await makeDays(pool, SEEN, MIDNIGHT_MS)
      assert.equal(await dropEmptyDays(pool, SEEN, MIDNIGHT_MS), 1)
    })
    assert.deepEqual(await partitions(), MADE)
  })

  it('that are being vacuumed are dropped afterwards, and no query waits meanwhile', async () => {
    await makeDays(pool, SEEN, MIDNIGHT_MS)
    await insert('old', MIDNIGHT_MS)
    const vacuum = await pool.connect()
    await vacuum.query('begin')
    await vacuum.query('lock table only seen_20261128 in share update exclusive mode')
    const dropping = dropDays(pool, SEEN, MIDNIGHT_MS + DAY_MS)
    await until('it waits for the vacuum', async () => (await waitingForLocks(pool)) === 1)
    assert.deepEqual(await rowsOf('seen'), ['old'])
    await insert('older', MIDNIGHT_MS + 1)
    await vacuum.query('commit')
    vacuum.release()
    assert.equal(await dropping, 1)
    assert.deepEqual(await rowsOf('seen'), [])
  })

  it('by several nodes at the same time are dropped once', async () => {
    await makeDays(pool, SEEN, MIDNIGHT_MS)
    const dropped = await Promise.all([1, 2, 3].map(() => dropDays(pool, SEEN, MIDNIGHT_MS + DAY_MS)))
    assert.equal(
      dropped.reduce((sum, count) => sum + count, 0),
      1,
    )
  })

  it('with rows are dropped whole when they are old', async () => {
    await makeDays(pool, SEEN, MIDNIGHT_MS)
    await insert('old', MIDNIGHT_MS + DAY_MS - 1)
    await insert('kept', MIDNIGHT_MS + DAY_MS)
    assert.equal(await dropDays(pool, SEEN, MIDNIGHT_MS + DAY_MS - 1), 0)
    assert.equal(await dropDays(pool, SEEN, MIDNIGHT_MS + DAY_MS), 1)
    assert.deepEqual(await rowsOf('seen'), ['kept'])
  })

  it('are made after those that a partition of earlier days has, which is dropped as the others', async () => {
    await pool.query(
      `create table seen_before_20261130 partition of seen for values from (minvalue) to ('2026-11-30 00:00+00')`,
    )
    await makeDays(pool, SEEN, MIDNIGHT_MS)
    const made = ['seen_20261130', 'seen_20261201', 'seen_before_20261130', 'seen_default']
    assert.deepEqual(await partitions(), made)
    await insert('old', MIDNIGHT_MS)
    assert.equal(await dropDays(pool, SEEN, MIDNIGHT_MS + 2 * DAY_MS - 1), 0)
    assert.equal(await dropDays(pool, SEEN, MIDNIGHT_MS + 2 * DAY_MS), 1)
    assert.deepEqual(await rowsOf('seen'), [])
  })

  it('have the storage parameters of their table', async () => {
    await makeDays(pool, { ...SEEN, storage: 'fillfactor = 50' }, MIDNIGHT_MS)
    const options = `select reloptions[1] from pg_class where relname = 'seen_20261128'`
    assert.deepEqual(await database.column(options), ['fillfactor=50'])
  })

  it('give up after half a second where a query holds the table, and are made the next time', async () => {
    const reader = await pool.connect()
    await reader.query('begin')
    await reader.query('select from seen_default')
    await assert.rejects(makeDays(pool, SEEN, MIDNIGHT_MS), { code: '55P03' })
    await reader.query('commit')
    reader.release()
    await makeDays(pool, SEEN, MIDNIGHT_MS)
    assert.deepEqual(await partitions(), MADE)
  })
})
