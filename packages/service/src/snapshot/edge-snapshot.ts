import { createHash } from 'node:crypto'
import type { ServedDomain } from '@prepaint/contract/settings/served-domain.ts'
import type { OpenOriginHeaders } from '@prepaint/outbound'
import type { Queryable } from '@prepaint/postgres/transaction.ts'
import type { Clock } from '@prepaint/runtime/clock.ts'
import type { Invalidation } from '@prepaint/runtime/invalidation.ts'
import type { Log } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import type { ServedCertificate } from '../certificates/stored-certificate.ts'
import type { Vault } from '../certificates/vault/vault.ts'
import { hostsOfAccounts, keptCertificate, keptDomain, readKept, readKeptAfter } from './kept-domains.ts'
import { type KeptRow, SnapshotFile, setAside, snapshotPath } from './snapshot-file.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Changed domains are written so often, and a snapshot's time at least once a minute. */
const EVERY_MS = 5_000
const ALL_EVERY_MS = 15 * MINUTE_MS
/** Domains of one query. */
const BATCH = 1_000
/** Domains of one transaction of SQLite, which takes about a millisecond of this thread. */
const SLICE = 50
/** So many hosts named by notifications are remembered; more are written by a pass over all domains. */
const MOST_PENDING = 10_000

type SnapshotParts = {
  dataDir: string
  vault: Vault
  openHeaders: OpenOriginHeaders
  clock: Clock
  log: Log
}

/**
 * All domains of the cell in a file of the node's data directory, so that the node can serve people of domains that are not
 * in memory while PostgreSQL is away, and can start meanwhile. Nothing of it is kept in memory. Secrets stay sealed. What
 * changed after the last write is missing: `asOf` says when that was.
 */
export class EdgeSnapshot {
  readonly #parts: SnapshotParts
  readonly #database: string
  readonly #pendingHosts = new Set<string>()
  readonly #pendingAccounts = new Set<number>()
  #file: SnapshotFile | null
  /** Null until the file is complete for this database. */
  #asOfMs: number | null = null
  #domains = 0
  #bytes = 0
  #source: { db: Queryable; connected(): boolean } | null = null
  #isAllDue = true
  #allAtMs = 0
  #isFailing = false
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | null = null
  #isClosed = false

  /** `database` names the database (`databaseOf`). */
  constructor(database: string, parts: SnapshotParts) {
    this.#parts = parts
    this.#database = database
    this.#file = this.#open()
  }

  /** Whether a start may rely on it: it is complete, of this database and key, and not older than the limit. */
  isUsable(maxHours: number): boolean {
    const { clock } = this.#parts
    return this.#asOfMs !== null && clock.nowMs() - this.#asOfMs <= maxHours * HOUR_MS
  }

  /** Returns null if the host is not in it. */
  domain(host: string): ServedDomain | null {
    const kept = this.#read(host)
    return kept === null ? null : keptDomain(kept, this.#parts.openHeaders)
  }

  /** Returns null if the host is not in it, or has no certificate. It may have expired. */
  certificate(host: string): ServedCertificate | null {
    const kept = this.#read(host)
    return kept === null ? null : keptCertificate(kept)
  }

  get domains(): number {
    return this.#domains
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Is null while there is no complete snapshot. */
  get ageMs(): number | null {
    return this.#asOfMs === null ? null : Math.max(0, this.#parts.clock.nowMs() - this.#asOfMs)
  }

  /** Begins to write what `db` has, in the background. `connected`: whether notifications arrive. */
  start(db: Queryable, connected: () => boolean): void {
    this.#source = { db, connected }
    this.#timer = setInterval(() => void this.write(), EVERY_MS).unref()
    void this.write()
  }

  /** Takes note of a change; it is written within five seconds. Cheap, never throws. */
  invalidate(what: Invalidation): void {
    if (what.kind === 'everything') this.#isAllDue = true
    else if (what.kind === 'host') this.#pendingHosts.add(what.host)
    else if (what.kind === 'account') this.#pendingAccounts.add(what.account)
    if (this.#pendingHosts.size > MOST_PENDING) this.#isAllDue = true
  }

  /** Notifications were lost: all domains are written again. */
  lost(): void {
    this.#isAllDue = true
  }

  /** Writes what is due. Joins a write that is under way. Never rejects. */
  write(): Promise<void> {
    this.#writing ??= this.#writeDue().finally(() => {
      this.#writing = null
    })
    return this.#writing
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#timer)
    await this.#writing
    this.#file?.close()
    this.#file = null
  }

  async #writeDue(): Promise<void> {
    const source = this.#source
    if (source === null || this.#isClosed || !source.connected()) return
    // A damaged file was set aside.
    this.#file ??= this.#open()
    const file = this.#file
    if (file === null) return
    const beganMs = this.#parts.clock.nowMs()
    try {
      if (this.#isAllDue || beganMs - this.#allAtMs >= ALL_EVERY_MS)
        await this.#writeAll(file, source.db, beganMs)
      else await this.#writePending(file, source.db)
      if (this.#isAllDue || this.#isClosed || !source.connected()) return
      const isDue = this.#asOfMs === null || beganMs - this.#asOfMs >= MINUTE_MS || this.#allAtMs === beganMs
      if (isDue) this.#setAsOf(file, beganMs)
      if (this.#isFailing)
        this.#parts.log.info({ file: file.file }, 'the snapshot of domains is written again')
      this.#isFailing = false
    } catch (error) {
      this.#failed(file, error)
    }
  }

  async #writeAll(file: SnapshotFile, db: Queryable, nowMs: number): Promise<void> {
    this.#isAllDue = false
    try {
      if (!file.fits(this.#database, this.#parts.vault.keyIds())) file.clear()
      const missing = new Set(file.hosts())
      for (let after: string | undefined = ''; after !== undefined && !this.#isClosed; ) {
        const rows = await readKeptAfter(db, after, BATCH)
        for (const { host } of rows) missing.delete(host)
        await this.#writeSliced(file, rows, [])
        after = rows[BATCH - 1]?.host
      }
      if (this.#isClosed) return
      await this.#writeSliced(file, [], [...missing])
      this.#allAtMs = nowMs
    } catch (error) {
      this.#isAllDue = true
      throw error
    }
    this.#measure(file)
  }

  async #writePending(file: SnapshotFile, db: Queryable): Promise<void> {
    const accounts = [...this.#pendingAccounts]
    this.#pendingAccounts.clear()
    const hosts = new Set(this.#pendingHosts)
    this.#pendingHosts.clear()
    try {
      if (accounts.length > 0) for (const host of await hostsOfAccounts(db, accounts)) hosts.add(host)
      const named = [...hosts]
      for (let at = 0; at < named.length; at += BATCH) {
        const batch = named.slice(at, at + BATCH)
        const rows = await readKept(db, batch)
        const found = new Set(rows.map(({ host }) => host))
        await this.#writeSliced(
          file,
          rows,
          batch.filter((host) => !found.has(host)),
        )
      }
    } catch (error) {
      this.#isAllDue = true
      throw error
    }
    if (hosts.size > 0) this.#measure(file)
  }

  /** Lets requests be answered between two slices. */
  async #writeSliced(file: SnapshotFile, rows: readonly KeptRow[], gone: readonly string[]): Promise<void> {
    for (let at = 0; at < Math.max(rows.length, gone.length) && !this.#isClosed; at += SLICE) {
      file.write(rows.slice(at, at + SLICE), gone.slice(at, at + SLICE))
      await new Promise(setImmediate)
    }
  }

  #setAsOf(file: SnapshotFile, nowMs: number): void {
    const [key = ''] = this.#parts.vault.keyIds() ?? []
    file.setAbout(this.#database, key, new Date(nowMs).toISOString())
    this.#asOfMs = nowMs
    this.#measure(file)
  }

  #measure(file: SnapshotFile): void {
    this.#domains = file.count()
    this.#bytes = file.bytes()
  }

  #read(host: string): KeptRow | null {
    if (this.#file === null) return null
    try {
      // Another process of the node may have completed it.
      if (this.#asOfMs === null && this.#source === null) this.#asOfMs = this.#readAsOf(this.#file)
      if (this.#asOfMs === null) return null
      return this.#file.read(host)
    } catch (error) {
      this.#failed(this.#file, error)
      return null
    }
  }

  /** Returns null if the file is not complete, or of another database or key. */
  #readAsOf(file: SnapshotFile): number | null {
    if (!file.fits(this.#database, this.#parts.vault.keyIds())) return null
    const asOfMs = Date.parse(file.about()?.asOf ?? '')
    return Number.isNaN(asOfMs) ? null : asOfMs
  }

  /** Returns null if there can be no file. */
  #open(): SnapshotFile | null {
    const { dataDir, log } = this.#parts
    try {
      const file = openOrReplace(dataDir, log)
      this.#asOfMs = this.#readAsOf(file)
      this.#measure(file)
      if (this.#asOfMs === null) this.#domains = 0
      return file
    } catch (error) {
      this.#failed(null, error)
      return null
    }
  }

  /** Keeps what is there. A file that turns out to be damaged is set aside, and made anew at the next write. */
  #failed(file: SnapshotFile | null, error: unknown): void {
    const { dataDir, log } = this.#parts
    if (file !== null && isDamage(error)) {
      file.close()
      this.#file = null
      this.#asOfMs = null
      this.#domains = 0
      this.#isAllDue = true
      logDamage(dataDir, error, log)
      setAside(dataDir)
      return
    }
    // An error of PostgreSQL is logged as such.
    const fields = isSqliteError(error)
      ? { file: snapshotPath(dataDir), reason: (error as Error).message }
      : { err: error }
    if (!this.#isFailing) log.warn(fields, 'the snapshot of domains could not be written')
    this.#isFailing = true
  }
}

/** Names a database: the same address leads to the same domains. */
export function databaseOf(connection: pg.ClientConfig): string {
  const { host, port, database = '' } = new pg.Client(connection)
  return createHash('sha256').update(`${host}:${port}/${database}`).digest('hex')
}

function openOrReplace(dataDir: string, log: Log): SnapshotFile {
  try {
    const file = new SnapshotFile(dataDir)
    file.about()
    return file
  } catch (error) {
    if (!isDamage(error)) throw error
    logDamage(dataDir, error, log)
    setAside(dataDir)
    return new SnapshotFile(dataDir)
  }
}

function logDamage(dataDir: string, error: unknown, log: Log): void {
  const fields = { file: snapshotPath(dataDir), reason: (error as Error).message }
  log.warn(fields, 'the snapshot of domains is damaged: it is set aside and made anew')
}

function isSqliteError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR'
}

/** Primary result codes: SQLITE_ERROR (another table of the same name), SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGE: ReadonlySet<number> = new Set([1, 11, 26])

function isDamage(error: unknown): boolean {
  return (
    isSqliteError(error) &&
    error instanceof Error &&
    'errcode' in error &&
    DAMAGE.has(Number(error.errcode) & 0xff)
  )
}
