import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'

import { CONNECTION_DEFAULTS, errorCode, isNotUpYet, withClient } from './connection.ts'
import { DatabaseError } from './database-error.ts'

const OLDEST_MAJOR = 15
const RETRY_MS = 250

/**
 * Connects to the server of DATABASE_URL and sees that it will do. A server
 * that is still coming up (started together with us) is waited for.
 */
export async function reachGivenServer(
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

/** Host, port and database of the URL: what may be shown; the password may not. */
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
