import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { until } from '../../test/support/condition.ts'
import { openTestDatabase, testDatabase } from '../../test/support/database.ts'
import { startDatabaseProxy } from '../../test/support/database-proxy.ts'
import { freePort } from '../../test/support/loopback.ts'
import { silentLog } from '../log.ts'
import { DatabaseError, isNotUpYet } from './connection.ts'
import { openDatabase } from './database.ts'

const open = (databaseUrl: string, waitMs = 0, lines: string[] = []) =>
  openDatabase({
    ...{ databaseUrl, dataDir: '/nowhere', log: silentLog(), waitMs },
    onLongStep: (line) => lines.push(line),
  })

async function refusal(databaseUrl: string, waitMs?: number): Promise<string> {
  try {
    await (await open(databaseUrl, waitMs)).close()
  } catch (error) {
    assert(error instanceof DatabaseError, String(error))
    return error.message
  }
  throw new Error('it was accepted')
}

const database = await openTestDatabase()

it('a server that ends between two queries may be back in a moment, and what it refuses it will refuse again', async () => {
  const client = await database.pool.connect()
  const ended = new Promise((resolve) => client.once('end', resolve))
  await database.pool.query('select pg_terminate_backend($1)', [client.processID])
  await ended
  await assert.rejects(client.query('select'), isNotUpYet)
  client.release(true)
  await assert.rejects(database.pool.query('select 1 / 0'), (error) => !isNotUpYet(error))
})

describe('a server given by DATABASE_URL', () => {
  it('without the database named: says which one, and what to do', async () => {
    const message = await refusal(database.url.replace(/test_\d+_\d+/, 'absent'))
    assert.match(message, /Cannot use the database absent at .*Create the database/)
  })

  it('that is still starting is waited for, with a line that says so', async (t) => {
    const proxy = await startDatabaseProxy(database.connection)
    t.after(() => proxy.close())
    proxy.set('refuse')
    const lines: string[] = []
    const opening = open(proxy.url, 20_000, lines)
    await until('it says that it waits', () => lines.length > 0)
    proxy.set('through')
    await (await opening).close()
    assert.match(lines.join(), /^Waiting for the database test_\w+ at 127\.0\.0\.1:\d+ \.\.\.$/)
  })

  it('that does not come up in time: says where, and never the password', async () => {
    const port = await freePort()
    const message = await refusal(`postgres://someone:geheim@127.0.0.1:${port}/db`, 300)
    assert.match(message, new RegExp(`Cannot use the database db at 127\\.0\\.0\\.1:${port}: .*ECONNREFUSED`))
    assert.doesNotMatch(message, /geheim/)
  })

  it('of PostgreSQL 15 is taken; of 14.99, in another encoding, a replica, or a URL that means nothing, is refused', async (t) => {
    await (await open(await pretending(t, { server_version_num: '150000' }))).close()
    const old = await refusal(await pretending(t, { server_version: '14.99', server_version_num: '140099' }))
    assert.match(old, /^the database .* is PostgreSQL 14\.99; Prepaint needs PostgreSQL 15 or newer\.$/)
    const latin = await refusal(await pretending(t, { server_encoding: 'LATIN1' }))
    assert.match(latin, /encoding LATIN1; Prepaint needs .* UTF8/)
    assert.match(await refusal(await pretending(t, {}, true)), /read-only replica/)
    assert.match(await refusal('postgres://u@h:99999/db'), /^DATABASE_URL cannot be used: /)
  })
})

/** The URL of a database whose functions say this of its server. */
async function pretending(
  t: TestContext,
  settings: Record<string, string>,
  replica = false,
): Promise<string> {
  const { pool, connection, url, close } = await testDatabase({ empty: true })
  t.after(close)
  await pool.query(
    `create function current_setting(name text) returns text language sql as
       $$ select coalesce('${JSON.stringify(settings)}'::json ->> name, pg_catalog.current_setting(name)) $$;
     create function pg_is_in_recovery() returns boolean language sql as 'select ${replica}';
     alter database ${connection.database} set search_path = public, pg_catalog`,
  )
  return url
}
