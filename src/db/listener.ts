import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Log } from '../log.ts'

/**
 * Words used here: a *notification* is the payload that some node sent to a
 * channel with `pg_notify`; it reaches all listeners, once, after the commit of
 * the transaction that sent it, or it reaches them never: PostgreSQL keeps
 * nothing for a listener whose connection is away. Hence `onLost`.
 */
export type Listener = {
  /** Calls `take` with each payload of `channel` from now on (see `settled`). */
  on(channel: string, take: (payload: string) => void): void
  /**
   * Calls `react` when notifications may have been missed: when the connection
   * is found lost, and again when it is back and listening, because what was
   * read from the database in between may be out of date as well.
   */
  onLost(react: () => void): void
  /** Whether notifications arrive at this moment. */
  readonly connected: boolean
  /** Resolves once every channel asked for so far is being listened to. */
  settled(): Promise<void>
  /**
   * Resolves once every notification that was committed before this call has
   * been handed out here, so that whoever is answered then finds no older state
   * in this node's memory. Bounded (500 ms): a change that is made is never
   * failed for it. At once without a connection: `onLost` has said so.
   */
  caughtUp(): Promise<void>
  close(): Promise<void>
}

export type ListenerTimes = {
  /** A connection whose other end vanished says nothing; so it is asked this often. */
  heartbeatMs: number
  /** No answer for this long: the connection counts as lost. */
  answerMs: number
  backOffFirstMs: number
  backOffMaxMs: number
  /** The longest that `caughtUp` takes. */
  catchUpMs: number
}

const TIMES: ListenerTimes = {
  heartbeatMs: 10_000,
  answerMs: 5_000,
  backOffFirstMs: 50,
  backOffMaxMs: 5_000,
  catchUpMs: 500,
}
const SETTLE_POLL_MS = 10

/**
 * Listens on a connection of its own (LISTEN belongs to a session, so not one
 * of the pool), for as long as the process lives: reconnects with back-off and
 * listens again to every channel. Rejects when the first connection fails.
 */
export async function createListener(
  connection: pg.ClientConfig,
  log: Log,
  times: ListenerTimes = TIMES,
): Promise<Listener> {
  const takers = new Map<string, ((payload: string) => void)[]>()
  const reactions: (() => void)[] = []
  const closing = new AbortController()
  let client: pg.Client | null = null
  let asked: Promise<unknown> = Promise.resolve()

  const ownChannel = `own_${randomUUID()}`
  const catchUp = createCatchUp(sendToken, times.catchUpMs)
  takers.set(ownChannel, [catchUp.take])

  /** Statements of a connection, one after the other: pg will no longer queue them itself. */
  function inTurn<T>(run: () => Promise<T>): Promise<T> {
    const done = asked.then(run)
    asked = done.catch(() => {})
    return done
  }

  async function sendToken(token: string): Promise<boolean> {
    const current = client
    if (current === null) return false
    try {
      await inTurn(() => current.query('select pg_notify($1, $2)', [ownChannel, token]))
    } catch (error) {
      // No answer is as bad as a lost connection: what this node holds is not to be believed.
      log.debug({ err: (error as Error).message }, 'the listener connection does not answer')
      discard(current)
    }
    return client === current
  }

  function guarded(what: string, run: () => void): void {
    try {
      run()
    } catch (error) {
      log.error({ err: error }, `${what} failed`)
    }
  }

  function notificationsMissed(): void {
    for (const react of reactions) guarded('reaction to a lost listener connection', react)
    catchUp.lost()
  }

  /** Makes a connection that listens to every channel known by then the current one. */
  async function connect(): Promise<void> {
    const fresh = new pg.Client({
      ...connection,
      connectionTimeoutMillis: times.answerMs,
      query_timeout: times.answerMs,
    })
    fresh.on('error', () => {})
    fresh.on('notification', ({ channel, payload }) => {
      for (const take of takers.get(channel) ?? []) {
        guarded(`taking a notification of ${channel}`, () => take(payload ?? ''))
      }
    })
    try {
      await fresh.connect()
      // The loop also meets channels that are added while it runs, and nothing can come between its
      // end and the assignment.
      for (const channel of takers.keys()) await listen(fresh, channel)
      client = fresh
    } catch (error) {
      discard(fresh)
      throw error
    }
  }

  /** Resolves when the connection no longer works, for whatever reason, or `close` was called. */
  async function untilLost(current: pg.Client): Promise<void> {
    const lost = new AbortController()
    const end = () => lost.abort()
    current.once('end', end)
    current.once('error', end)
    closing.signal.addEventListener('abort', end)
    while (!lost.signal.aborted) {
      await sleep(times.heartbeatMs, undefined, { signal: lost.signal, ref: false }).catch(() => {})
      if (lost.signal.aborted) break
      await inTurn(() => current.query('select')).catch(end)
    }
    closing.signal.removeEventListener('abort', end)
  }

  /** Whether `close` was called within the next `ms`. */
  async function closedAfter(ms: number): Promise<boolean> {
    await sleep(ms, undefined, { signal: closing.signal, ref: false }).catch(() => {})
    return closing.signal.aborted
  }

  async function keep(): Promise<void> {
    for (;;) {
      const current = client!
      await untilLost(current)
      client = null
      discard(current)
      if (closing.signal.aborted) return
      log.warn('the listener connection to the database was lost')
      notificationsMissed()
      await reconnect()
      if (closing.signal.aborted) return
      log.info('the listener connection to the database is back')
      notificationsMissed()
    }
  }

  async function reconnect(): Promise<void> {
    for (let backOffMs = times.backOffFirstMs; ; backOffMs = Math.min(backOffMs * 2, times.backOffMaxMs)) {
      if (await closedAfter(backOffMs)) return
      try {
        return await connect()
      } catch (error) {
        log.debug({ err: (error as Error).message }, 'the listener could not connect yet')
      }
    }
  }

  await connect()
  const kept = keep()

  return {
    on(channel, take) {
      const known = takers.get(channel)
      if (known !== undefined) {
        known.push(take)
        return
      }
      takers.set(channel, [take])
      const current = client
      // Without a connection, the next one listens to it from its beginning.
      if (current === null) return
      inTurn(() => listen(current, channel)).catch((error: Error) => {
        // A connection that listens to some channels only is of no use: lose it, and begin anew.
        log.warn({ err: error.message, channel }, 'LISTEN failed')
        discard(current)
      })
    },
    onLost(react) {
      reactions.push(react)
    },
    get connected() {
      return client !== null
    },
    async settled() {
      do await asked
      while (client === null && !(await closedAfter(SETTLE_POLL_MS)))
    },
    caughtUp: catchUp.caughtUp,
    async close() {
      closing.abort()
      await kept
      catchUp.lost()
    },
  }
}

function listen(client: pg.Client, channel: string): Promise<pg.QueryResult> {
  return client.query(`listen ${pg.escapeIdentifier(channel)}`)
}

/** Ends a connection without waiting for an answer that may never come. */
function discard(client: pg.Client): void {
  client.connection.stream.destroy()
}

/**
 * How a listener learns that it has heard everything: it sends a token to
 * itself and waits until that comes back. PostgreSQL delivers notifications in
 * the order of their commits, so whatever was committed before has come first.
 */
type CatchUp = {
  /** Takes what arrives on the listener's own channel. */
  take(token: string): void
  /** The connection is lost, and all who react to that know: there is nothing more to wait for. */
  lost(): void
  /** Resolves when a token sent after this call has come back, or after `withinMs`; never rejects. */
  caughtUp(): Promise<void>
}

/**
 * `send` notifies the own channel; it gives false when nothing will come of it,
 * because there is no connection; else the token or `lost` follows. One token is under way at a time: all who ask meanwhile
 * share the next one, so that a hundred purges at once cost two.
 */
function createCatchUp(send: (token: string) => Promise<boolean>, withinMs: number): CatchUp {
  let sent = 0
  let awaited: { token: string; seen(): void } | null = null
  let lastRound: Promise<void> = Promise.resolve()
  let nextRound: Promise<void> | null = null

  async function round(): Promise<void> {
    // Who asks from here on may have committed after the token was sent.
    nextRound = null
    const { promise, resolve } = Promise.withResolvers<void>()
    awaited = { token: String(++sent), seen: resolve }
    if (await send(awaited.token)) await promise
    awaited = null
  }

  return {
    take(token) {
      if (awaited?.token === token) awaited.seen()
    },
    lost: () => awaited?.seen(),
    async caughtUp() {
      nextRound ??= lastRound = lastRound.then(round)
      const inTime = new AbortController()
      const late = sleep(withinMs, undefined, { signal: inTime.signal, ref: false })
      await Promise.race([nextRound, late])
      inTime.abort()
    },
  }
}
