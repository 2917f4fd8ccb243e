import pg from 'pg'

/**
 * Several commands may share the private PostgreSQL that the first of them has
 * started. Each of the others says so by a shared lock; the first, when done,
 * asks for it alone before it stops the server. So nobody loses the server
 * under his feet, and who comes after that question knows to wait for the next.
 */
const ATTACHED_LOCK = 7_226_411_029

/** Connects for as long as the command runs; null when the server is about to be stopped. */
export async function attachCommand(connection: pg.ClientConfig): Promise<pg.Client | null> {
  const client = new pg.Client(connection)
  // Should the server go away, the command's own queries tell.
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

/** Runs `stop` when no other command uses the server, and while none can begin to; after `limitMs` in any case. */
export async function stopWhenUnused(
  connection: pg.ClientConfig,
  limitMs: number,
  stop: () => Promise<void>,
): Promise<void> {
  const client = new pg.Client(connection)
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query(`set lock_timeout = ${limitMs}`)
    await client.query('select pg_advisory_lock($1)', [ATTACHED_LOCK])
  } catch {
    // Somebody takes longer, or the server is gone already: it is stopped all the same.
  }
  await stop()
  await client.end().catch(() => {})
}
