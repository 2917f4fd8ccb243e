import { within } from '@prepaint/runtime/within.ts'
import type pg from 'pg'
import { withClient } from '../connection.ts'
import { type AwayKind, awayKind, DatabaseAway } from './errors.ts'

/** Throws DatabaseAway unless this connection leads to a primary server that takes writes. */
export async function checkPrimary(client: Pick<pg.ClientBase, 'query'>): Promise<void> {
  const { rows } = await client.query<{ read_only: boolean }>(
    `select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only`,
  )
  if (rows[0]?.read_only !== false) {
    throw new DatabaseAway('read-only', 'the server is a replica, or takes no writes')
  }
}

/** Tries a new connection. Returns null if it leads to a primary server, and otherwise why it does not. Never rejects. */
export async function probe(
  connection: pg.ClientConfig,
  limitMs: number,
): Promise<{ kind: AwayKind; error: Error } | null> {
  const limits = { connectionTimeoutMillis: limitMs, query_timeout: limitMs }
  const tried = withClient({ ...connection, ...limits }, checkPrimary).then(
    () => null,
    (error: Error) => ({ kind: awayKind(error) ?? 'refused', error }),
  )
  const late = new DatabaseAway('silent', `no response from the database in ${limitMs} ms`)
  return within(limitMs, tried, { kind: 'silent', error: late })
}
