import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import type pg from 'pg'

import type { Log } from '../log.ts'
import { DatabaseError, errorCode, withClient } from './connection.ts'

/** Where the migrations are. */
export const MIGRATIONS = path.join(import.meta.dirname, 'migrations')

/** The last migration that this version of Prepaint knows. */
export function lastMigration(directory: string = MIGRATIONS): string {
  return readMigrations(directory).at(-1)?.name ?? ''
}

/** Any number that nothing else of ours locks; nodes of all versions must agree on it. */
const MIGRATION_LOCK = 7_226_411_028

/** `breaking`: nodes that do not know it cannot go on with it. Its file begins with `-- breaking: <why>`. */
type Migration = { name: string; sql: string; checksum: string; breaking: boolean }
type Applied = { name: string; checksum: string; breaking: boolean }

/**
 * Brings the schema up to this version of Prepaint and returns the names of the
 * migrations it applied, in order. Each is one transaction together with its
 * record, so a crash leaves whole steps only. Nodes that start at once take
 * turns: the first applies, the others wait and find nothing to do.
 *
 * Forward only. Nodes of two versions work side by side while a fleet is
 * upgraded: a migration that only adds is survived by nodes that do not know
 * it, and they may be started again. Throws DatabaseError when the database has
 * a breaking one that this code does not know, when nodes run that do not know
 * a breaking one which is to be applied, or when an applied file has been changed.
 * `last`: none after that one, for a backup of an older version.
 */
export async function migrate(
  connection: pg.ClientConfig,
  log: Log,
  directory: string = MIGRATIONS,
  last: string | null = null,
): Promise<string[]> {
  const migrations = readMigrations(directory).filter(({ name }) => last === null || name <= last)
  return withClient(connection, async (client) => {
    await takeTurn(client, log)
    await createRecord(client)
    const { rows } = await client.query<Applied>(
      'select name, checksum, breaking from schema_migration order by name collate "C"',
    )
    const applied: string[] = []
    for (const migration of pending(migrations, rows, log)) {
      if (migration.breaking) await refuseBesideOlderNodes(client, migration)
      await apply(client, migration, log)
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
    await client.query(
      'alter table schema_migration add column if not exists breaking boolean not null default false',
    )
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
    const checksum = createHash('sha256').update(sql).digest('hex')
    return { name, sql, checksum, breaking: /^-- breaking: /.test(sql) }
  })
}

/** What is still to apply, once the record is known to be one that this version can work with. */
function pending(migrations: Migration[], record: Applied[], log: Log): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.name, migration]))
  const last = migrations.at(-1)?.name ?? ''
  const unknown = record.filter(({ name }) => !known.has(name))
  const tooNew = unknown.find(({ name, breaking }) => breaking || name < last)
  if (tooNew !== undefined) {
    throw new DatabaseError(
      `The database was made by a newer Prepaint: it has the migration ${tooNew.name}, which this version cannot work ` +
        `with (it knows ${last === '' ? 'none' : last} as its last). Run the newer version.`,
    )
  }
  if (unknown.length > 0) {
    log.warn(
      { migration: unknown.at(-1)?.name, known: last },
      'the database is ahead of this version, which can work with it: an upgrade is under way',
    )
  }
  const changed = record.find(
    ({ name, checksum }) => known.has(name) && known.get(name)?.checksum !== checksum,
  )
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

/** A breaking migration waits for the last node that would not understand what it leaves. */
async function refuseBesideOlderNodes(client: pg.Client, { name }: Migration): Promise<void> {
  const { rows: there } = await client.query<{ node: string | null }>(
    `select to_regclass('node')::text as node`,
  )
  if (there[0]?.node === null) return
  const { rows } = await client.query<{ id: string }>(
    `select id from node where schema < $1 collate "C" and seen_at > clock_timestamp() - interval '15 seconds' order by id`,
    [name],
  )
  if (rows.length === 0) return
  throw new DatabaseError(
    `The migration ${name} cannot be applied while older nodes run: stop ${rows.map(({ id }) => id).join(', ')} first.`,
  )
}

/** `lock_not_available`, `deadlock_detected`: somebody reads or writes the table. */
const IN_USE: ReadonlySet<string> = new Set(['55P03', '40P01'])
/** Less than PostgreSQL takes to find a deadlock: it is the migration that gives way, not who is served. */
const LOCK_WITHIN_MS = 500
const LOCK_TRIES = 120

/**
 * Whoever waits for a table stops all who come after him. So a migration waits
 * for half a second only, then lets the others go and comes again.
 */
async function apply(client: pg.Client, migration: Migration, log: Log): Promise<void> {
  const { name, sql, checksum, breaking } = migration
  for (let tries = 1; ; tries++) {
    await client.query('begin')
    try {
      await client.query(`set local lock_timeout = ${LOCK_WITHIN_MS}`)
      await client.query(sql)
      await client.query('insert into schema_migration (name, checksum, breaking) values ($1, $2, $3)', [
        name,
        checksum,
        breaking,
      ])
      await client.query('commit')
      return
    } catch (cause) {
      // A connection that is gone has undone it, too.
      await client.query('rollback').catch(() => {})
      if (!IN_USE.has(errorCode(cause)) || tries === LOCK_TRIES) {
        throw new DatabaseError(`The migration ${name} failed and was undone: ${(cause as Error).message}`, {
          cause,
        })
      }
      if (tries === 1) log.info({ migration: name }, 'a migration waits for tables that are in use')
      await sleep(LOCK_WITHIN_MS)
    }
  }
}
