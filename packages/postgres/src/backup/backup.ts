import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { readShape } from '../domain-partitions.ts'
import type { Queryable } from '../transaction.ts'

/**
 * A backup begins with this line of JSON. For each table follows a line that names it, then its rows in the text format of
 * PostgreSQL's `COPY`, then a line that ends them. The last line has the row counts, which show truncation. In format 1,
 * which 0.2.0 made, each row is a line of JSON, and no line ends the rows.
 */
export type BackupHead = {
  prepaint: 'backup'
  format: 1 | 2
  version: string
  made_at: string
  migrations: string[]
  /** The id of the key that encrypts its secrets, or null if there are none. */
  master_key_id: string | null
  master_key: string | null
  pages: boolean
  /** What its rows take in the database, with indexes, as PostgreSQL estimates it. Missing in older backups. */
  estimate?: { rows: number; bytes: number }
}
export type TableLine = { table: string; columns: string[] }
export type EndLine = { end: Record<string, number> }

const LINE_FEED = 10

/** Ends the rows of a table. No row is this line, because `COPY` writes a backslash as two. */
export const END_OF_ROWS = '\\.\n'

/** `COPY` writes dates and numbers as the session has them, and reads them likewise. */
export const COPY_SETTINGS = `set datestyle = 'ISO, YMD'; set intervalstyle = 'postgres'; set extra_float_digits = 1;
  set bytea_output = 'hex'`

/** `masterKey`: put into the backup, unless it is null. `pages`: with what can be rendered again. */
type BackupOptions = { version: string; masterKey: string | null; pages: boolean }

const CACHE: ReadonlySet<string> = new Set(
  'page page_form redirect sitemap unstored_page render_record'.split(' '),
)

/** Reads a consistent snapshot, which is taken when the first piece is asked for. The first piece is the head. */
export async function* readBackup(
  connection: pg.ClientConfig,
  options: BackupOptions,
): AsyncGenerator<Buffer> {
  const client = new pg.Client(connection)
  // The query also reports a broken connection.
  client.on('error', () => {})
  await client.connect()
  let isRead = false
  try {
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
    await client.query(COPY_SETTINGS)
    await client.query('begin isolation level repeatable read read only')
    yield lineOf(await headOf(client, options))
    const end: Record<string, number> = {}
    for (const table of await tablesInOrder(client)) {
      if (!options.pages && CACHE.has(table.name)) continue
      yield lineOf({ table: table.name, columns: table.columns } satisfies TableLine)
      end[table.name] = yield* rowsOf(client, table)
      yield Buffer.from(END_OF_ROWS)
    }
    yield lineOf({ end } satisfies EndLine)
    isRead = true
  } finally {
    // PostgreSQL may be sending rows that nobody reads.
    if (!isRead) client.connection.stream.destroy()
    await client.end()
  }
}

function lineOf(content: object): Buffer {
  return Buffer.from(`${JSON.stringify(content)}\n`)
}

async function headOf(client: pg.Client, { version, masterKey, pages }: BackupOptions): Promise<BackupHead> {
  const { rows: migrations } = await client.query<{ name: string }>(
    'select name from schema_migration order by name collate "C"',
  )
  const { rows: keys } = await client.query<{ id: string }>('select id from master_key')
  const { rows: now } = await client.query<{ now: Date }>('select now()')
  const tables = (await tablesInOrder(client)).filter(({ name }) => pages || !CACHE.has(name))
  const stored = await readShape(
    client,
    tables.map(({ name }) => name),
  )
  return {
    prepaint: 'backup',
    format: 2,
    version,
    made_at: now[0]!.now.toISOString(),
    migrations: migrations.map(({ name }) => name),
    master_key_id: keys[0]?.id ?? null,
    master_key: masterKey,
    pages,
    estimate: { rows: stored?.rows ?? 0, bytes: stored?.bytes ?? 0 },
  }
}

/** Returns how many rows there are: line breaks in values are escaped, so each row is a line. */
async function* rowsOf(client: pg.Client, table: BackupTable): AsyncGenerator<Buffer, number> {
  const copied = client.query(copyTo(`copy ${copySource(table)} to stdout`))
  let count = 0
  for await (const piece of copied as AsyncIterable<Buffer>) {
    count += countLines(piece)
    yield piece
  }
  return count
}

/** The table and its columns, as `COPY` names them. */
export function copySubject({ name, columns }: { name: string; columns: readonly string[] }): string {
  const list = columns.map((column) => pg.escapeIdentifier(column)).join(', ')
  return `${pg.escapeIdentifier(name)} (${list})`
}

/** `COPY` reads a partitioned table by a query only. */
function copySource(table: BackupTable): string {
  if (!table.isPartitioned) return copySubject(table)
  const list = table.columns.map((column) => pg.escapeIdentifier(column)).join(', ')
  return `(select ${list} from ${pg.escapeIdentifier(table.name)})`
}

export function countLines(piece: Buffer): number {
  let count = 0
  for (let at = piece.indexOf(LINE_FEED); at !== -1; at = piece.indexOf(LINE_FEED, at + 1)) count++
  return count
}

export type BackupTable = { name: string; columns: string[]; isPartitioned: boolean }

/** Tables that are never restored: running nodes, and what the schema of a database is. */
export const EXCLUDED: ReadonlySet<string> = new Set([
  'node',
  'schema_migration',
  'schema_functions',
  // Nodes ask for the tasks that their subjects need when they start.
  'task',
])

/** Lists all tables in foreign-key order, with their columns except generated ones. Partitions belong to their table. */
export async function tablesInOrder(db: Queryable): Promise<BackupTable[]> {
  const { rows: tables } = await db.query<BackupTable>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns, c.relkind = 'p' as "isPartitioned"
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      where c.relkind in ('r', 'p') and not c.relispartition
      group by c.relname, c.relkind order by 1`,
  )
  const { rows: references } = await db.query<{ from: string; to: string }>(
    `select f.relname as from, t.relname as to
       from pg_constraint k join pg_class f on f.oid = k.conrelid join pg_class t on t.oid = k.confrelid
      where k.contype = 'f' and k.conrelid <> k.confrelid`,
  )
  const left = new Map(tables.filter(({ name }) => !EXCLUDED.has(name)).map((table) => [table.name, table]))
  const ordered: BackupTable[] = []
  while (left.size > 0) {
    const free = [...left.values()].filter(
      ({ name }) => !references.some(({ from, to }) => from === name && left.has(to)),
    )
    if (free.length === 0)
      throw new Error(`tables refer to each other in a circle: ${[...left.keys()].join(', ')}`)
    for (const table of free) {
      ordered.push(table)
      left.delete(table.name)
    }
  }
  return ordered
}
