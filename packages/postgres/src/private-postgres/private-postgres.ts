import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import {
  CONNECTION_DEFAULTS,
  DatabaseClient,
  DatabaseError,
  errorCode,
  isNotUpYet,
  withClient,
} from '../connection.ts'
import { findBinaries } from './binaries.ts'
import { PRIVATE_USER, prepareCluster } from './cluster.ts'
import { type DatabaseHome, databaseHome, prepareSocketDir, removeSocketDir } from './home.ts'
import { type Owner, type OwnerLock, readOwner, readPidFile, takeOwnerLock } from './owner-lock.ts'
import { PRIVATE_SETTINGS, SupervisedServer } from './postmaster.ts'

export type PrivatePostgres = {
  connection: pg.ClientConfig
  close(): Promise<void>
}

type PrivatePostgresOptions = {
  dataDir: string
  log: Log
  attach: boolean
  onLongStep(line: string): void
}

const POLL_MS = 100
/** A node waits this long for a command that uses the database. */
const COMMAND_WAIT_MS = 15_000
/** A command waits this long for a server that another process is starting. */
const ATTACH_WAIT_MS = 60_000
/** A command keeps its server running this long for other commands. */
const UNUSED_WAIT_MS = 10_000
const SLOW_START_MS = 3_000
const UNNAMED_WAIT_MS = 1_000

/** Starts PostgreSQL on a data directory or (`attach`) shares it. Throws DatabaseError if another node has it. */
export async function openPrivatePostgres(options: PrivatePostgresOptions): Promise<PrivatePostgres> {
  const { dataDir, attach, onLongStep } = options
  const home = databaseHome(dataDir)
  const lockFile = path.join(home.dir, 'owner.lock')
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const lock = takeOwnerLock(lockFile, attach ? 'command' : 'node', home.user)
    if (lock !== null) return start(home, lock, options)
    const running = attach ? await connectToRunning(home.dir) : null
    if (running !== null) return running
    const owner = readOwner(lockFile)
    if (waitedMs >= waitLimitMs(owner, attach)) throw inUse(dataDir, owner, attach)
    if (waitedMs === UNNAMED_WAIT_MS) onLongStep('Waiting for another process to free the database ...')
    await sleep(POLL_MS)
  }
}

/** How long to wait for the owner of the lock. */
function waitLimitMs(owner: Owner | null, attach: boolean): number {
  if (attach) return ATTACH_WAIT_MS
  if (owner === null) return UNNAMED_WAIT_MS
  return owner.kind === 'command' ? COMMAND_WAIT_MS : 0
}

function inUse(dataDir: string, owner: Owner | null, attach: boolean): DatabaseError {
  const who = owner === null ? 'another process' : `process ${owner.pid} on ${owner.host}`
  if (attach) {
    const limit = `${ATTACH_WAIT_MS / 1_000} s`
    return new DatabaseError(
      `The database in ${dataDir} is in use by ${who} and did not become ready in ${limit}.`,
    )
  }
  return new DatabaseError(
    `The data directory ${dataDir} is in use by another Prepaint (${who}). ` +
      'Stop that one first, or set PREPAINT_DATA_DIR to another directory.',
  )
}

async function start(
  home: DatabaseHome,
  lock: OwnerLock,
  { log, attach, onLongStep }: PrivatePostgresOptions,
): Promise<PrivatePostgres> {
  try {
    const { dir, user } = home
    const binaries = findBinaries({ user, copyTo: dir, onLongStep })
    const data = await prepareCluster({ home: dir, user, binaries, onLongStep })
    const socketDir = prepareSocketDir(dir, user)
    const server = await reportIfSlow(
      onLongStep,
      SupervisedServer.start({ binaries, data, socketDir, user, log, settings: PRIVATE_SETTINGS }),
    )
    const connection = connectionTo(socketDir)
    try {
      await createDatabase(connection)
    } catch (error) {
      await server.stop()
      throw error
    }
    return {
      connection,
      async close() {
        if (attach) await stopWhenUnused(connection, UNUSED_WAIT_MS, server)
        else await server.stop()
        removeSocketDir(socketDir, dir)
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

async function reportIfSlow<T>(onLongStep: (line: string) => void, starting: Promise<T>): Promise<T> {
  const timer = setTimeout(
    () => onLongStep('The database is starting (recovery after a crash takes longer) ...'),
    SLOW_START_MS,
  )
  try {
    return await starting
  } finally {
    clearTimeout(timer)
  }
}

function connectionTo(socketDir: string): pg.ClientConfig {
  return { ...CONNECTION_DEFAULTS, host: socketDir, port: 5432, user: PRIVATE_USER, database: PRIVATE_USER }
}

/** Runs at each start, because the first start may have been interrupted. */
async function createDatabase(connection: pg.ClientConfig): Promise<void> {
  await withClient({ ...connection, database: 'postgres' }, async (client) => {
    const found = await client.query('select from pg_database where datname = $1', [PRIVATE_USER])
    if (found.rowCount === 0) await client.query(`create database ${PRIVATE_USER}`)
  })
}

/** Returns null if the server is not ready yet, or about to stop. */
async function connectToRunning(home: string): Promise<PrivatePostgres | null> {
  const file = readPidFile(path.join(home, 'data'))
  if (!file?.ready || file.socketDir === null) return null
  const connection = connectionTo(file.socketDir)
  try {
    const attached = await attachCommand(connection)
    return attached === null ? null : { connection, close: () => attached.end() }
  } catch (error) {
    if (isNotUpYet(error) || errorCode(error) === '3D000') return null
    throw error
  }
}

/** Commands that share a server hold this lock shared. The command that started it takes it exclusively before stopping it. */
const ATTACHED_LOCK = 7_226_411_029

/** Returns null if the server is about to stop. */
async function attachCommand(connection: pg.ClientConfig): Promise<pg.Client | null> {
  const client = new DatabaseClient(connection)
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query<{ taken: boolean }>(
      'select pg_try_advisory_lock_shared($1) as taken',
      [ATTACHED_LOCK],
    )
    if (rows[0]?.taken) return client
  } catch (error) {
    client.connection.stream.destroy()
    throw error
  }
  await client.end()
  return null
}

async function stopWhenUnused(
  connection: pg.ClientConfig,
  limitMs: number,
  server: SupervisedServer,
): Promise<void> {
  const client = new DatabaseClient(connection)
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(`set lock_timeout = ${limitMs}`)
    await client.query('select pg_advisory_lock($1)', [ATTACHED_LOCK])
  } catch {
    // Another command takes longer, or the server is gone: stop it in any case.
  }
  await server.stop()
  await client.end().catch(() => {})
}
