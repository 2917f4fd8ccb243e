import { randomUUID } from 'node:crypto'
import { within } from '@prepaint/runtime/within.ts'
import pg from 'pg'
import { DatabaseError, errorCode, withClient } from './connection.ts'

/** What a node asks of each connection of its pool, as startup parameters. */
export const SESSION_LIMITS = { statement_timeout: 30_000, idle_in_transaction_session_timeout: 30_000 }

/**
 * `protocol_violation`, with which PgBouncer refuses a connection with startup parameters that it does not know, and a
 * transaction in statement mode.
 */
const REFUSED_BY_POOLER = '08P01'
const HEARD_WITHIN_MS = 2_000
/** A pooler may by chance give the same connection to all of them. */
const ROUNDS = 3

/**
 * Throws DatabaseError if the server is behind a connection pooler that loses notifications and session locks, or the
 * settings asked for. Takes no lock and changes nothing.
 */
export async function checkPooler(connection: pg.ClientConfig, name: string): Promise<void> {
  const hasLimits = await keepsLimits(connection)
  if (!(await hearsNotifications(connection))) {
    throw new DatabaseError(
      `${name} is behind a connection pooler in transaction mode, which loses notifications and locks; ` +
        'connect to the server itself, or use session mode.',
    )
  }
  if (!hasLimits) {
    throw new DatabaseError(
      `${name} ignores statement_timeout; let the pooler pass startup parameters, or connect to the server itself.`,
    )
  }
}

async function keepsLimits(connection: pg.ClientConfig): Promise<boolean> {
  try {
    return await withClient({ ...connection, ...SESSION_LIMITS }, async (client) => {
      const { rows } = await client.query<{ ms: string }>(
        `select setting as ms from pg_settings where name = 'statement_timeout'`,
      )
      return Number(rows[0]?.ms) === SESSION_LIMITS.statement_timeout
    })
  } catch (error) {
    if (errorCode(error) === REFUSED_BY_POOLER) return false
    throw error
  }
}

/** In transaction mode, what a client listens to is lost when its statement ends. */
function hearsNotifications(connection: pg.ClientConfig): Promise<boolean> {
  return withClient(connection, (holding) =>
    withClient(connection, (listening) =>
      withClient(connection, async (notifying) => {
        // Another statement must not get the connection on which the client listens.
        if (!(await begins(holding))) return false
        try {
          for (let round = 0; round < ROUNDS; round++) {
            if (!(await hears(listening, notifying))) return false
          }
          return true
        } finally {
          await holding.query('rollback')
        }
      }),
    ),
  )
}

/** Begins a transaction. Returns false where a pooler in statement mode allows none. */
async function begins(client: pg.Client): Promise<boolean> {
  try {
    await client.query('begin')
    return true
  } catch (error) {
    if (errorCode(error) === REFUSED_BY_POOLER) return false
    throw error
  }
}

async function hears(listening: pg.Client, notifying: pg.Client): Promise<boolean> {
  const channel = `prepaint_${randomUUID()}`
  const { promise: heard, resolve } = Promise.withResolvers<true>()
  const take = (message: pg.Notification) => {
    if (message.channel === channel) resolve(true)
  }
  listening.on('notification', take)
  try {
    await listening.query(`listen ${pg.escapeIdentifier(channel)}`)
    await notifying.query(`select pg_notify($1, '')`, [channel])
    return await within(HEARD_WITHIN_MS, heard, false)
  } finally {
    listening.off('notification', take)
    await listening.query(`unlisten ${pg.escapeIdentifier(channel)}`)
  }
}
