import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Log } from '../log.ts'
import { within } from '../within.ts'

export type ListenerTimes = {
  /** Between checks of an idle connection, which may be dead without notice. */
  heartbeatMs: number
  /** A connection without a response for this long is lost. */
  responseMs: number
  backOffFirstMs: number
  backOffMaxMs: number
  /** The most that `caughtUp` takes. */
  catchUpMs: number
}

const TIMES: ListenerTimes = {
  heartbeatMs: 10_000,
  responseMs: 5_000,
  backOffFirstMs: 50,
  backOffMaxMs: 5_000,
  catchUpMs: 500,
}
const SETTLE_POLL_MS = 10

/** Rejects when the first connection fails. */
export async function createListener(
  connection: pg.ClientConfig,
  log: Log,
  times: ListenerTimes = TIMES,
): Promise<Listener> {
  const listener = new Listener(connection, log, times)
  await listener.start()
  return listener
}

/**
 * Receives notifications (the payloads that nodes send to a channel with
 * `pg_notify`) on its own connection, because LISTEN belongs to a session.
 * Reconnects with back-off for as long as the process lives. PostgreSQL delivers
 * a notification once, after the commit, and keeps nothing for a listener that
 * is not connected: hence `onLost`.
 */
export class Listener {
  readonly #connection: pg.ClientConfig
  readonly #log: Log
  readonly #times: ListenerTimes
  readonly #handlers = new Map<string, ((payload: string) => void)[]>()
  readonly #lostHandlers: (() => void)[] = []
  readonly #closing = new AbortController()
  readonly #ownChannel = `own_${randomUUID()}`
  readonly #catchUp: CatchUp
  #client: pg.Client | null = null
  #lastStatement: Promise<unknown> = Promise.resolve()
  #maintained: Promise<void> = Promise.resolve()

  constructor(connection: pg.ClientConfig, log: Log, times: ListenerTimes) {
    this.#connection = connection
    this.#log = log
    this.#times = times
    this.#catchUp = new CatchUp((token) => this.#sendToken(token), times.catchUpMs)
    this.#handlers.set(this.#ownChannel, [(token) => this.#catchUp.receive(token)])
  }

  async start(): Promise<void> {
    await this.#connect()
    this.#maintained = this.#maintain()
  }

  /** Calls `handle` with each payload of `channel` from now on (see `settled`). */
  on(channel: string, handle: (payload: string) => void): void {
    const known = this.#handlers.get(channel)
    if (known !== undefined) {
      known.push(handle)
      return
    }
    this.#handlers.set(channel, [handle])
    const client = this.#client
    // Without a connection, the next one listens to it.
    if (client === null) return
    this.#inTurn(() => listen(client, channel)).catch((error: Error) => {
      // A connection that misses a channel is of no use: reconnect.
      this.#log.warn({ err: error.message, channel }, 'LISTEN failed')
      discard(client)
    })
  }

  /**
   * Calls `handle` when notifications may have been missed: when the connection
   * is lost, and again when it is back, because what was read from the database
   * in between may be outdated as well.
   */
  onLost(handle: () => void): void {
    this.#lostHandlers.push(handle)
  }

  /** Whether notifications arrive now. */
  get connected(): boolean {
    return this.#client !== null
  }

  /** Resolves once all channels so far are listened to. */
  async settled(): Promise<void> {
    do await this.#lastStatement
    while (this.#client === null && !(await this.#closedWithin(SETTLE_POLL_MS)))
  }

  /**
   * Resolves once every notification that was committed before this call has
   * been handled here, so that a following request finds no older state in this
   * node's memory. Takes at most 500 ms and never rejects. Resolves at once
   * without a connection: `onLost` was called.
   */
  readonly caughtUp = (): Promise<void> => this.#catchUp.caughtUp()

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#maintained
    this.#catchUp.lost()
  }

  /** Runs statements one after the other. */
  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#lastStatement.then(run)
    this.#lastStatement = done.catch(() => {})
    return done
  }

  async #sendToken(token: string): Promise<boolean> {
    const client = this.#client
    if (client === null) return false
    try {
      await this.#inTurn(() => client.query('select pg_notify($1, $2)', [this.#ownChannel, token]))
    } catch (error) {
      this.#log.debug({ err: (error as Error).message }, 'the listener connection does not respond')
      discard(client)
    }
    return this.#client === client
  }

  #guarded(what: string, run: () => void): void {
    try {
      run()
    } catch (error) {
      this.#log.error({ err: error }, `${what} failed`)
    }
  }

  #notificationsMissed(): void {
    for (const handle of this.#lostHandlers) this.#guarded('handler of a lost listener connection', handle)
    this.#catchUp.lost()
  }

  /** Opens a connection that listens to all known channels, and makes it the current one. */
  async #connect(): Promise<void> {
    const { responseMs } = this.#times
    const client = new pg.Client({
      ...this.#connection,
      connectionTimeoutMillis: responseMs,
      query_timeout: responseMs,
    })
    client.on('error', () => {})
    client.on('notification', ({ channel, payload }) => {
      for (const handle of this.#handlers.get(channel) ?? []) {
        this.#guarded(`handler of a notification of ${channel}`, () => handle(payload ?? ''))
      }
    })
    try {
      await client.connect()
      // The loop includes channels that are added while it runs; nothing can come between its end
      // and the assignment.
      for (const channel of this.#handlers.keys()) await listen(client, channel)
      this.#client = client
    } catch (error) {
      discard(client)
      throw error
    }
  }

  async #maintain(): Promise<void> {
    for (;;) {
      const client = this.#client!
      await this.#untilLost(client)
      this.#client = null
      discard(client)
      if (this.#closing.signal.aborted) return
      this.#log.warn('the listener connection to the database was lost')
      this.#notificationsMissed()
      await this.#reconnect()
      if (this.#closing.signal.aborted) return
      this.#log.info('the listener connection to the database is back')
      this.#notificationsMissed()
    }
  }

  /** Resolves when the connection no longer works, or on `close`. */
  async #untilLost(client: pg.Client): Promise<void> {
    const closing = this.#closing.signal
    const lost = new AbortController()
    const end = () => lost.abort()
    client.once('end', end)
    client.once('error', end)
    closing.addEventListener('abort', end)
    while (!lost.signal.aborted) {
      await sleep(this.#times.heartbeatMs, undefined, { signal: lost.signal, ref: false }).catch(() => {})
      if (lost.signal.aborted) break
      await this.#inTurn(() => client.query('select')).catch(end)
    }
    closing.removeEventListener('abort', end)
  }

  async #reconnect(): Promise<void> {
    const { backOffFirstMs, backOffMaxMs } = this.#times
    for (let backOffMs = backOffFirstMs; ; backOffMs = Math.min(backOffMs * 2, backOffMaxMs)) {
      if (await this.#closedWithin(backOffMs)) return
      try {
        return await this.#connect()
      } catch (error) {
        this.#log.debug({ err: (error as Error).message }, 'the listener could not connect yet')
      }
    }
  }

  /** Whether `close` was called within the next `ms`. */
  async #closedWithin(ms: number): Promise<boolean> {
    await sleep(ms, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {})
    return this.#closing.signal.aborted
  }
}

function listen(client: pg.Client, channel: string): Promise<pg.QueryResult> {
  return client.query(`listen ${pg.escapeIdentifier(channel)}`)
}

/** Closes a connection without waiting for a response. */
function discard(client: pg.Client): void {
  client.connection.stream.destroy()
}

/**
 * Finds out when a listener has received everything: it sends a token to itself
 * and waits for it. PostgreSQL delivers notifications in the order of commits, so
 * everything committed earlier has arrived by then. One token is in flight at a
 * time, and callers that come meanwhile share the next one: a hundred purges at
 * once cost two.
 */
class CatchUp {
  /** Returns false if there is no connection; else the token or `lost` follows. */
  readonly #send: (token: string) => Promise<boolean>
  readonly #limitMs: number
  #sent = 0
  #awaited: { token: string; arrived(): void } | null = null
  #lastRound: Promise<void> = Promise.resolve()
  #nextRound: Promise<void> | null = null

  constructor(send: (token: string) => Promise<boolean>, limitMs: number) {
    this.#send = send
    this.#limitMs = limitMs
  }

  receive(token: string): void {
    if (this.#awaited?.token === token) this.#awaited.arrived()
  }

  lost(): void {
    this.#awaited?.arrived()
  }

  async caughtUp(): Promise<void> {
    this.#nextRound ??= this.#lastRound = this.#lastRound.then(() => this.#round())
    await within(this.#limitMs, this.#nextRound, undefined)
  }

  async #round(): Promise<void> {
    // Callers from here on may have committed after the token was sent.
    this.#nextRound = null
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#awaited = { token: String(++this.#sent), arrived: resolve }
    if (await this.#send(this.#awaited.token)) await promise
    this.#awaited = null
  }
}
