import { chmodSync, closeSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { makeDir } from '@prepaint/runtime/system-user.ts'

/** Change it with any change of the tables or of what `row` and `certificate` mean. */
const FORMAT = 1
const FILE = 'edge-snapshot.db'

/** `row` and `certificate` are JSON, see `kept-domains.ts`. A domain without a certificate has null. */
export type KeptRow = { host: string; row: string; certificate: string | null }

/** What the file is about. `masterKey` is the id of the key that opens its secrets; empty if the node had none. */
export type About = { format: number; database: string; masterKey: string; asOf: string }

/**
 * The file below the data directory that holds all domains of the cell. Every method is synchronous, as `node:sqlite` is:
 * a record is read in some 20 µs. Writers write small transactions.
 */
export class SnapshotFile {
  readonly file: string
  readonly #database: DatabaseSync
  readonly #read: StatementSync
  readonly #upsert: StatementSync
  readonly #delete: StatementSync

  /** Makes the file and its tables if they are missing. Throws if it is damaged, or cannot be written. */
  constructor(dataDir: string) {
    makeDir(dataDir, 0o711)
    this.file = snapshotPath(dataDir)
    // SQLite gives its other files the same mode.
    closeSync(openSync(this.file, 'a', 0o600))
    chmodSync(this.file, 0o600)
    this.#database = new DatabaseSync(this.file, { timeout: 100 })
    try {
      this.#database.exec(`
        pragma journal_mode = wal;
        pragma synchronous = normal;
        create table if not exists domain (host text primary key, row text not null, certificate text) without rowid;
        create table if not exists about (format integer, database text, master_key text, as_of text)`)
      this.#read = this.#database.prepare('select host, row, certificate from domain where host = ?')
      this.#upsert = this.#database.prepare(
        `insert into domain (host, row, certificate) values (?, ?, ?)
         on conflict (host) do update set row = excluded.row, certificate = excluded.certificate
          where row <> excluded.row or certificate is not excluded.certificate`,
      )
      this.#delete = this.#database.prepare('delete from domain where host = ?')
    } catch (error) {
      this.#database.close()
      throw error
    }
  }

  /** Returns null if the file is new. */
  about(): About | null {
    const row = this.#database.prepare('select format, database, master_key, as_of from about').get()
    if (row === undefined) return null
    return {
      format: Number(row['format']),
      database: String(row['database']),
      masterKey: String(row['master_key']),
      asOf: String(row['as_of']),
    }
  }

  /** Whether the file is of this format and database, and its secrets can be opened with one of these keys. */
  fits(database: string, keyIds: readonly string[] | null): boolean {
    const about = this.about()
    if (about === null || about.format !== FORMAT || about.database !== database) return false
    return about.masterKey === '' || keyIds?.includes(about.masterKey) === true
  }

  read(host: string): KeptRow | null {
    const found = this.#read.get(host)
    if (found === undefined) return null
    const certificate = found['certificate']
    return {
      host,
      row: String(found['row']),
      certificate: typeof certificate === 'string' ? certificate : null,
    }
  }

  hosts(): string[] {
    return this.#database
      .prepare('select host from domain')
      .all()
      .map(({ host }) => String(host))
  }

  count(): number {
    return Number(this.#database.prepare('select count(*) as domains from domain').get()?.['domains'] ?? 0)
  }

  /** Writes rows that differ, and removes hosts, in one transaction. */
  write(rows: readonly KeptRow[], gone: readonly string[]): void {
    this.#transaction(() => {
      for (const { host, row, certificate } of rows) this.#upsert.run(host, row, certificate)
      for (const host of gone) this.#delete.run(host)
    })
  }

  /** Empties a file of another format, database or key. */
  clear(): void {
    this.#transaction(() => this.#database.exec('delete from domain; delete from about'))
  }

  setAbout(database: string, masterKey: string, asOf: string): void {
    this.#transaction(() => {
      this.#database.exec('delete from about')
      this.#database
        .prepare('insert into about (format, database, master_key, as_of) values (?, ?, ?, ?)')
        .run(FORMAT, database, masterKey, asOf)
    })
  }

  bytes(): number {
    return sizeOf(this.file) + sizeOf(`${this.file}-wal`)
  }

  close(): void {
    this.#database.close()
  }

  #transaction(work: () => void): void {
    this.#database.exec('begin immediate')
    try {
      work()
      this.#database.exec('commit')
    } catch (error) {
      try {
        this.#database.exec('rollback')
      } catch {
        // SQLite has rolled back by itself, as it does when the disk is full.
      }
      throw error
    }
  }
}

export type SnapshotSummary = { database: string; asOfMs: number; domains: number; bytes: number }

/** Returns null if there is no complete snapshot of this format. Writes nothing. Throws if the file is damaged. */
export function readSummary(dataDir: string): SnapshotSummary | null {
  const file = snapshotPath(dataDir)
  if (sizeOf(file) === 0) return null
  const database = new DatabaseSync(file, { readOnly: true, timeout: 100 })
  try {
    const hasTables = database.prepare(`select 1 from sqlite_schema where name = 'about'`).get() !== undefined
    if (!hasTables) return null
    const about = database.prepare('select database, as_of from about where format = ?').get(FORMAT)
    const asOfMs = Date.parse(String(about?.['as_of']))
    if (about === undefined || Number.isNaN(asOfMs)) return null
    const { domains } = database.prepare('select count(*) as domains from domain').get() ?? {}
    const bytes = sizeOf(file) + sizeOf(`${file}-wal`)
    return { database: String(about['database']), asOfMs, domains: Number(domains), bytes }
  } finally {
    database.close()
  }
}

export function snapshotPath(dataDir: string): string {
  return path.join(dataDir, FILE)
}

export function removeSnapshot(dataDir: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${snapshotPath(dataDir)}${end}`, { force: true })
}

/** Keeps a damaged file for the operator under another name. */
export function setAside(dataDir: string): void {
  const file = snapshotPath(dataDir)
  renameSync(file, `${file}.damaged`)
  for (const end of ['-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0
}
