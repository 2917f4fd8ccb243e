import { setTimeout as sleep } from 'node:timers/promises'
import { systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { withClient } from '../connection.ts'
import type { Database } from '../database.ts'
import type { Queryable } from '../transaction.ts'
import { AwayLog, withoutAwayErrors } from './away-log.ts'
import { type AwayKind, awayKind, DatabaseAway, onServerLeaving } from './errors.ts'
import { probe } from './probe.ts'

declare module 'pg' {
  interface ClientBase {
    /** The server process of a connection; missing in the types. */
    readonly processID: number | null
    /** The query that waits for its response; missing in the types, too. */
    readonly _activeQuery: object | null
  }
}

/** What the listener does for its part. A command has none. */
export type ListenerConnection = {
  readonly connected: boolean
  /** Closes the connection, which leads nowhere, or to a demoted server. */
  drop(): void
  /** Connects again now instead of after its back-off. Resolves when it is connected, or could not connect. */
  hurry(): Promise<void>
}

export type AvailabilityTimes = {
  /** The longest time of a query that has a fallback. */
  queryMs: number
  /** A query that has no response for this long is a reason to ask whether the database is there. */
  suspectMs: number
  /** A new connection must give its first response in this time. */
  probeMs: number
  backOffFirstMs: number
  backOffMaxMs: number
  /** Older connections have this long for their responses, once the database responds again. */
  graceMs: number
}

const TIMES: AvailabilityTimes = {
  queryMs: 2_000,
  // Together less than `queryMs`: the database is known to be away when the first query that meets a silent server is given up.
  suspectMs: 600,
  probeMs: 1_300,
  backOffFirstMs: 50,
  backOffMaxMs: 2_000,
  graceMs: 1_000,
}

/** While the database is away for these reasons, new connections fail at once, and open ones work. */
const STAYS_OPEN: ReadonlySet<AwayKind> = new Set(['full', 'connections'])

/**
 * Knows whether PostgreSQL can be asked, so that no request waits for a server that is not there:
 *
 *     there --an error of its connections, or silence, and a failing probe--> away
 *     away --a new connection to a primary server, and the listener listens--> there
 *
 * While it is away, `db`, `reads` and `pool` reject at once with DatabaseAway. The probe backs off from 50 ms to 2 s.
 */
export class Availability {
  /**
   * Requests that have a fallback use it: it rejects with DatabaseAway after two seconds. The query goes on. The kind is
   * `connections` if all connections of the node are taken.
   */
  readonly db: Queryable
  /**
   * For reads of what is stored, through connections that nothing else takes: they never wait behind a miss or a write. It
   * rejects as soon as the database is known to be away, and waits for a busy one: what is stored must not pass.
   */
  readonly reads: Queryable
  /** Requests that have none use it: it rejects as soon as the database is known to be away. */
  readonly pool: pg.Pool
  /** A log for all that uses the database: errors that say that it is away are counted instead of written. */
  readonly log: Log
  readonly #connection: pg.ClientConfig
  readonly #awayLog: AwayLog
  readonly #times: AvailabilityTimes
  readonly #closing = new AbortController()
  readonly #clients = new Set<pg.PoolClient>()
  readonly #busy = new Set<pg.PoolClient>()
  readonly #waiting = new Set<(error: DatabaseAway) => void>()
  readonly #backHandlers: (() => void)[] = []
  #listener: ListenerConnection | null = null
  #away: { kind: AwayKind; sinceMs: number } | null = null
  #checking: Promise<void> | null = null
  #closingDead: Promise<void> | null = null
  #isHeld: boolean

  /** `isHeld`: the database counts as away until `admit`, because its version and schema are not checked yet. */
  constructor(
    { connection, pool, reads }: Database,
    log: Log,
    { times = TIMES, isHeld = false }: { times?: AvailabilityTimes; isHeld?: boolean } = {},
  ) {
    this.#connection = connection
    this.#times = times
    this.#isHeld = isHeld
    if (isHeld) this.#away = { kind: 'refused', sinceMs: nowMs() }
    this.#awayLog = new AwayLog(log, systemStopwatch, () => this.isAway)
    this.log = withoutAwayErrors(log, (kind, error) => this.#noted(kind, error))
    this.#watch(pool)
    this.#watch(reads)
    this.db = this.#limited(pool)
    this.reads = guardedPool(reads, (use) => this.#guarded(use))
    this.pool = guardedPool(pool, (use) => this.#guarded(use))
  }

  #watch(pool: pg.Pool): void {
    pool.on('connect', (client) => {
      this.#clients.add(client)
      onServerLeaving(client, () => this.leaveServer())
    })
    pool.on('error', (error) => {
      if (!pool.ending) this.#failed(error)
    })
    pool.on('acquire', (client) => this.#busy.add(client))
    pool.on('release', (_error, client) => this.#busy.delete(client))
    pool.on('remove', (client) => {
      this.#clients.delete(client)
      this.#busy.delete(client)
    })
  }

  #limited(pool: pg.Pool): Queryable {
    const { queryMs: limitMs } = this.#times
    const lateKind = () => (pool.waitingCount > 0 ? 'connections' : 'silent')
    const query = (...args: Parameters<pg.Pool['query']>) =>
      this.#guarded(async () => pool.query(...args), { limitMs, lateKind })
    return { query: query as pg.Pool['query'] }
  }

  get isAway(): boolean {
    return this.#away !== null
  }

  /** How long the database has been away; 0 while it is there. */
  get awayMs(): number {
    return this.#away === null ? 0 : nowMs() - this.#away.sinceMs
  }

  /** The listener's connection is closed and opened together with the others. */
  watch(listener: ListenerConnection): void {
    this.#listener = listener
  }

  /** Calls `handle` each time the database is there again. */
  onBack(handle: () => void): void {
    this.#backHandlers.push(handle)
  }

  /** The server is checked: it may be asked from now on. */
  admit(): void {
    this.#isHeld = false
    this.#comeBack()
  }

  /** Rejects with DatabaseAway after two seconds, or at once while the database is away. The query goes on. */
  run<T>(query: () => Promise<T>): Promise<T> {
    return this.#guarded(query, { limitMs: this.#times.queryMs })
  }

  /** Rejects with DatabaseAway as soon as the database is known to be away. */
  whileThere<T>(query: () => Promise<T>): Promise<T> {
    return this.#guarded(query)
  }

  /** As `whileThere`, for what may take long while the database is there. */
  untilAway<T>(use: () => Promise<T>): Promise<T> {
    return this.#guarded(use, { suspectMs: null })
  }

  /** Closes all connections, because they may lead to a demoted server, and looks for the primary server. */
  leaveServer(): void {
    for (const client of this.#clients) destroy(client)
    this.#listener?.drop()
    this.suspect()
  }

  /** Asks whether the database is there, unless that is being asked. */
  suspect(): void {
    if (this.#isHeld || this.#closing.signal.aborted) return
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null
    })
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#awayLog.close()
    await this.#checking
    await this.#closingDead
  }

  #guarded<T>(
    use: () => Promise<T>,
    limits: { limitMs?: number | null; suspectMs?: number | null; lateKind?(): AwayKind } = {},
  ): Promise<T> {
    const { limitMs = null, suspectMs = this.#times.suspectMs, lateKind = () => 'silent' } = limits
    const away = this.#away
    if (away !== null && !STAYS_OPEN.has(away.kind)) {
      return Promise.reject(new DatabaseAway(away.kind, 'the database is away'))
    }
    return new Promise((resolve, reject) => {
      const end = () => {
        this.#waiting.delete(giveUp)
        clearTimeout(suspicion)
        clearTimeout(limit)
      }
      const giveUp = (error: DatabaseAway) => {
        end()
        reject(error)
      }
      const suspicion = suspectMs === null ? undefined : setTimeout(() => this.#suspectSilence(), suspectMs)
      const late = () =>
        giveUp(new DatabaseAway(lateKind(), `no response from the database in ${limitMs} ms`))
      const lateUnlessBusy = (dueMs: number) => {
        const ownDelayMs = nowMs() - dueMs
        if (ownDelayMs < BLOCKED_MS) late()
        else limit = setTimeout(late, ownDelayMs)
      }
      let limit: NodeJS.Timeout | undefined
      if (limitMs !== null) limit = setTimeout(lateUnlessBusy, limitMs, nowMs() + limitMs)
      this.#waiting.add(giveUp)
      use().then(
        (result) => {
          end()
          resolve(result)
        },
        (error: Error) => {
          end()
          this.#failed(error)
          reject(error)
        },
      )
    })
  }

  #failed(error: unknown): void {
    const kind = awayKind(error)
    if (kind === null) return
    this.#noted(kind, error)
  }

  #noted(kind: AwayKind, error: unknown): void {
    this.#awayLog.note(kind, error)
    this.suspect()
  }

  #suspectSilence(): void {
    this.suspect()
    this.#closingDead ??= this.#closeDead().finally(() => {
      this.#closingDead = null
    })
  }

  /** Returns when the database is there. */
  async #check(): Promise<void> {
    const { signal } = this.#closing
    const { probeMs, backOffFirstMs, backOffMaxMs } = this.#times
    let backOffMs = backOffFirstMs
    let busyProbes = 0
    for (;;) {
      const isOwnFault = watchOwnDelay()
      const found = await probe(this.#connection, probeMs)
      const wasBusy = isOwnFault()
      if (signal.aborted || this.#isHeld) return
      if (wasBusy && found?.kind === 'silent' && this.#away === null && busyProbes < MOST_BUSY_PROBES) {
        busyProbes++
        continue
      }
      if (found === null) {
        if (this.#away === null) return
        await this.#listener?.hurry()
        if (this.#listener?.connected !== false) {
          this.#comeBack()
          return
        }
      } else this.#goAway(found.kind, found.error)
      await sleep(backOffMs, undefined, { signal, ref: false }).catch(() => {})
      backOffMs = Math.min(backOffMs * 2, backOffMaxMs)
      if (signal.aborted) return
    }
  }

  #goAway(kind: AwayKind, error: Error): void {
    this.#awayLog.note(kind, error)
    const sinceMs = this.#away?.sinceMs ?? nowMs()
    this.#away = { kind, sinceMs }
    if (STAYS_OPEN.has(kind)) return
    // Idle connections to a server that is gone would fail the first queries after its return.
    for (const client of this.#clients) if (!this.#busy.has(client)) destroy(client)
    this.#listener?.drop()
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const giveUp of waiting) giveUp(new DatabaseAway(kind, 'the database is away'))
  }

  #comeBack(): void {
    this.#away = null
    for (const handle of this.#backHandlers) handle()
  }

  /** Closes connections for which the server does nothing: the query or its response was lost. */
  async #closeDead(): Promise<void> {
    const { signal } = this.#closing
    await this.#checking
    await sleep(this.#times.graceMs, undefined, { signal, ref: false }).catch(() => {})
    const waiting = [...this.#busy].flatMap((client) => {
      const query = client._activeQuery
      return query === null ? [] : [{ client, query }]
    })
    if (signal.aborted || waiting.length === 0 || this.isAway) return
    const found = await withClient(this.#connection, (client) =>
      client.query<{ pid: number }>(`select pid from pg_stat_activity where state = 'active'`),
    ).catch(() => null)
    if (found === null) return
    const active = new Set(found.rows.map(({ pid }) => pid))
    for (const { client, query } of waiting) {
      if (client._activeQuery === query && !active.has(client.processID ?? 0)) destroy(client)
    }
  }
}

/** A timer so much too late: the process did something else, and a response may be there unread. It is given that time, once. */
const BLOCKED_MS = 20
/** A process that hears its timers so much too late cannot say that the database is silent. */
const OWN_DELAY_MS = 300
const DELAY_LOOK_MS = 50
/** So often the database is probed again for this reason. */
const MOST_BUSY_PROBES = 5

/** The result says, once, whether this process itself was too busy to hear an answer in the time between. */
function watchOwnDelay(): () => boolean {
  let lookedAtMs = nowMs()
  let mostMs = 0
  const look = () => {
    const now = nowMs()
    mostMs = Math.max(mostMs, now - lookedAtMs - DELAY_LOOK_MS)
    lookedAtMs = now
  }
  const looking = setInterval(look, DELAY_LOOK_MS)
  looking.unref()
  return () => {
    clearInterval(looking)
    look()
    return mostMs > OWN_DELAY_MS
  }
}

/** Returns a pool whose queries and connections go through `guarded`. It is ended by its owner. */
function guardedPool(pool: pg.Pool, guarded: <T>(use: () => Promise<T>) => Promise<T>): pg.Pool {
  const own = Object.create(pool) as pg.Pool
  own.query = ((...args: Parameters<pg.Pool['query']>) =>
    guarded(async () => pool.query(...args))) as pg.Pool['query']
  own.connect = (async () => {
    const connecting = pool.connect()
    let isGivenUp = false
    try {
      return guardedClient(await guarded(() => connecting), guarded)
    } catch (error) {
      isGivenUp = true
      throw error
    } finally {
      // It may be opened later, when nobody waits for it.
      if (isGivenUp) void connecting.then((client) => client.release()).catch(() => {})
    }
  }) as pg.Pool['connect']
  return own
}

function guardedClient(
  client: pg.PoolClient,
  guarded: <T>(use: () => Promise<T>) => Promise<T>,
): pg.PoolClient {
  const own = Object.create(client) as pg.PoolClient
  own.query = ((...args: Parameters<pg.PoolClient['query']>) =>
    guarded(async () => client.query(...args))) as pg.PoolClient['query']
  return own
}

function destroy(client: pg.PoolClient): void {
  client.connection.stream.destroy()
}

function nowMs(): number {
  return systemStopwatch() * 1_000
}
