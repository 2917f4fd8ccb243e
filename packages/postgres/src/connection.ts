import { within } from '@prepaint/runtime/within.ts'
import pg from 'pg'

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

const NOT_UP_YET = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EPIPE',
  '57P03', // cannot_connect_now
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '53300', // too_many_connections
])

export function isNotUpYet(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isNotUpYet)
  if (NOT_UP_YET.has(errorCode(error))) return true
  // pg sets no code on these.
  return error instanceof Error && /Connection terminated|timeout expired|not queryable/.test(error.message)
}

export async function withClient<T>(
  connection: pg.ClientConfig,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(connection)
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
