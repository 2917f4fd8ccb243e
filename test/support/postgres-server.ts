import { lchownSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { CONNECTION_DEFAULTS } from '@prepaint/postgres/connection.ts'
import { migrate, type Schema } from '@prepaint/postgres/migrate.ts'
import { makePrivate, prepareSocketDir } from '@prepaint/postgres/private-postgres/home.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { databaseUser, ownUid, type SystemUser } from '@prepaint/runtime/system-user.ts'
import type pg from 'pg'
import { SCHEMA } from '../../bin/node/schema.ts'
import { findBinaries } from '../../packages/postgres/src/private-postgres/binaries.ts'
import { PRIVATE_USER, prepareCluster } from '../../packages/postgres/src/private-postgres/cluster.ts'
import { PRIVATE_SETTINGS, startPostmaster } from '../../packages/postgres/src/private-postgres/postmaster.ts'
import { processesOf } from './processes.ts'

const SETTINGS = {
  ...PRIVATE_SETTINGS,
  // Tests need no durability after a machine crash.
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  shared_buffers: '64MB',
  max_connections: '300',
}
const INITDB_ARGS = ['--no-sync', '--wal-segsize=1']

/** A server that ends with this process, and is removed then. */
export async function startTestCluster(): Promise<pg.ClientConfig> {
  const { start } = await makeCluster()
  const { connection } = await start(true)
  await migrate(connection, testSchema(), silentLog())
  return connection
}

/**
 * Databases of tests are copies of one. They are made faster if its tables are whole, as in an upgraded database. Nodes that
 * tests start as programs have new databases, whose tables are divided. PREPAINT_TEST_TABLES=divided divides them in all tests.
 */
function testSchema(): Schema {
  const isDivided = process.env['PREPAINT_TEST_TABLES'] === 'divided'
  return isDivided ? SCHEMA : { ...SCHEMA, divided: [] }
}

/** A new data directory, and what starts a server in it. */
async function makeCluster() {
  const user = databaseUser()
  const place = testPlace(user)
  const binaries = findBinaries({ user, copyTo: place, onLongStep: () => {} })
  const run = mkdtempSync(path.join(place, 'run-'))
  if (user !== null) lchownSync(run, user.uid, user.gid)
  const data = await prepareCluster({ home: run, user, binaries, onLongStep: () => {}, args: INITDB_ARGS })
  async function start(disposable: boolean) {
    const socketDir = prepareSocketDir(run, user)
    const server = await startPostmaster({
      ...{ binaries, data, socketDir, user, log: silentLog(), settings: SETTINGS },
      ...(disposable ? { removeAfter: run } : {}),
    })
    return { connection: connectionTo(socketDir), server }
  }
  return { run, start }
}

export async function startTestServer() {
  const { run, start } = await makeCluster()
  let { server, connection } = await start(false)
  await migrate(connection, SCHEMA, silentLog())
  return {
    connection,
    url: `postgres:///template1?${new URLSearchParams({ host: String(connection.host), user: PRIVATE_USER })}`,
    stop: () => server.stop(),
    /** SIGKILL to all its processes, as in a power loss. */
    async kill(): Promise<void> {
      for (const pid of serverPids(run)) send(pid, 'SIGKILL')
      await server.stop()
    },
    /** All its processes stand still: the kernel takes connections, and nothing is answered. */
    pause(): void {
      for (const pid of serverPids(run)) send(pid, 'SIGSTOP')
    },
    resume(): void {
      for (const pid of serverPids(run)) send(pid, 'SIGCONT')
    },
    async start() {
      server = (await start(false)).server
    },
    async close() {
      await server.stop()
      rmSync(run, { recursive: true, force: true })
    },
  }
}

/** The processes of the server, without the shell that watches them. */
function serverPids(run: string): number[] {
  return processesOf(run)
    .filter(({ command }) => /^(?:postgres:|\S*postgres )/.test(command))
    .map(({ pid }) => pid)
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended.
  }
}

/** To `template1`, which has the schema. */
export function connectionTo(socketDir: string): pg.ClientConfig {
  return { ...CONNECTION_DEFAULTS, host: socketDir, port: 5432, user: PRIVATE_USER, database: 'template1' }
}

function testPlace(user: SystemUser): string {
  const name = `prepaint-test-${user?.uid ?? ownUid()}`
  for (const dir of [path.join(tmpdir(), name), `/tmp/${name}`]) if (makePrivate(dir, user)) return dir
  throw new Error(`${path.join(tmpdir(), name)} belongs to somebody else; remove it, or set TMPDIR`)
}
