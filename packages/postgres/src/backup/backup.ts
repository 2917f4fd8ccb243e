import pg from 'pg'
import type { Queryable } from '../transaction.ts'

/** First line of a backup (JSON lines). Tables with their rows follow; the final row count shows truncation. */
export type BackupHead = {
  prepaint: 'backup'
  format: 1
  version: string
  made_at: string
  migrations: string[]
  /** The id of the key that encrypts its secrets, or null if there are none. */
  master_key_id: string | null
  master_key: string | null
  pages: boolean
}
export type TableLine = { table: string; columns: string[] }
export type EndLine = { end: Record<string, number> }

/** `masterKey`: put into the backup, unless it is null. `pages`: with what can be rendered again. */
type BackupOptions = { version: string; masterKey: string | null; pages: boolean }

const CACHE: ReadonlySet<string> = new Set(
  'page page_form redirect sitemap unstored_page render_record'.split(' '),
)

/** A fetch reads about this many bytes. */
const FETCH_BYTES = 4 * 1024 * 1024
const FETCH_MOST = 5_000

/** Reads a consistent snapshot, which is taken when the first piece is asked for. */
export async function* readBackup(
  connection: pg.ClientConfig,
  options: BackupOptions,
): AsyncGenerator<string> {
  const client = new pg.Client(connection)
  // The query also reports a broken connection.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
    await client.query('begin isolation level repeatable read read only')
    yield `${JSON.stringify(await headOf(client, options))}\n`
    const end: Record<string, number> = {}
    for (const { name, columns } of await tablesInOrder(client)) {
      if (!options.pages && CACHE.has(name)) continue
      yield `${JSON.stringify({ table: name, columns } satisfies TableLine)}\n`
      end[name] = yield* rowsOf(client, name)
    }
    yield `${JSON.stringify({ end } satisfies EndLine)}\n`
  } finally {
    await client.end()
  }
}

async function headOf(client: pg.Client, { version, masterKey, pages }: BackupOptions): Promise<BackupHead> {
  const { rows: migrations } = await client.query<{ name: string }>(
    'select name from schema_migration order by name collate "C"',
  )
  const { rows: keys } = await client.query<{ id: string }>('select id from master_key')
  const { rows: now } = await client.query<{ now: Date }>('select now()')
  return {
    prepaint: 'backup',
    format: 1,
    version,
    made_at: now[0]!.now.toISOString(),
    migrations: migrations.map(({ name }) => name),
    master_key_id: keys[0]?.id ?? null,
    master_key: masterKey,
    pages,
  }
}

async function* rowsOf(client: pg.Client, table: string): AsyncGenerator<string, number> {
  const name = client.escapeIdentifier(table)
  await client.query(
    `declare all_rows no scroll cursor for select row_to_json(t)::text as row from ${name} t`,
  )
  let count = 0
  for (let step = 10; ; ) {
    const { rows } = await client.query<{ row: string }>(`fetch ${step} from all_rows`)
    if (rows.length === 0) break
    // JSON escapes line breaks in strings; others are white space.
    const text = rows.map(({ row }) => `${row.replaceAll('\n', ' ')}\n`).join('')
    yield text
    count += rows.length
    step = Math.max(1, Math.min(FETCH_MOST, Math.floor((rows.length * FETCH_BYTES) / text.length)))
  }
  await client.query('close all_rows')
  return count
}

type BackupTable = { name: string; columns: string[] }

/** Tables that are never restored: running nodes, and what the schema of a database is. */
export const EXCLUDED: ReadonlySet<string> = new Set([
  'node',
  'schema_migration',
  'schema_functions',
  // Nodes ask for the tasks that their subjects need when they start.
  'task',
])

/** Lists all tables in foreign-key order, with their columns except generated ones. */
export async function tablesInOrder(db: Queryable): Promise<BackupTable[]> {
  const { rows: tables } = await db.query<BackupTable>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace and n.nspname = current_schema()
       join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
      where c.relkind = 'r'
      group by 1 order by 1`,
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
