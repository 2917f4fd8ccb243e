import pg from 'pg'
import type { Queryable } from '../transaction.ts'

/** First line of a backup (JSON lines). Tables with their rows follow; the final row count shows truncation. */
export type BackupHead = {
  prepaint: 'backup'
  format: 1
  version: string
  made_at: string
  migrations: string[]
  /** Id of the key that encrypts its secrets; null: no secrets. */
  master_key_id: string | null
  master_key: string | null
  pages: boolean
}
export type TableLine = { table: string; columns: string[] }
export type EndLine = { end: Record<string, number> }

const CACHE: ReadonlySet<string> = new Set(
  'page page_form redirect sitemap unstored_page render_record'.split(' '),
)

/** Approximate bytes per fetch. */
const FETCH_BYTES = 4 * 1024 * 1024
const FETCH_MOST = 5_000

/** A consistent snapshot, taken when the first piece is read. */
export async function* readBackup(
  connection: pg.ClientConfig,
  options: { version: string; masterKey: string | null; pages: boolean },
): AsyncGenerator<string> {
  const { version, masterKey, pages } = options
  const client = new pg.Client(connection)
  // The query also reports a broken connection.
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
    await client.query('begin isolation level repeatable read read only')
    yield `${JSON.stringify(await headOf(client, { version, master_key: masterKey, pages }))}\n`
    const end: Record<string, number> = {}
    for (const { name, columns } of await tablesInOrder(client)) {
      if (!pages && CACHE.has(name)) continue
      yield `${JSON.stringify({ table: name, columns } satisfies TableLine)}\n`
      end[name] = yield* rowsOf(client, name)
    }
    yield `${JSON.stringify({ end } satisfies EndLine)}\n`
  } finally {
    await client.end()
  }
}

async function headOf(
  client: pg.Client,
  given: Pick<BackupHead, 'version' | 'master_key' | 'pages'>,
): Promise<BackupHead> {
  const { rows: migrations } = await client.query<{ name: string }>(
    'select name from schema_migration order by name collate "C"',
  )
  const { rows: keys } = await client.query<{ id: string }>('select id from master_key')
  const { rows: now } = await client.query<{ now: Date }>('select now()')
  return {
    prepaint: 'backup',
    format: 1,
    made_at: now[0]!.now.toISOString(),
    migrations: migrations.map(({ name }) => name),
    master_key_id: keys[0]?.id ?? null,
    ...given,
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

/** All tables in foreign-key order, with their columns except generated ones. */
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
