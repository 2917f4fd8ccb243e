import { within } from '@prepaint/runtime/within.ts'
import pg from 'pg'
import { awayKind, markSocketErrors } from './away/errors.ts'

/** A column of type `date` stays text, because a Date would be midnight in this machine's time zone. */
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

/** Returns PostgreSQL's error code, such as `3D000` (no such database), or '' for other errors. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}

/** A server that is starting, restarting or moving. What is waited for: reading and disk space are not. */
export function isNotUpYet(error: unknown): boolean {
  const kind = awayKind(error)
  return kind !== null && kind !== 'full' && kind !== 'read-only'
}

/** Its socket's errors are known as PostgreSQL's. */
export class DatabaseClient extends pg.Client {
  constructor(config?: pg.ClientConfig) {
    super(config)
    markSocketErrors(this)
  }
}

export async function withClient<T>(
  connection: pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new DatabaseClient(connection)
  // The query also reports a broken connection.
  client.on('error', () => {})
  try {
    await client.connect()
    return await work(client)
  } finally {
    await closeClient(client)
  }
}

const CLOSE_TIMEOUT_MS = 1_000

async function closeClient(client: pg.Client): Promise<void> {
  const closed = client.end().catch(() => {})
  await within(CLOSE_TIMEOUT_MS, closed, undefined)
  client.connection.stream.destroy()
}

export class DatabaseError extends Error {
  override name = 'DatabaseError'
}

/** The server did not accept connections in time. */
export class DatabaseUnreachable extends DatabaseError {}
