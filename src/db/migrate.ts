import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

import type pg from 'pg'

import type { Log } from '../log.ts'
import { withClient } from './connection.ts'
import { DatabaseError } from './database-error.ts'

/** Where the migrations are. */
export const MIGRATIONS = path.join(import.meta.dirname, 'migrations')

/** The last migration that this version of Prepaint knows. */
export function lastMigration(directory: string = MIGRATIONS): string {
  return readMigrations(directory).at(-1)?.name ?? ''
}

/** Any number that nothing else of ours locks; nodes of all versions must agree on it. */
const MIGRATION_LOCK = 7_226_411_028

type Migration = { name: string; sql: string; checksum: string }

/**
 * Brings the schema up to this version of Prepaint and returns the names of the
 * migrations it applied, in order. Each is one transaction together with its
 * record, so a crash leaves whole steps only. Nodes that start at once take
 * turns: the first applies, the others wait and find nothing to do.
 *
 * Forward only. Throws DatabaseError when the database knows a migration that
 * this code does not (an older Prepaint must not work on newer tables), or when
 * an applied file has been changed.
 */
export async function migrate(
  connection: pg.ClientConfig,
  log: Log,
  directory: string = MIGRATIONS,
): Promise<string[]> {
  const migrations = readMigrations(directory)
  return withClient(connection, async (client) => {
    await takeTurn(client, log)
    await createRecord(client)
    const { rows } = await client.query<{ name: string; checksum: string }>(
      'select name, checksum from schema_migration order by name collate "C"',
    )
    const applied: string[] = []
    for (const migration of pending(migrations, rows)) {
      await apply(client, migration)
      log.info({ migration: migration.name }, 'migration applied')
      applied.push(migration.name)
    }
    return applied
  })
}

/** One node at a time; the lock goes with the connection, however that ends. */
async function takeTurn(client: pg.Client, log: Log): Promise<void> {
  // A large table takes as long as it takes, whatever the server's defaults say.
  await client.query('set statement_timeout = 0; set lock_timeout = 0')
  const { rows } = await client.query<{ free: boolean }>('select pg_try_advisory_lock($1) as free', [
    MIGRATION_LOCK,
  ])
  if (rows[0]?.free) return
  log.info('waiting for another node that is migrating the database')
  await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK])
}

async function createRecord(client: pg.Client): Promise<void> {
  try {
    await client.query(`create table if not exists schema_migration (
      name       text primary key,
      checksum   text not null,
      applied_at timestamptz not null default now()
    )`)
  } catch (cause) {
    throw new DatabaseError(
      `The tables cannot be made: ${(cause as Error).message}. ` +
        'The user in DATABASE_URL needs to own the database (alter database ... owner to ...).',
      { cause },
    )
  }
}

function readMigrations(directory: string): Migration[] {
  const names = readdirSync(directory)
    .filter((name) => name.endsWith('.sql'))
    .sort()
  names.forEach((name, index) => {
    const repeats = names[index - 1]?.slice(0, 4) === name.slice(0, 4)
    if (!/^\d{4}-[a-z0-9-]+\.sql$/.test(name) || repeats) {
      throw new Error(`${directory}/${name}: migrations are named NNNN-<name>.sql, no two with one number`)
    }
  })
  return names.map((name) => {
    const sql = readFileSync(path.join(directory, name), 'utf8')
    return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
  })
}

/** What is still to apply, once the record is known to be the beginning of our list. */
function pending(migrations: Migration[], record: { name: string; checksum: string }[]): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  const newer = record.filter(({ name }) => !known.has(name))
  if (newer.length > 0) {
    throw new DatabaseError(
      `The database was made by a newer Prepaint: it has the migration ${newer.at(-1)?.name}, ` +
        `and this version knows ${migrations.at(-1)?.name ?? 'none'} as its last. Run the newer version.`,
    )
  }
  const changed = record.find(({ name, checksum }) => known.get(name)?.checksum !== checksum)
  if (changed !== undefined) {
    throw new DatabaseError(
      `The migration ${changed.name} is not the one that was applied to this database: its file was changed since. ` +
        'Restore the file; a change of the schema needs a new migration.',
    )
  }
  const applied = new Set(record.map(({ name }) => name))
  const next = migrations.filter(({ name }) => !applied.has(name))
  // A number may be left out, but not be filled once later ones were applied.
  const late = next.find(({ name }) => name < (record.at(-1)?.name ?? ''))
  if (late !== undefined) {
    throw new DatabaseError(
      `The migration ${late.name} came after ${record.at(-1)?.name} had been applied: give it a higher number.`,
    )
  }
  return next
}

async function apply(client: pg.Client, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('begin')
  try {
    await client.query(sql)
    await client.query('insert into schema_migration (name, checksum) values ($1, $2)', [name, checksum])
    await client.query('commit')
  } catch (cause) {
    throw new DatabaseError(`The migration ${name} failed and was undone: ${(cause as Error).message}`, {
      cause,
    })
  }
}
