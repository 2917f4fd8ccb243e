import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/**
 * What every connection of ours has in common. `date` stays text: as a
 * JavaScript Date it would be midnight of this machine's time zone.
 */
export const CONNECTION_DEFAULTS: pg.ClientConfig = {
  application_name: 'prepaint',
  connectionTimeoutMillis: 10_000,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  types: {
    getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
      oid === pg.types.builtins.DATE
        ? (text: string) => text
        : pg.types.getTypeParser(oid, format as 'text')) as typeof pg.types.getTypeParser,
  },
}

/** PostgreSQL's own code of an error, such as `3D000` for a database that is not there; else ''. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

const NOT_UP_YET = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EHOSTUNREACH', 'EPIPE'],
  // cannot_connect_now (starting or stopping), admin_shutdown, crash_shutdown, too_many_connections
  ...['57P03', '57P01', '57P02', '53300'],
])

/** Whether trying again in a moment may help. */
export function isNotUpYet(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isNotUpYet)
  if (NOT_UP_YET.has(errorCode(error))) return true
  // pg gives these no code; the last is of a server that ended between two queries.
  return error instanceof Error && /Connection terminated|timeout expired|not queryable/.test(error.message)
}

/** Runs `work` on a connection of its own, closed in any case. */
export async function withClient<T>(
  connection: pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(connection)
  // A connection that breaks is told twice: by the query, which we await, and by this event.
  client.on('error', () => {})
  try {
    await client.connect()
    return await work(client)
  } finally {
    await closeClient(client)
  }
}

const GOODBYE_MS = 1_000

/** Ends a connection; without waiting for long when the other end does not answer. */
async function closeClient(client: pg.Client): Promise<void> {
  const patience = new AbortController()
  const silence = sleep(GOODBYE_MS, undefined, { signal: patience.signal }).catch(() => {})
  await Promise.race([client.end().catch(() => {}), silence])
  patience.abort()
  client.connection.stream.destroy()
}

/** The database cannot be used. The message is a whole sentence for the operator and says what to do. */
export class DatabaseError extends Error {
  override name = 'DatabaseError'
}
