import type { Client } from 'pg'
import pg from 'pg'

/**
 * Why PostgreSQL cannot be asked: it refuses connections, closes them, does not answer, has no disk space, has no connection
 * left, takes no writes, or is starting.
 */
export type AwayKind = 'refused' | 'closed' | 'silent' | 'full' | 'connections' | 'read-only' | 'starting'

/** A query was not tried, or was given up, because PostgreSQL is away. */
export class DatabaseAway extends Error {
  override name = 'DatabaseAway'
  readonly kind: AwayKind

  constructor(kind: AwayKind, message: string) {
    super(message)
    this.kind = kind
  }
}

/** Error codes of PostgreSQL (its appendix A). */
const SERVER_CODES: Readonly<Record<string, AwayKind>> = {
  '25006': 'read-only', // read_only_sql_transaction
  '53100': 'full', // disk_full
  '53300': 'connections', // too_many_connections
  '57P01': 'closed', // admin_shutdown
  '57P02': 'closed', // crash_shutdown
  '57P03': 'starting', // cannot_connect_now
}

/** Error codes of a connection that could not be opened, or that ended. */
const SOCKET_CODES: Readonly<Record<string, AwayKind>> = {
  ECONNREFUSED: 'refused',
  ENOENT: 'refused',
  ENOTFOUND: 'refused',
  EAI_AGAIN: 'refused',
  EHOSTUNREACH: 'refused',
  ENETUNREACH: 'refused',
  ECONNRESET: 'closed',
  EPIPE: 'closed',
  ETIMEDOUT: 'silent',
}

/** `pg` sets no codes on its own errors. */
const CLIENT_MESSAGES: readonly [AwayKind, RegExp][] = [
  ['silent', /^Connection terminated due to connection timeout|^timeout expired|^Query read timeout/],
  // All connections of the pool are busy.
  ['connections', /^timeout exceeded when trying to connect/],
  ['closed', /^Connection terminated|^Client has encountered a connection error and is not queryable/],
]

const MOST_CAUSES = 5

/** Errors of sockets to PostgreSQL. Other sockets have errors with the same codes, which say nothing about PostgreSQL. */
const socketErrors = new WeakSet<Error>()

/** Marks errors of this client's socket as PostgreSQL's. Call it before the client connects. */
export function markSocketErrors(client: Client): void {
  client.connection.on('error', (error: Error) => socketErrors.add(error))
}

/** Returns null if the error is the request's own fault, and not PostgreSQL's absence. Looks at causes, too. */
export function awayKind(error: unknown): AwayKind | null {
  let cause: unknown = error
  for (let depth = 0; depth < MOST_CAUSES && cause instanceof Error; depth++) {
    const kind = ownKind(cause)
    if (kind !== null) return kind
    cause = cause.cause
  }
  return null
}

export function isAway(error: unknown): boolean {
  return awayKind(error) !== null
}

function ownKind(error: Error): AwayKind | null {
  if (error instanceof DatabaseAway) return error.kind
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (error instanceof pg.DatabaseError) {
    return SERVER_CODES[code] ?? (code.startsWith('08') ? 'closed' : null)
  }
  const said = CLIENT_MESSAGES.find(([, words]) => words.test(error.message))?.[0] ?? null
  // The client ends its socket with an error of its own when a connection takes too long.
  return socketErrors.has(error) ? (SOCKET_CODES[code] ?? said ?? 'closed') : said
}

/** The server stops, or takes no writes any more: connections to it may lead to a demoted server. */
const LEAVING_CODES: ReadonlySet<string> = new Set(['25006', '57P01', '57P02', '57P03', '57P04'])

/** Calls `react` when PostgreSQL says on this connection that it is not the primary server any more, or stops. */
export function onServerLeaving(client: pg.ClientBase, react: () => void): void {
  const { connection } = client as pg.Client
  connection.on('errorMessage', ({ code }: { code?: string }) => {
    if (LEAVING_CODES.has(code ?? '')) react()
  })
}
