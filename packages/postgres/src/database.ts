import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import {
  CONNECTION_DEFAULTS,
  DatabaseClient,
  DatabaseError,
  errorCode,
  isNotUpYet,
  withClient,
} from './connection.ts'
import { openPrivatePostgres, type PrivatePostgres } from './private-postgres/private-postgres.ts'

/** A pool of connections, and the private PostgreSQL if there is one. */
export class Database {
  readonly connection: pg.ClientConfig
  readonly pool: pg.Pool
  /** For DATABASE_URL of other processes of this machine. */
  readonly url: string
  readonly #own: PrivatePostgres | null
  #closing: Promise<void> | undefined

  constructor(url: string, connection: pg.ClientConfig, pool: pg.Pool, own: PrivatePostgres | null) {
    this.url = url
    this.connection = connection
    this.pool = pool
    this.#own = own
  }

  /** Closes the pool, then stops the private PostgreSQL if this process started it. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      await this.pool.end()
    } finally {
      await this.#own?.close()
    }
  }
}

type DatabaseOptions = {
  /** Without one, the private PostgreSQL in `dataDir` is used. */
  databaseUrl: string | null
  dataDir: string
  log: Log
  /** Commands share a running private PostgreSQL. Without it, a directory in use is an error. */
  attach?: boolean
  onLongStep?(line: string): void
  waitMs?: number
}

/** Throws DatabaseError if there is no usable server. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { databaseUrl, dataDir, log, attach = false, onLongStep = () => {}, waitMs = 20_000 } = options
  if (databaseUrl !== null) {
    const connection = await reachGivenServer(databaseUrl, waitMs, onLongStep)
    return new Database(databaseUrl, connection, createPool(connection, log), null)
  }
  const own = await openPrivatePostgres({ dataDir, log, attach, onLongStep })
  return new Database(socketUrl(own.connection), own.connection, createPool(own.connection, log), own)
}

const OLDEST_MAJOR = 15
const RETRY_MS = 250

async function reachGivenServer(
  databaseUrl: string,
  waitMs: number,
  onLongStep: (line: string) => void,
): Promise<pg.ClientConfig> {
  const connection = { ...CONNECTION_DEFAULTS, connectionString: databaseUrl }
  const name = nameOf(databaseUrl)
  const deadline = AbortSignal.timeout(waitMs)
  for (let attempt = 1; ; attempt++) {
    try {
      await withClient(connection, (client) => checkServer(client, name))
      return connection
    } catch (error) {
      if (error instanceof DatabaseError) throw error
      if (!isNotUpYet(error) || deadline.aborted) throw unreachable(name, error)
      if (attempt === 1) onLongStep(`Waiting for ${name} ...`)
      await sleep(RETRY_MS)
    }
  }
}

async function checkServer(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{
    version: string
    number: number
    encoding: string
    replica: boolean
  }>(`select current_setting('server_version') as version,
             current_setting('server_version_num')::int as number,
             current_setting('server_encoding') as encoding,
             pg_is_in_recovery() as replica`)
  const { version, number, encoding, replica } = rows[0]!
  if (number < OLDEST_MAJOR * 10_000) {
    throw new DatabaseError(
      `${name} is PostgreSQL ${version}; Prepaint needs PostgreSQL ${OLDEST_MAJOR} or newer.`,
    )
  }
  if (encoding !== 'UTF8') {
    throw new DatabaseError(
      `${name} has the encoding ${encoding}; Prepaint needs a database with the encoding UTF8.`,
    )
  }
  if (replica) {
    throw new DatabaseError(`${name} is a read-only replica; set DATABASE_URL to the primary server.`)
  }
}

function unreachable(name: string, cause: unknown): DatabaseError {
  const words =
    cause instanceof AggregateError
      ? cause.errors.map((error) => (error as Error).message).join('; ')
      : (cause as Error).message
  const advice: Record<string, string> = {
    '28P01': ' Check user and password in DATABASE_URL.',
    '28000': ' Check the user in DATABASE_URL and the pg_hba.conf of the server.',
    '3D000': ' Create the database, or correct its name in DATABASE_URL.',
  }
  return new DatabaseError(`Cannot use ${name}: ${words}.${advice[errorCode(cause)] ?? ''}`, { cause })
}

function nameOf(databaseUrl: string): string {
  let client: pg.Client
  try {
    client = new pg.Client({ connectionString: databaseUrl })
  } catch (cause) {
    throw new DatabaseError(`DATABASE_URL cannot be used: ${(cause as Error).message}`, { cause })
  }
  const { host, port, database } = client
  return `the database ${database ?? ''} at ${host.startsWith('/') ? host : `${host}:${port}`}`
}

/** The address of a server that is reached by a socket. */
function socketUrl({ host, port, user, database }: pg.ClientConfig): string {
  const parameters = new URLSearchParams({ host: `${host}`, port: `${port}`, user: `${user}` })
  return `postgres:///${database}?${parameters}`
}

/** The connections of a node. A server with the default of 100 connections can serve several nodes. */
const POOL_MAX = 16

/** Creates a pool that cancels long statements, because they keep a connection and locks. */
export function createPool(connection: pg.ClientConfig, log: Log): pg.Pool {
  const pool = new pg.Pool({
    ...connection,
    Client: DatabaseClient,
    max: POOL_MAX,
    // A connection that has seen all statements holds 9 MiB of the server.
    idleTimeoutMillis: 10_000,
    statement_timeout: 30_000,
    idle_in_transaction_session_timeout: 30_000,
    // Detects dead connections.
    query_timeout: 45_000,
    // An idle pool must not keep a command alive.
    allowExitOnIdle: true,
  })
  // Without a handler, a broken idle connection would end the process.
  pool.on('error', (error) => {
    // `end` does not wait for connections, and a stopping server cuts them.
    if (!pool.ending) log.debug({ err: error.message }, 'an idle database connection broke')
  })
  // The same for a connection between two queries of a transaction.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
