import { setTimeout as sleep } from 'node:timers/promises'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import { printEntries, setAuditDays } from '@prepaint/postgres/audit'
import { Availability } from '@prepaint/postgres/availability.ts'
import { DatabaseUnreachable } from '@prepaint/postgres/connection.ts'
import { type Database, type GivenServer, REACH_WITHIN_MS } from '@prepaint/postgres/database.ts'
import { LISTENER_TIMES, Listener } from '@prepaint/postgres/listener.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { type Clock, systemStopwatch } from '@prepaint/runtime/clock.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import { Vault } from '@prepaint/service/certificates/vault/vault.ts'
import { DatabaseClock } from '@prepaint/service/insight/fleet/database-clock.ts'
import { createOpenOriginHeaders } from '@prepaint/service/sites/origin-headers.ts'
import { databaseOf, EdgeSnapshot } from '@prepaint/service/snapshot/edge-snapshot.ts'
import { removeSnapshot } from '@prepaint/service/snapshot/snapshot-file.ts'
import type { Config } from '../settings/config.ts'
import { printAuditLine } from './audit-line.ts'
import type { ClosingStack } from './closing-stack.ts'
import { SCHEMA } from './schema.ts'
import type { Begun, Start } from './start-node.ts'

/** A node with a usable snapshot waits this long for PostgreSQL before it starts without it. */
const REACH_WITH_SNAPSHOT_MS = 5_000

/**
 * What every role of a node uses: the database and what knows whether it is there, notifications, the clock, secrets and the
 * snapshot of domains. The database is checked and migrated before anything else asks it: until then it counts as away.
 */
export class Base {
  readonly database: Database
  readonly availability: Availability
  readonly listener: Listener
  readonly clock: Clock
  readonly vault: Vault
  readonly openHeaders: OpenOriginHeaders
  /** Is null on a node without the role `edge`, or if the settings say so. */
  readonly snapshot: EdgeSnapshot | null
  readonly #server: GivenServer | null
  readonly #auditDays: number
  readonly #clock: DatabaseClock
  readonly #log: Log
  readonly #say: (line: string) => void
  #isChecked = false

  /** Also returns, with `isChecked` false, if PostgreSQL is not reached and a usable snapshot is there. */
  static async open(start: Start, { server, database: opening }: Begun, opened: ClosingStack): Promise<Base> {
    const { config, log, say, signal } = start
    if (config.edge.snapshotHours === 0) removeSnapshot(config.dataDir)
    const database = await opening
    signal.throwIfAborted()
    const base = new Base(config, server, database, log, say)
    opened.add('availability', () => base.availability.close())
    opened.add('clock', async () => base.#clock.close())
    opened.add('listener', () => base.listener.close())
    opened.add('snapshot', async () => base.snapshot?.close())

    const isStartable = server !== null && base.snapshot?.isUsable(config.edge.snapshotHours) === true
    try {
      await base.check(isStartable ? REACH_WITH_SNAPSHOT_MS : REACH_WITHIN_MS)
    } catch (error) {
      if (!isStartable || !(error instanceof DatabaseUnreachable)) throw error
      const { domains = 0, ageMs } = base.snapshot ?? {}
      const fields = { reason: error.message, domains, age_seconds: Math.round((ageMs ?? 0) / 1_000) }
      log.warn(fields, 'starting without the database: people are served by the snapshot of domains')
    }
    signal.throwIfAborted()
    return base
  }

  private constructor(
    config: Config,
    server: GivenServer | null,
    database: Database,
    log: Log,
    say: (line: string) => void,
  ) {
    const { pool, connection } = database
    const { dataDir } = config
    this.#server = server
    this.#auditDays = config.auditDays
    if (config.auditLog) printEntries(printAuditLine)
    this.#log = log
    this.#say = say
    this.database = database
    this.availability = new Availability(database, log, { isHeld: true })
    this.#clock = DatabaseClock.startAway(pool, this.availability.log)
    this.clock = this.#clock
    this.listener = new Listener(connection, this.availability.log, LISTENER_TIMES)
    this.vault = new Vault(pool, dataDir, config.secretKeys)
    this.openHeaders = createOpenOriginHeaders(this.vault, this.availability.log)
    const isKept = config.roles.has('edge') && config.edge.snapshotHours > 0
    const { vault, openHeaders, clock } = this
    const parts = { dataDir, vault, openHeaders, clock, log: this.availability.log }
    this.snapshot = isKept ? new EdgeSnapshot(databaseOf(connection), parts) : null
  }

  /** The database was reached, checked and migrated. */
  get isChecked(): boolean {
    return this.#isChecked
  }

  /**
   * Waits for the database, checks and migrates it; then it may be asked. Throws DatabaseUnreachable if it is not reached in
   * time, and DatabaseError if it cannot be used.
   */
  async check(withinMs = REACH_WITHIN_MS): Promise<void> {
    if (this.#isChecked) return
    const server = this.#server
    try {
      await server?.reach(withinMs, this.#say)
      await server?.checkPooler()
      await migrate(this.database.connection, SCHEMA, this.#log)
      await setAuditDays(this.database.pool, this.#auditDays)
      await this.#clock.correct()
      await this.listener.start()
    } catch (error) {
      throw server?.explain(error) ?? error
    }
    this.availability.watch(this.listener)
    this.listener.onServerLeaving(() => this.availability.leaveServer())
    this.listener.onLost(() => this.availability.suspect())
    this.#isChecked = true
    this.availability.admit()
  }
}

const RETRY_MS = 2_000
const SAY_EVERY_MS = 60_000

/** Tries a late start until it succeeds. Logs why it fails once a minute. Never rejects. */
export async function retryUntilStarted(
  start: () => Promise<void>,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  let saidMs = Number.NEGATIVE_INFINITY
  while (!signal.aborted) {
    try {
      await start()
      log.info('the database is there: all roles have started')
      return
    } catch (error) {
      const nowMs = systemStopwatch() * 1_000
      if (nowMs - saidMs >= SAY_EVERY_MS && !signal.aborted) {
        saidMs = nowMs
        log.warn({ reason: (error as Error).message }, 'the database cannot be used yet')
      }
    }
    await sleep(RETRY_MS, undefined, { signal, ref: false }).catch(() => {})
  }
}
