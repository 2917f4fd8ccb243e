import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@prepaint/runtime/log.ts'
import { within } from '@prepaint/runtime/within.ts'
import type pg from 'pg'
import { withClient } from './connection.ts'
import type { Queryable } from './transaction.ts'

const LATE = Symbol('late')

declare module 'pg' {
  interface ClientBase {
    /** The server process of a connection; missing in the types. */
    readonly processID: number | null
  }
}

export class DatabaseUnresponsive extends Error {
  override name = 'DatabaseUnresponsive'
}

export type TimeoutSettings = {
  queryMs: number
  pollMs: number
  /** Older connections have this long for their responses, once the database responds again. */
  graceMs: number
}

const DEFAULTS: TimeoutSettings = { queryMs: 2_000, pollMs: 500, graceMs: 1_000 }

/**
 * Time limit for queries of requests that have a fallback, in case the server hangs or the network drops packets.
 * One timeout marks the database unresponsive for all; a separate connection polls until it responds.
 * Then connections that were busy before and idle on the server are closed: their responses are lost.
 */
export class DatabaseTimeouts {
  readonly db: Queryable
  readonly #pool: pg.Pool
  readonly #connection: pg.ClientConfig
  readonly #log: Log
  readonly #times: TimeoutSettings
  readonly #closing = new AbortController()
  /** Connections in use, numbered in the order of acquisition. */
  readonly #busy = new Map<pg.PoolClient, number>()
  #acquired = 0
  #unresponsive = false

  constructor(pool: pg.Pool, connection: pg.ClientConfig, log: Log, times: TimeoutSettings = DEFAULTS) {
    this.#pool = pool
    this.#connection = connection
    this.#log = log
    this.#times = times
    pool.on('acquire', (client) => this.#busy.set(client, ++this.#acquired))
    pool.on('release', (_error, client) => this.#busy.delete(client))
    pool.on('remove', (client) => this.#busy.delete(client))
    const query = (...args: Parameters<pg.Pool['query']>) => this.run(async () => this.#pool.query(...args))
    this.db = { query: query as pg.Pool['query'] }
  }

  get unresponsive(): boolean {
    return this.#unresponsive
  }

  /** Rejects with DatabaseUnresponsive after two seconds, or at once while unresponsive. The query goes on. */
  async run<T>(query: () => Promise<T>): Promise<T> {
    if (this.#unresponsive) throw new DatabaseUnresponsive('the database does not respond')
    const response = await within(this.#times.queryMs, query(), LATE)
    if (response !== LATE) return response
    if (!this.#unresponsive) void this.#waitForResponse()
    throw new DatabaseUnresponsive(`no response from the database in ${this.#times.queryMs} ms`)
  }

  close(): void {
    this.#closing.abort()
  }

  async #waitForResponse(): Promise<void> {
    const { signal } = this.#closing
    const { pollMs, graceMs } = this.#times
    this.#unresponsive = true
    const before = this.#acquired
    let isSaid = false
    while (!signal.aborted && !(await this.#responds())) {
      if (!isSaid) this.#log.warn('the database does not respond: serving from memory, the API returns 500')
      isSaid = true
      await sleep(pollMs, undefined, { signal, ref: false }).catch(() => {})
    }
    this.#unresponsive = false
    if (isSaid) this.#log.info('the database responds again')
    await sleep(graceMs, undefined, { signal, ref: false }).catch(() => {})
    if (!signal.aborted) await this.#closeDead([...this.#busy].filter(([, order]) => order <= before))
  }

  /** Closes connections for which the server does nothing: the query or its response was lost. */
  async #closeDead(waiting: [client: pg.PoolClient, order: number][]): Promise<void> {
    if (waiting.length === 0) return
    const found = await withClient(this.#connection, (client) =>
      client.query<{ pid: number }>(`select pid from pg_stat_activity where state = 'active'`),
    ).catch(() => null)
    if (found === null) return
    const active = new Set(found.rows.map(({ pid }) => pid))
    for (const [client, order] of waiting) {
      if (this.#busy.get(client) === order && !active.has(client.processID ?? 0)) {
        client.connection.stream.destroy()
      }
    }
  }

  async #responds(): Promise<boolean> {
    const { queryMs } = this.#times
    const limits = { connectionTimeoutMillis: queryMs, query_timeout: queryMs }
    try {
      await withClient({ ...this.#connection, ...limits }, (client) => client.query('select'))
      return true
    } catch {
      return false
    }
  }
}
