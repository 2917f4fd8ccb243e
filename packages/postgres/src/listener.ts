import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { within } from '@prepaint/runtime/within.ts'
import pg from 'pg'
import type { ListenerConnection } from './away/availability.ts'
import { onServerLeaving } from './away/errors.ts'
import { checkPrimary } from './away/probe.ts'
import { DatabaseClient } from './connection.ts'

export type ListenerTimes = {
  /** The time between checks of an idle connection, which can die silently. */
  heartbeatMs: number
  /** A connection without a response for this long counts as lost. */
  responseMs: number
  backOffFirstMs: number
  backOffMaxMs: number
  catchUpMs: number
}

export const LISTENER_TIMES: ListenerTimes = {
  heartbeatMs: 10_000,
  responseMs: 3_000,
  backOffFirstMs: 50,
  backOffMaxMs: 2_000,
  catchUpMs: 500,
}
const SETTLE_POLL_MS = 10
const WARN_EVERY_MS = 60_000

export async function createListener(
  connection: pg.ClientConfig,
  log: Log,
  times: ListenerTimes = LISTENER_TIMES,
): Promise<Listener> {
  const listener = new Listener(connection, log, times)
  await listener.start()
  return listener
}

/** What is heard of other nodes. A test may hear nothing. */
export interface NotificationSource {
  on(channel: string, handle: (payload: string) => void): void
  onLost(handle: () => void): void
}

/**
 * Listens at the primary server only, and reconnects with back-off. PostgreSQL keeps no notifications for a disconnected
 * listener: handle `onLost`.
 */
export class Listener implements NotificationSource, ListenerConnection {
  readonly #connection: pg.ClientConfig
  readonly #log: Log
  readonly #times: ListenerTimes
  readonly #handlers = new Map<string, ((payload: string) => void)[]>()
  readonly #lostHandlers: (() => void)[] = []
  readonly #leavingHandlers: (() => void)[] = []
  readonly #closing = new AbortController()
  readonly #ownChannel = `own_${randomUUID()}`
  readonly #catchUp: CatchUp
  #client: pg.Client | null = null
  #lastStatement: Promise<unknown> = Promise.resolve()
  #maintained: Promise<void> = Promise.resolve()
  #warnedMs = Number.NEGATIVE_INFINITY
  #backOff: { end(): void; attempt: Promise<void> } | null = null

  constructor(connection: pg.ClientConfig, log: Log, times: ListenerTimes) {
    this.#connection = connection
    this.#log = log
    this.#times = times
    this.#catchUp = new CatchUp((token) => this.#sendToken(token), times.catchUpMs)
    this.#handlers.set(this.#ownChannel, [(token) => this.#catchUp.receive(token)])
  }

  /** Rejects if the first connection fails. */
  async start(): Promise<void> {
    await this.#connect()
    this.#maintained = this.#maintain()
  }

  /** Calls `handle` with each payload of `channel`; `settled` resolves when listening has begun. */
  on(channel: string, handle: (payload: string) => void): void {
    const known = this.#handlers.get(channel)
    if (known !== undefined) {
      known.push(handle)
      return
    }
    this.#handlers.set(channel, [handle])
    const client = this.#client
    // The next connection will listen to it.
    if (client === null) return
    this.#inTurn(() => listen(client, channel)).catch((error: Error) => {
      // A connection that misses a channel is useless: reconnect.
      this.#log.warn({ err: error, channel }, 'LISTEN failed')
      discard(client)
    })
  }

  /** Notifies of possibly missed notifications: on disconnect, and again on reconnect for data read in between. */
  onLost(handle: () => void): void {
    this.#lostHandlers.push(handle)
  }

  /** Calls `handle` when the server says that it stops, or that it takes no writes. */
  onServerLeaving(handle: () => void): void {
    this.#leavingHandlers.push(handle)
  }

  /** Calls the handlers of this process at once, as if the payload had been heard. */
  tellOwn(channel: string, payload: string): void {
    this.#handle(channel, payload)
  }

  get connected(): boolean {
    return this.#client !== null
  }

  drop(): void {
    if (this.#client !== null) discard(this.#client)
  }

  async hurry(): Promise<void> {
    const backOff = this.#backOff
    backOff?.end()
    await backOff?.attempt
  }

  async settled(): Promise<void> {
    do await this.#lastStatement
    while (this.#client === null && !(await this.#closedWithin(SETTLE_POLL_MS)))
  }

  /** Waits for notifications of earlier commits, at most 500 ms; never rejects. Returns at once if disconnected. */
  readonly caughtUp = (): Promise<void> => this.#catchUp.caughtUp()

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#maintained
    this.#catchUp.lost()
  }

  #inTurn<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#lastStatement.then(run)
    this.#lastStatement = done.catch(() => {})
    return done
  }

  async #sendToken(token: string): Promise<boolean> {
    const client = this.#client
    if (client === null) return false
    try {
      await this.#inTurn(() => client.query(TOKEN, [this.#ownChannel, token]))
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

  #handle(channel: string, payload: string): void {
    for (const handle of this.#handlers.get(channel) ?? []) {
      this.#guarded(`handler of a notification of ${channel}`, () => handle(payload))
    }
  }

  #notificationsMissed(): void {
    for (const handle of this.#lostHandlers) this.#guarded('handler of a lost listener connection', handle)
    this.#catchUp.lost()
  }

  async #connect(): Promise<void> {
    const { responseMs } = this.#times
    const client = new DatabaseClient({
      ...this.#connection,
      connectionTimeoutMillis: responseMs,
      query_timeout: responseMs,
    })
    client.on('error', () => {})
    client.on('notification', ({ channel, payload }) => this.#handle(channel, payload ?? ''))
    try {
      await client.connect()
      await checkPrimary(client)
      onServerLeaving(client, () => {
        for (const handle of this.#leavingHandlers) this.#guarded('handler of a leaving server', handle)
      })
      // Includes channels added meanwhile. There is no await between the end of the loop and the assignment.
      for (const channel of this.#handlers.keys()) await listen(client, channel)
      this.#client = client
    } catch (error) {
      discard(client)
      throw error
    }
  }

  async #maintain(): Promise<void> {
    for (;;) {
      const client = this.#client
      if (client !== null) {
        await this.#untilLost(client)
        this.#client = null
        discard(client)
        if (this.#closing.signal.aborted) return
        this.#logLoss()
        this.#notificationsMissed()
      }
      await this.#reconnect()
      if (this.#closing.signal.aborted) return
      this.#log.info('the listener connection to the database is back')
      this.#notificationsMissed()
    }
  }

  /** A flapping server must not flood the log. */
  #logLoss(): void {
    const nowMs = systemStopwatch() * 1_000
    const level = nowMs - this.#warnedMs < WARN_EVERY_MS ? 'debug' : 'warn'
    if (level === 'warn') this.#warnedMs = nowMs
    this.#log[level]('the listener connection to the database was lost')
  }

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
      await this.#inTurn(() => checkPrimary(client)).catch(end)
    }
    closing.removeEventListener('abort', end)
  }

  async #reconnect(): Promise<void> {
    const { backOffFirstMs, backOffMaxMs } = this.#times
    for (let backOffMs = backOffFirstMs; ; backOffMs = Math.min(backOffMs * 2, backOffMaxMs)) {
      const { promise: attempt, resolve: attempted } = Promise.withResolvers<void>()
      const hurried = new AbortController()
      this.#backOff = { end: () => hurried.abort(), attempt }
      try {
        if (await this.#closedWithin(backOffMs, hurried.signal)) return
        return await this.#connect()
      } catch (error) {
        this.#log.debug({ err: (error as Error).message }, 'the listener could not connect yet')
      } finally {
        this.#backOff = null
        attempted()
      }
    }
  }

  /** Returns whether the listener was closed in this time, which `hurried` ends early. */
  async #closedWithin(ms: number, hurried?: AbortSignal): Promise<boolean> {
    const closing = this.#closing.signal
    const signal = hurried === undefined ? closing : AbortSignal.any([closing, hurried])
    await sleep(ms, undefined, { signal, ref: false }).catch(() => {})
    return this.#closing.signal.aborted
  }
}

function listen(client: pg.Client, channel: string): Promise<pg.QueryResult> {
  return client.query(`listen ${pg.escapeIdentifier(channel)}`)
}

function discard(client: pg.Client): void {
  client.connection.stream.destroy()
}

/** Nothing depends on the token after a crash: it waits for no disk and no replica. */
const TOKEN = `select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`

/** Sends a token to itself: earlier commits arrive first. One token at a time; later callers share the next one. */
class CatchUp {
  /** Returns false without a connection. Otherwise the token or `lost` follows. */
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
    // Later callers may have committed after this token was sent.
    this.#nextRound = null
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#awaited = { token: String(++this.#sent), arrived: resolve }
    if (await this.#send(this.#awaited.token)) await promise
    this.#awaited = null
  }
}
