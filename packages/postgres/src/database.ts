import { setTimeout as sleep } from 'node:timers/promises'
import { systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import { DatabaseAway, isAway } from './away/errors.ts'
import {
  CONNECTION_DEFAULTS,
  DatabaseClient,
  DatabaseError,
  DatabaseUnreachable,
  errorCode,
  withClient,
} from './connection.ts'
import { GrowingPool, type PoolSize } from './growing-pool.ts'
import { checkPooler, SESSION_LIMITS } from './pooler.ts'
import { openPrivatePostgres, type PrivatePostgres } from './private-postgres/private-postgres.ts'

/** Two pools of connections, and the private PostgreSQL if there is one. */
export class Database {
  readonly connection: pg.ClientConfig
  readonly pool: pg.Pool
  /** Connections for reads of what is stored, which renders, misses and writes cannot take. */
  readonly reads: pg.Pool
  /** Other processes of this machine use it as DATABASE_URL. */
  readonly url: string
  readonly #own: PrivatePostgres | null
  #closing: Promise<void> | undefined

  constructor(url: string, connection: pg.ClientConfig, log: Log, own: PrivatePostgres | null) {
    this.url = url
    this.connection = connection
    this.pool = createPool(connection, log)
    this.reads = createPool(connection, log, READS)
    this.#own = own
  }

  /** Closes the pools, then stops the private PostgreSQL if this process started it. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    try {
      await Promise.all([this.pool.end(), this.reads.end()])
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
  const {
    databaseUrl,
    dataDir,
    log,
    attach = false,
    onLongStep = () => {},
    waitMs = REACH_WITHIN_MS,
  } = options
  if (databaseUrl !== null) {
    const server = new GivenServer(databaseUrl)
    await server.reach(waitMs, onLongStep)
    return server.open(log)
  }
  const own = await openPrivatePostgres({ dataDir, log, attach, onLongStep })
  return new Database(socketUrl(own.connection), own.connection, log, own)
}

/** How long a start waits for a server. */
export const REACH_WITHIN_MS = 20_000
const OLDEST_MAJOR = 15
const RETRY_MS = 250
const TRY_MS = 10_000

/** The server of DATABASE_URL. */
export class GivenServer {
  /** Names database, host and port, without a password. */
  readonly name: string
  readonly connection: pg.ClientConfig
  readonly #url: string

  /** Throws DatabaseError for a URL that cannot be used. */
  constructor(databaseUrl: string) {
    this.#url = databaseUrl
    this.name = nameOf(databaseUrl)
    this.connection = { ...CONNECTION_DEFAULTS, connectionString: databaseUrl }
  }

  /** Does not connect yet. */
  open(log: Log): Database {
    return new Database(this.#url, this.connection, log, null)
  }

  /**
   * Waits until the server accepts connections, and checks it. Throws DatabaseUnreachable if it does not in time, and another
   * DatabaseError if it cannot be used at all.
   */
  async reach(waitMs: number, onLongStep: (line: string) => void): Promise<void> {
    const untilMs = nowMs() + waitMs
    for (let attempt = 1; ; attempt++) {
      const leftMs = untilMs - nowMs()
      const limitMs = Math.min(TRY_MS, Math.max(RETRY_MS, leftMs))
      const limits = { connectionTimeoutMillis: limitMs, query_timeout: limitMs }
      try {
        await withClient({ ...this.connection, ...limits }, (client) => checkServer(client, this.name))
        return
      } catch (error) {
        if (!isAway(error) || leftMs <= RETRY_MS) throw this.explain(error)
        if (attempt === 1) onLongStep(`Waiting for ${this.name} ...`)
        await sleep(RETRY_MS)
      }
    }
  }

  /** Returns an error of its use with the server's name and what to do: DatabaseUnreachable if the server is away. */
  explain(error: unknown): DatabaseError {
    if (error instanceof DatabaseError) return error
    const words = unusable(this.name, error)
    return isAway(error)
      ? new DatabaseUnreachable(words, { cause: error })
      : new DatabaseError(words, { cause: error })
  }

  /** Throws DatabaseError for a connection pooler that loses notifications or settings. Call it after `reach`. */
  async checkPooler(): Promise<void> {
    await checkPooler(this.connection, this.name)
  }
}

async function checkServer(client: pg.Client, name: string): Promise<void> {
  const { rows } = await client.query<{
    version: string
    number: number
    encoding: string
    replica: boolean
    read_only: boolean
  }>(`select current_setting('server_version') as version,
             current_setting('server_version_num')::int as number,
             current_setting('server_encoding') as encoding,
             pg_is_in_recovery() as replica,
             current_setting('transaction_read_only')::boolean as read_only`)
  const { version, number, encoding, replica, read_only: readOnly } = rows[0]!
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
  if (readOnly) throw new DatabaseAway('read-only', 'the server takes no writes')
}

function unusable(name: string, cause: unknown): string {
  const words =
    cause instanceof AggregateError
      ? cause.errors.map((error) => (error as Error).message).join('; ')
      : (cause as Error).message
  const advice: Record<string, string> = {
    '28P01': ' Check user and password in DATABASE_URL.',
    '28000': ' Check the user in DATABASE_URL and the pg_hba.conf of the server.',
    '3D000': ' Create the database, or correct its name in DATABASE_URL.',
  }
  return `Cannot use ${name}: ${words}.${advice[errorCode(cause)] ?? ''}`
}

function nameOf(databaseUrl: string): string {
  if (hasSeveralHosts(databaseUrl)) {
    throw new DatabaseError(
      "DATABASE_URL names several hosts; Prepaint needs one address that leads to the primary, such as HAProxy's (docs/operations.md).",
    )
  }
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

/** libpq takes `host1,host2` in the authority, and in the parameter `host`. */
function hasSeveralHosts(databaseUrl: string): boolean {
  const [, authority = '', query = ''] = /^[a-z]+:\/\/([^/?#]*)[^?#]*\??([^#]*)/i.exec(databaseUrl) ?? []
  const hosts = authority.slice(authority.lastIndexOf('@') + 1)
  return hosts.includes(',') || new URLSearchParams(query).get('host')?.includes(',') === true
}

/** A node has 16 connections in its pools at most. A server with the default of 100 connections can serve several nodes. */
export const POOL: PoolSize = { few: 4, most: 12 }
const READS: PoolSize = { few: 2, most: 4 }

/** Creates a pool that cancels long statements, because they keep a connection and locks. */
export function createPool(connection: pg.ClientConfig, log: Log, size = POOL): pg.Pool {
  const pool = new GrowingPool(
    {
      ...connection,
      Client: DatabaseClient,
      idleTimeoutMillis: 10_000,
      ...SESSION_LIMITS,
      // Detects dead connections.
      query_timeout: 45_000,
      // An idle pool must not keep a command alive.
      allowExitOnIdle: true,
    },
    size,
  )
  // Without a handler, a broken idle connection would end the process.
  pool.on('error', (error) => {
    // `end` does not wait for connections, and a stopping server cuts them.
    if (!pool.ending) log.debug({ err: error.message }, 'an idle database connection broke')
  })
  // The same for a connection between two queries of a transaction.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

function nowMs(): number {
  return systemStopwatch() * 1_000
}
