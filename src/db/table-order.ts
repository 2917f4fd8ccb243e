import type { Queryable } from './transaction.ts'

export type BackupTable = { name: string; columns: string[] }

/** What is not carried from one database to another: who runs there, and what was applied to it. */
const OF_ITS_PLACE: ReadonlySet<string> = new Set(['node', 'schema_migration'])

/**
 * Every table of ours with its columns (without those that PostgreSQL computes),
 * those that others refer to before those that refer to them.
 */
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
  const left = new Map(
    tables.filter(({ name }) => !OF_ITS_PLACE.has(name)).map((table) => [table.name, table]),
  )
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
