import type pg from 'pg'
import { DatabaseError } from '../connection.ts'
import type { EndLine, TableLine } from './backup.ts'
import { isNotRestored, parsed, type RowCounts } from './backup-lines.ts'
import type { BackupReader } from './backup-reader.ts'

const BATCH_ROWS = 1_000
const BATCH_CHARS = 4 * 1024 * 1024

/** Inserts the rows of a backup of format 1, which 0.2.0 made: each is a line of JSON. */
export class Insertion {
  readonly #client: pg.Client
  readonly #known: ReadonlySet<string>
  readonly #counts: Record<string, number> = {}
  /** `sql` is null for tables that are not restored: 0.2.0 puts them into backups of an upgraded database. */
  #into: { table: string; sql: string | null } | null = null
  #batch: string[] = []
  #chars = 0

  constructor(client: pg.Client, known: ReadonlySet<string>) {
    this.#client = client
    this.#known = known
  }

  /** Returns how many rows each table has, and how many it should have. Throws DatabaseError for an unknown table. */
  async insertAll(reader: BackupReader): Promise<RowCounts> {
    for (let line = await reader.nextLine(); line !== null; line = await reader.nextLine()) {
      // No column has this name; rows are not parsed here.
      if (line.startsWith('{"table":')) {
        await this.#flush()
        this.#begin(parsed<TableLine>(line))
      } else if (line.startsWith('{"end":')) {
        await this.#flush()
        return { counts: this.#counts, wanted: parsed<EndLine>(line).end }
      } else {
        this.#batch.push(line)
        this.#chars += line.length
        if (this.#batch.length >= BATCH_ROWS || this.#chars >= BATCH_CHARS) await this.#flush()
      }
    }
    throw new DatabaseError('The backup is incomplete.')
  }

  #begin({ table, columns }: TableLine): void {
    const isLeftOut = isNotRestored(table, this.#known)
    this.#counts[table] = 0
    this.#into = { table, sql: isLeftOut ? null : insertion(this.#client, table, columns) }
  }

  async #flush(): Promise<void> {
    if (this.#into !== null && this.#batch.length > 0) {
      const { table, sql } = this.#into
      if (sql !== null) await this.#client.query(sql, [`[${this.#batch.join(',')}]`])
      this.#counts[table] = (this.#counts[table] ?? 0) + this.#batch.length
    }
    this.#batch = []
    this.#chars = 0
  }
}

function insertion(client: pg.Client, table: string, columns: readonly string[]): string {
  const name = client.escapeIdentifier(table)
  const list = columns.map((column) => client.escapeIdentifier(column)).join(', ')
  return `insert into ${name} (${list}) overriding system value select ${list} from json_populate_recordset(null::${name}, $1::json)`
}
