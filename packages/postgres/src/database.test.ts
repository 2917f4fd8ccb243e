import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { until } from '../../../test/support/condition.ts'
import { openTestDatabase, testDatabase } from '../../../test/support/database.ts'
import { startDatabaseProxy } from '../../../test/support/database-proxy.ts'
import { freePort } from '../../../test/support/loopback.ts'
import { openDatabase } from './database.ts'
import { createListener, type ListenerTimes } from './listener.ts'

const LISTENER_TIMES: ListenerTimes = {
  ...{ heartbeatMs: 60_000, responseMs: 5_000, backOffFirstMs: 5, backOffMaxMs: 50, catchUpMs: 5_000 },
}

describe('listener', async () => {
  const database = await openTestDatabase({ empty: true })
  const notify = (channel: string, payload: string) =>
    database.pool.query('select pg_notify($1, $2)', [channel, payload])

  async function open(
    t: TestContext,
    times: Partial<ListenerTimes> = {},
    connection: pg.ClientConfig = database.connection,
  ) {
    const listener = await createListener(connection, silentLog(), { ...LISTENER_TIMES, ...times })
    t.after(() => listener.close())
    const taken: string[] = []
    let lost = 0
    listener.on('Odd "channel"', (payload) => taken.push(payload))
    listener.onLost(() => void lost++)
    await listener.settled()
    return { listener, taken, lost: () => lost }
  }

  const OURS = `datname = current_database() and query ilike 'listen%' and pid <> pg_backend_pid()`
  const breakConnection = () =>
    database.pool.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${OURS}`)
  const received = (taken: string[], payload: string) =>
    until(`"${payload}" has arrived`, () => taken.includes(payload))

  it('hands each payload to all who asked for its channel, whatever one throws, and to nobody else', async (t) => {
    const { listener, taken } = await open(t)
    const other: string[] = []
    listener.on('other', () => assert.fail('fault of the taker'))
    listener.on('other', (payload) => other.push(payload))
    await listener.settled()
    await notify('other', 'one')
    await notify('Odd "channel"', '')
    await received(taken, '')
    assert.deepEqual([taken, other], [[''], ['one']])
  })

  it('comes back after a lost connection, says so before and after, and has the channels asked for meanwhile', async (t) => {
    const { listener, taken, lost } = await open(t)
    const late: string[] = []
    listener.onLost(() => {
      if (!listener.connected) listener.on('late', (payload) => late.push(payload))
    })
    assert.equal(listener.connected, true)
    await breakConnection()
    await until('it is back', () => listener.connected && lost() === 2)
    await listener.settled()
    await notify('Odd "channel"', 'again')
    await notify('late', 'x')
    await received(late, 'x')
    assert.deepEqual([taken, lost()], [['again'], 2])
  })

  it('notices a connection that is dead without a word, by its heartbeat', async (t) => {
    const proxy = await startDatabaseProxy(database.connection)
    t.after(() => proxy.close())
    const times = { heartbeatMs: 20, responseMs: 1_000 }
    const { listener, taken, lost } = await open(t, times, proxy.connection)
    proxy.set('swallow')
    await until('it has noticed', () => lost() >= 1 && !listener.connected)
    proxy.set('through')
    await until('it is back', () => listener.connected)
    await notify('Odd "channel"', 'heard')
    await received(taken, 'heard')
  })

  it('caught up: all that was committed before has been handed out, also for many who ask at once', async (t) => {
    const { listener, taken } = await open(t)
    const many = Array.from({ length: 50 }, async (_, at) => {
      await notify('Odd "channel"', `many ${at}`)
      await listener.caughtUp()
      assert(taken.includes(`many ${at}`))
    })
    await Promise.all(many)
  })

  it('catching up ends at its time limit', async (t) => {
    const proxy = await startDatabaseProxy(database.connection)
    t.after(() => proxy.close())
    const { listener, lost } = await open(t, { catchUpMs: 1, responseMs: 1_000 }, proxy.connection)
    proxy.set('swallow')
    await listener.caughtUp()
    assert.deepEqual([listener.connected, lost()], [true, 0], 'nobody knows yet')
    await until('the silence counts as a loss, long before the heartbeat', () => lost() >= 1)
  })
})

describe('a server given by DATABASE_URL', async () => {
  const database = await openTestDatabase()
  const open = (databaseUrl: string, waitMs = 0, lines: string[] = []) =>
    openDatabase({
      ...{ databaseUrl, dataDir: '/nowhere', log: silentLog(), waitMs },
      onLongStep: (line) => lines.push(line),
    })
  const refused = (databaseUrl: string, message: RegExp, waitMs?: number) =>
    assert.rejects(open(databaseUrl, waitMs), { name: 'DatabaseError', message })

  it('a server without the named database is refused, with its name and what to do', async () => {
    const url = database.url.replace(/test_\d+_\d+/, 'absent')
    await refused(url, /Cannot use the database absent at .*Create the database/)
  })

  it('a server that is still starting is waited for, with a line that says so', async (t) => {
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

  it('a server that does not come up in time is an error that says where, and never the password', async () => {
    const port = await freePort()
    const words = /^(?!.*geheim).*Cannot use the database db at 127\.0\.0\.1:\d+: .*ECONNREFUSED/s
    await refused(`postgres://someone:geheim@127.0.0.1:${port}/db`, words, 300)
  })

  it('PostgreSQL 15 is used; 14.99, another encoding, a replica and a malformed URL are refused', async (t) => {
    // A busy server may take seconds for a connection.
    const waitMs = 20_000
    await (await open(await pretending(t, { server_version_num: '150000' }), waitMs)).close()
    const old = await pretending(t, { server_version: '14.99', server_version_num: '140099' })
    await refused(
      old,
      /^the database .* is PostgreSQL 14\.99; Prepaint needs PostgreSQL 15 or newer\.$/,
      waitMs,
    )
    const latin = await pretending(t, { server_encoding: 'LATIN1' })
    await refused(latin, /encoding LATIN1; Prepaint needs .* UTF8/, waitMs)
    await refused(await pretending(t, {}, true), /read-only replica/, waitMs)
    await refused('postgres://u@h:99999/db', /^DATABASE_URL cannot be used: /)
  })

  it('a URL with several hosts is refused before any is asked; a comma elsewhere is none', async () => {
    const words =
      /^DATABASE_URL names several hosts; Prepaint needs one address that leads to the primary, such as HAProxy's \(docs\/operations\.md\)\.$/
    await refused('postgres://u:geheim@a.invalid:5432,b.invalid:5432/db', words)
    await refused('postgres://u:geheim@a.invalid,b.invalid/db', words)
    await refused('postgres:///db?user=u&host=a.invalid,b.invalid', words)
    const port = await freePort()
    await refused(
      `postgres://u:ge,heim@127.0.0.1:${port}/d,b`,
      /^Cannot use the database d,b at 127\.0\.0\.1:/,
    )
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
})
