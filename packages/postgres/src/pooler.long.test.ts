/** What a start says to connection poolers: PgBouncer of Debian 12 (1.18), in its three modes. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { databaseUser } from '@prepaint/runtime/system-user.ts'
import { SCHEMA } from '../../../bin/node/schema.ts'
import { until } from '../../../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../../../test/support/data-dir.ts'
import { openTestDatabase } from '../../../test/support/database.ts'
import { startDatabaseProxy } from '../../../test/support/database-proxy.ts'
import { openFolder } from '../../../test/support/folder.ts'
import { freePort } from '../../../test/support/loopback.ts'
import { startNodeProcess } from '../../../test/support/node-process.ts'
import { hasProgram } from '../../../test/support/program.ts'
import { withClient } from './connection.ts'
import { GivenServer } from './database.ts'
import { migrate } from './migrate.ts'

type Mode = 'session' | 'transaction' | 'statement'

/** Startup parameters that PgBouncer below 1.20 drops instead of refusing the connection. */
const DROPS = 'ignore_startup_parameters = statement_timeout,idle_in_transaction_session_timeout'

const isInstalled = hasProgram('pgbouncer', 'pgbouncer')
if (!isInstalled) {
  process.stderr.write(
    'pgbouncer is not installed: no test of connection poolers (apt-get install pgbouncer)\n',
  )
}

if (isInstalled) {
  describe('a connection pooler in front of the server', async () => {
    const database = await openTestDatabase({ empty: true })
    const folder = openFolder()
    const name = (port: number) => `the database ${database.connection.database} at 127.0.0.1:${port}`
    const inTransactionMode = (port: number) =>
      `${name(port)} is behind a connection pooler in transaction mode, which loses notifications and locks; ` +
      'connect to the server itself, or use session mode.'
    const dropsSettings = (port: number) =>
      `${name(port)} ignores statement_timeout; let the pooler pass startup parameters, or connect to the server itself.`

    /** Starts PgBouncer for one test. `options` are added to its own line of the database, `settings` to the others. */
    async function startPooler(t: TestContext, mode: Mode, { options = '', settings = '' } = {}) {
      const network = await startDatabaseProxy(database.connection)
      const { port: serverPort } = new URL(network.url)
      const port = await freePort()
      const file = path.join(folder, `pgbouncer-${port}.ini`)
      const lines = [
        '[databases]',
        `* = host=127.0.0.1 port=${serverPort} user=${database.connection.user} ${options}`,
        '[pgbouncer]',
        'listen_addr = 127.0.0.1',
        `listen_port = ${port}`,
        'unix_socket_dir =',
        'auth_type = any',
        `pool_mode = ${mode}`,
        settings,
      ]
      chmodSync(folder, 0o755)
      writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o644 })
      const { uid, gid } = databaseUser() ?? {}
      const child = spawn('pgbouncer', [file], { uid, gid, stdio: ['ignore', 'ignore', 'pipe'] })
      let said = ''
      child.stderr.on('data', (chunk) => {
        said += chunk
      })
      const ended = new Promise((resolve) => child.once('close', resolve))
      t.after(async () => {
        child.kill('SIGKILL')
        await ended
        network.close()
      })
      await until('the pooler listens', () => {
        assert.equal(child.exitCode, null, said)
        return said.includes('process up')
      })
      const { database: databaseName } = database.connection
      return { port, url: `postgres://prepaint:secret@127.0.0.1:${port}/${databaseName}` }
    }

    const check = (url: string) => new GivenServer(url).checkPooler()

    for (const mode of ['transaction', 'statement'] as const) {
      it(`is refused in ${mode} mode`, async (t) => {
        const { port, url } = await startPooler(t, mode)
        await assert.rejects(check(url), { name: 'DatabaseError', message: inTransactionMode(port) })
      })
    }

    it('is refused in transaction mode also where it takes the startup parameters', async (t) => {
      const { port, url } = await startPooler(t, 'transaction', {
        options: `connect_query='set statement_timeout = 30000'`,
        settings: DROPS,
      })
      await assert.rejects(check(url), { name: 'DatabaseError', message: inTransactionMode(port) })
    })

    it('is refused in session mode if it refuses startup parameters', async (t) => {
      const { port, url } = await startPooler(t, 'session')
      await assert.rejects(check(url), { name: 'DatabaseError', message: dropsSettings(port) })
    })

    it('is refused in session mode if it drops startup parameters', async (t) => {
      const { port, url } = await startPooler(t, 'session', { settings: DROPS })
      await assert.rejects(check(url), { name: 'DatabaseError', message: dropsSettings(port) })
    })

    it('is accepted in session mode if the settings asked for are in force', async (t) => {
      const { url } = await startPooler(t, 'session', {
        options: `connect_query='set statement_timeout = 30000'`,
        settings: DROPS,
      })
      await check(url)
    })

    it('that is refused keeps no lock and changes nothing: the next start without it migrates', async (t) => {
      const { port, url } = await startPooler(t, 'transaction')
      const dataDir = makeDataDir()
      t.after(() => clearDataDir(dataDir))
      await assert.rejects(startNodeProcess(dataDir, { DATABASE_URL: url }), (error: Error) => {
        assert(error.message.includes(inTransactionMode(port)), error.message)
        assert(!error.message.includes('secret'), error.message)
        return true
      })
      const count = `select count(*)::int as count from`
      await withClient(database.connection, async (client) => {
        const ours = `where database = (select oid from pg_database where datname = current_database())`
        const locks = await client.query(`${count} pg_locks ${ours} and locktype = 'advisory'`)
        const tables = await client.query(`${count} pg_tables where schemaname = 'public'`)
        assert.deepEqual([locks.rows, tables.rows], [[{ count: 0 }], [{ count: 0 }]])
      })
      await migrate(database.connection, SCHEMA, silentLog())
    })
  })
}
