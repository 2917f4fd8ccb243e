import type { Log } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import { DatabaseError } from '../connection.ts'
import { migrate, type Schema } from '../migrate.ts'
import type { BackupHead, EndLine, TableLine } from './backup.ts'
import { EXCLUDED, tablesInOrder } from './backup.ts'

const BATCH_ROWS = 1_000
const BATCH_CHARS = 4 * 1024 * 1024

export type Restored = { head: BackupHead; rows: Record<string, number> }

/** Throws DatabaseError and stores nothing if the database is not empty, or the backup is incomplete or newer. */
export async function restoreBackup(
  connection: pg.ClientConfig,
  lines: AsyncIterable<string>,
  schema: Schema,
  log: Log,
): Promise<Restored> {
  const reader = lines[Symbol.asyncIterator]()
  const head = readHead((await reader.next()).value)
  const last = head.migrations.at(-1) ?? ''
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
    await refuseUnlessEmpty(client)
    await migrate(connection, schema, log, last)
    await refuseOtherSchema(client, head)
    await client.query('begin')
    const tables = await tablesInOrder(client)
    // Migrations insert some rows.
    await client.query(`truncate ${tables.map(({ name }) => client.escapeIdentifier(name)).join(', ')}`)
    // The backup contains the rows that triggers wrote.
    await setTriggers(client, tables, 'disable')
    const rows = await new Insertion(client, new Set(tables.map(({ name }) => name))).insertAll(reader)
    await setTriggers(client, tables, 'enable')
    // The nodes that were running when the backup was made have sent them.
    await client.query(`update delivery set state = 'cancelled', lease = null where state = 'waiting'`)
    for (const { name, columns } of await tablesInOrder(client)) await continueNumbers(client, name, columns)
    await client.query('commit')
    await client.query('analyze')
    await migrate(connection, schema, log)
    return { head, rows }
  } finally {
    await client.end()
  }
}

function readHead(line: string | undefined): BackupHead {
  const head = parsed<Partial<BackupHead>>(line)
  if (head.prepaint !== 'backup' || head.format !== 1 || !Array.isArray(head.migrations)) {
    throw new DatabaseError('This is not a backup of Prepaint, or it is of a newer version.')
  }
  return head as BackupHead
}

async function refuseUnlessEmpty(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ there: string | null }>(
    `select to_regclass('account')::text as there`,
  )
  if (rows[0]?.there === null) return
  const { rowCount } = await client.query('select from account union all select from domain limit 1')
  if (rowCount !== 0) {
    throw new DatabaseError(
      'The database has accounts already. Restore into an empty one: set PREPAINT_DATA_DIR to a new ' +
        'directory, or DATABASE_URL to a new database.',
    )
  }
}

async function refuseOtherSchema(client: pg.Client, { migrations, version }: BackupHead): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    'select name from schema_migration order by name collate "C"',
  )
  const here = rows.map(({ name }) => name)
  const unknown = migrations.find((name) => !here.includes(name))
  if (unknown !== undefined) {
    throw new DatabaseError(
      `The backup was made by Prepaint ${version}, which has the migration ${unknown}: restore it with that version or a newer one.`,
    )
  }
  if (here.length > migrations.length) {
    throw new DatabaseError(
      `A newer Prepaint has already created tables here (${here.at(-1)}): restore into an empty database.`,
    )
  }
}

async function setTriggers(
  client: pg.Client,
  tables: readonly { name: string }[],
  to: 'disable' | 'enable',
): Promise<void> {
  for (const { name } of tables) {
    await client.query(`alter table ${client.escapeIdentifier(name)} ${to} trigger user`)
  }
}

/** Inserts the rows of a backup, many at once. */
class Insertion {
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

  /** Returns how many rows each table has. Throws DatabaseError if lines are missing or of an unknown table. */
  async insertAll(reader: AsyncIterator<string>): Promise<Record<string, number>> {
    for (let next = await reader.next(); !next.done; next = await reader.next()) {
      const line = next.value
      // No column has this name; rows are not parsed here.
      if (line.startsWith('{"table":')) {
        await this.#flush()
        this.#begin(parsed<TableLine>(line))
      } else if (line.startsWith('{"end":')) {
        await this.#flush()
        this.#checkCounts(parsed<EndLine>(line))
        return this.#counts
      } else {
        this.#batch.push(line)
        this.#chars += line.length
        if (this.#batch.length >= BATCH_ROWS || this.#chars >= BATCH_CHARS) await this.#flush()
      }
    }
    throw new DatabaseError('The backup is incomplete.')
  }

  #begin({ table, columns }: TableLine): void {
    const isLeftOut = EXCLUDED.has(table)
    if (!isLeftOut && !this.#known.has(table)) {
      throw new DatabaseError(`The backup has a table ${table} that is unknown here.`)
    }
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

  #checkCounts({ end }: EndLine): void {
    const counts = this.#counts
    const wrong = Object.keys({ ...end, ...counts }).find((table) => end[table] !== counts[table])
    if (wrong === undefined) return
    throw new DatabaseError(`The backup is damaged: ${wrong} has ${counts[wrong]} rows of ${end[wrong]}.`)
  }
}

function insertion(client: pg.Client, table: string, columns: readonly string[]): string {
  const name = client.escapeIdentifier(table)
  const list = columns.map((column) => client.escapeIdentifier(column)).join(', ')
  return `insert into ${name} (${list}) overriding system value select ${list} from json_populate_recordset(null::${name}, $1::json)`
}

async function continueNumbers(client: pg.Client, table: string, columns: readonly string[]): Promise<void> {
  const name = client.escapeIdentifier(table)
  for (const column of columns) {
    const { rows } = await client.query<{ sequence: string | null }>(
      'select pg_get_serial_sequence($1, $2) as sequence',
      [name, column],
    )
    const sequence = rows[0]?.sequence
    if (sequence === null || sequence === undefined) continue
    const named = client.escapeIdentifier(column)
    await client.query(
      `select setval($1, coalesce((select max(${named}) from ${name}), 1), exists (select from ${name}))`,
      [sequence],
    )
  }
}

function parsed<T extends object>(line: string | undefined): T {
  try {
    return JSON.parse(line ?? '') as T
  } catch (cause) {
    throw new DatabaseError('This is not a backup of Prepaint.', { cause })
  }
}
