import { setTimeout as sleep } from 'node:timers/promises'
import type { JobId } from '@prepaint/contract/ids.ts'
import { DatabaseClient } from '@prepaint/postgres/connection.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { readStatement } from '../statement.ts'

type LeaseOptions = {
  /** The name of this run of the node, never reused. */
  node: string
  leaseMs: number
  renewMs: number
}

type LeasedJob = { job: { id: JobId; attempts: number }; abort: AbortController }

const BACK_OFF_FIRST_MS = 50
const BACK_OFF_MAX_MS = 2_000

/**
 * Uses its own connection, which holds an advisory lock on the node's name. If the process dies, PostgreSQL frees the
 * lock and the reaper sees it. If the node hangs, its leases expire by the database's clock. Aborts a render whose
 * job was taken away, at the next renewal.
 */
export class Lease {
  readonly #connection: pg.ClientConfig
  readonly #options: LeaseOptions
  readonly #runs: Iterable<LeasedJob>
  readonly #log: Log
  readonly #renew = readStatement('renew')
  readonly #closing = new AbortController()
  #client: pg.Client | null = null
  #kept: Promise<void> = Promise.resolve()

  /** Rejects if the first connection fails. */
  static async start(
    connection: pg.ClientConfig,
    options: LeaseOptions,
    runs: Iterable<LeasedJob>,
    log: Log,
  ): Promise<Lease> {
    const lease = new Lease(connection, options, runs, log)
    lease.#client = await lease.#connect()
    lease.#kept = lease.#keep()
    return lease
  }

  private constructor(
    connection: pg.ClientConfig,
    options: LeaseOptions,
    runs: Iterable<LeasedJob>,
    log: Log,
  ) {
    this.#connection = connection
    this.#options = options
    this.#runs = runs
    this.#log = log
  }

  /** False while other nodes may take over this node's jobs: do not claim new ones. */
  get held(): boolean {
    return this.#client !== null
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#kept
  }

  async #connect(): Promise<pg.Client> {
    const { node, leaseMs } = this.#options
    const fresh = new DatabaseClient({ ...this.#connection, query_timeout: Math.min(leaseMs, 10_000) })
    fresh.on('error', () => {})
    try {
      await fresh.connect()
      await fresh.query(`select pg_advisory_lock(hashtextextended('prepaint node ' || $1, 0))`, [node])
      return fresh
    } catch (error) {
      discard(fresh)
      throw error
    }
  }

  /** Renews, and connects again with back-off when the connection fails, until `close`. */
  async #keep(): Promise<void> {
    const { signal } = this.#closing
    for (let backOffMs = BACK_OFF_FIRST_MS; ; ) {
      if (this.#client !== null) {
        backOffMs = BACK_OFF_FIRST_MS
        await this.#renewOn(this.#client)
        discard(this.#client)
        this.#client = null
      }
      await sleep(backOffMs, undefined, { signal, ref: false }).catch(() => {})
      if (signal.aborted) return
      backOffMs = Math.min(backOffMs * 2, BACK_OFF_MAX_MS)
      this.#client = await this.#connect().catch((error: Error) => {
        this.#log.debug({ err: error.message }, 'the lease connection is not back yet')
        return null
      })
    }
  }

  /** Returns when the connection fails or `close` was called. */
  async #renewOn(client: pg.Client): Promise<void> {
    const lost = new AbortController()
    const end = () => lost.abort()
    client.once('end', end)
    this.#closing.signal.addEventListener('abort', end)
    while (!lost.signal.aborted) {
      try {
        await this.#renewOnce(client)
      } catch (error) {
        this.#log.warn({ err: error }, 'the leases of running jobs could not be renewed')
        break
      }
      const { renewMs } = this.#options
      await sleep(renewMs, undefined, { signal: lost.signal, ref: false }).catch(() => {})
    }
    this.#closing.signal.removeEventListener('abort', end)
  }

  async #renewOnce(client: pg.Client): Promise<void> {
    const { node, leaseMs } = this.#options
    const before = [...this.#runs]
    const { rows } = await client.query<LeasedJob['job']>({ ...this.#renew, values: [node, leaseMs] })
    const ours = new Set(rows.map(({ id, attempts }) => `${id} ${attempts}`))
    for (const { job, abort } of before) {
      if (!ours.has(`${job.id} ${job.attempts}`)) abort.abort()
    }
  }
}

function discard(client: pg.Client): void {
  client.connection.stream.destroy()
}
