import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Log } from '@prepaint/runtime/log.ts'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { DatabaseError } from '../connection.ts'
import { divideByDomain } from '../domain-partitions.ts'
import { migrate, type Schema } from '../migrate.ts'
import {
  type BackupHead,
  COPY_SETTINGS,
  copySubject,
  countLines,
  type EndLine,
  type TableLine,
  tablesInOrder,
} from './backup.ts'
import { isNotRestored, parsed, type RowCounts } from './backup-lines.ts'
import { BackupReader } from './backup-reader.ts'
import { Insertion } from './format-1.ts'

/** What is called while a backup is restored. If a step throws, nothing is stored. */
type Steps = {
  /** Before anything is stored. */
  begin?(head: BackupHead): void
  /** When all rows are there, in the transaction of the restore, while triggers are disabled. */
  settle?(client: pg.Client): Promise<void>
}

export type Restored = { head: BackupHead; rows: Record<string, number> }

/**
 * Throws DatabaseError and stores nothing if the database is not empty, or the backup is incomplete or newer.
 */
export async function restoreBackup(
  connection: pg.ClientConfig,
  pieces: AsyncIterable<Buffer>,
  schema: Schema,
  log: Log,
  { begin, settle }: Steps = {},
): Promise<Restored> {
  const reader = new BackupReader(pieces)
  const head = readHead(await reader.nextLine())
  begin?.(head)
  const last = head.migrations.at(-1) ?? ''
  const client = new pg.Client(connection)
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
    await client.query(COPY_SETTINGS)
    await refuseUnlessEmpty(client)
    await migrate(connection, schema, log, last)
    await refuseOtherSchema(client, head)
    await client.query('begin')
    const tables = await tablesInOrder(client)
    // The audit log refuses to be truncated.
    await setTriggers(client, tables, 'disable')
    // Migrations insert some rows.
    await client.query(`truncate ${tables.map(({ name }) => client.escapeIdentifier(name)).join(', ')}`)
    // The tables of the backup's version are whole.
    await divideByDomain(client, schema.divided)
    // The backup contains the rows that triggers wrote.
    await setTriggers(client, tables, 'disable')
    const known = new Set(tables.map(({ name }) => name))
    const { counts, wanted } =
      head.format === 1
        ? await new Insertion(client, known).insertAll(reader)
        : await copyAll(client, reader, known)
    checkCounts(counts, wanted)
    await settle?.(client)
    await setTriggers(client, tables, 'enable')
    // The nodes that were running when the backup was made have sent them.
    await client.query(`update delivery set state = 'cancelled', lease = null where state = 'waiting'`)
    for (const { name, columns } of await tablesInOrder(client)) await continueNumbers(client, name, columns)
    await client.query('commit')
    await client.query('analyze')
    await migrate(connection, schema, log)
    return { head, rows: counts }
  } finally {
    await client.end()
  }
}

function readHead(line: string | null): BackupHead {
  const head = parsed<Partial<BackupHead>>(line)
  const isKnown = head.format === 1 || head.format === 2
  if (head.prepaint !== 'backup' || !isKnown || !Array.isArray(head.migrations)) {
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

/** Copies the rows of format 2. Throws DatabaseError if the backup ends early, or for an unknown table. */
async function copyAll(
  client: pg.Client,
  reader: BackupReader,
  known: ReadonlySet<string>,
): Promise<RowCounts> {
  const counts: Record<string, number> = {}
  for (let line = await reader.nextLine(); line !== null; line = await reader.nextLine()) {
    const { table, columns, end } = parsed<Partial<TableLine & EndLine>>(line)
    if (end !== undefined) return { counts, wanted: end }
    if (table === undefined || columns === undefined) throw new DatabaseError('The backup is damaged.')
    counts[table] = 0
    const counted = async function* (rows: AsyncIterable<Buffer>) {
      for await (const piece of rows) {
        counts[table] = (counts[table] ?? 0) + countLines(piece)
        yield piece
      }
    }
    const into = isNotRestored(table, known)
      ? new Writable({ write: (_rows, _encoding, taken) => taken() })
      : client.query(copyFrom(`copy ${copySubject({ name: table, columns })} from stdin`))
    await pipeline(reader.rows(), counted, into)
  }
  throw new DatabaseError('The backup is incomplete.')
}

function checkCounts(
  counts: Readonly<Record<string, number>>,
  wanted: Readonly<Record<string, number>>,
): void {
  const wrong = Object.keys({ ...wanted, ...counts }).find((table) => wanted[table] !== counts[table])
  if (wrong === undefined) return
  throw new DatabaseError(`The backup is damaged: ${wrong} has ${counts[wrong]} rows of ${wanted[wrong]}.`)
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
