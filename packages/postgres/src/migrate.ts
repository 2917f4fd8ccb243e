import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@prepaint/runtime/log.ts'
import type pg from 'pg'
import { DatabaseError, errorCode, withClient } from './connection.ts'
import { divideByDomain } from './domain-partitions.ts'

/**
 * The database of this version. An empty database gets `tables`; `migrations/NNNN-<what>.sql` upgrade those of released
 * versions. Both get the functions afterwards. Who wires names the files, because they stand beside the code that owns
 * them: `bin/node/schema.ts`.
 */
export type Schema = {
  /** Files that create tables, in the order that foreign keys need. */
  tables: readonly string[]
  /** Tables that a new database divides by domain; later ones may refer to earlier ones. In upgraded databases they are whole. */
  divided: readonly string[]
  functions: FunctionSet
  /** The directory of migrations. */
  migrations: string
}

/** Functions, triggers and views. Each statement is `create or replace`, or does nothing when it is repeated. */
type FunctionSet = {
  files: readonly string[]
  /** Raised with each change. A node applies its set only to a database with a lower number. */
  number: number
  /** The checksum of the files, as `checksumOf` makes it. */
  checksum: string
}

export const MIGRATIONS = path.join(import.meta.dirname, 'migrations')

export function lastMigration(): string {
  return readMigrations().at(-1)!.name
}

const FIRST = '0001-schema.sql'
/** Breaking only where tables are divided. */
const DIVIDED = '0181-divided-by-domain.sql'
/** The first migration of development versions before the first release. */
const FIRST_UNRELEASED = '0001-first.sql'

const MIGRATION_LOCK = 7_226_411_028
const TURN_POLL_MS = 100

type Migration = {
  name: string
  sql: string
  checksum: string
  /** Nodes without it cannot work with the new schema. Its file begins with `-- breaking: <why>`. */
  breaking: boolean
  /** It makes an index of a large table that is in use. Its file begins with `-- concurrently: <why>`. */
  concurrently: boolean
}
type Applied = Pick<Migration, 'name' | 'checksum' | 'breaking'>

/**
 * Creates the tables, or applies missing migrations, one transaction each (indexes of large tables without one); then the
 * functions, if the database has older ones. Returns the names of migrations. Nodes starting together take turns.
 * Forward only. Migrations that only add do not disturb older nodes.
 * Throws DatabaseError for an unknown breaking migration, a changed file, or nodes too old for a breaking one.
 * `last`: stop after that migration and leave the functions, to restore an older backup.
 */
export async function migrate(
  connection: pg.ClientConfig,
  schema: Schema,
  log: Log,
  last: string | null = null,
): Promise<string[]> {
  const migrations = readMigrations(schema.migrations).filter(({ name }) => last === null || name <= last)
  return withClient(connection, async (client) => {
    await takeTurn(client, log)
    await createRecord(client)
    const { rows } = await client.query<Applied>(
      'select name, checksum, breaking from schema_migration order by name collate "C"',
    )
    const isEmpty = rows.length === 0 && last === null
    const applied = isEmpty
      ? await createTables(client, schema, migrations, log)
      : await applyPending(client, pending(migrations, rows, log), log)
    if (last === null) {
      await applyFunctions(client, schema.functions, log)
      await keepOutOlderIfDivided(client, schema.divided)
    }
    return applied
  })
}

async function createTables(
  client: pg.Client,
  { tables, divided }: Schema,
  migrations: readonly Migration[],
  log: Log,
): Promise<string[]> {
  await apply(client, { kind: 'migration', name: 'schema' }, log, async () => {
    for (const file of tables) await client.query(readFileSync(file, 'utf8'))
    await divideByDomain(client, divided)
    await record(client, migrations)
  })
  log.info('tables created')
  return migrations.map(({ name }) => name)
}

async function applyPending(
  client: pg.Client,
  migrations: readonly Migration[],
  log: Log,
): Promise<string[]> {
  for (const migration of migrations) {
    if (migration.breaking) await refuseBesideOlderNodes(client, migration)
    if (migration.concurrently) await makeIndex(client, migration, log)
    await apply(client, { kind: 'migration', name: migration.name }, log, async () => {
      if (!migration.concurrently) await client.query(migration.sql)
      await record(client, [migration])
    })
    log.info({ migration: migration.name }, 'migration applied')
  }
  return migrations.map(({ name }) => name)
}

/** Nodes of 0.2.0 delete rows of divided tables wrongly: those that start refuse the database, those that run end. */
async function keepOutOlderIfDivided(client: pg.Client, tables: readonly string[]): Promise<void> {
  await client.query(
    `update schema_migration set breaking = true
      where name = $1 and not breaking and exists (
        select from unnest($2::text[]) as divided (name) join pg_class on oid = to_regclass(divided.name) where relkind = 'p')`,
    [DIVIDED, tables],
  )
}

/** A set with a lower number than the database's is of an older version, which runs beside newer ones: it is left out. */
async function applyFunctions(client: pg.Client, functions: FunctionSet, log: Log): Promise<void> {
  const { files, number, checksum } = functions
  const { rows } = await client.query<{ number: number; checksum: string }>(
    'select number, checksum from schema_functions',
  )
  const applied = rows[0]
  if (applied?.number === number && applied.checksum !== checksum) {
    throw new DatabaseError(
      `The functions of this version have the number ${number}, and so have other ones in this database. ` +
        'A change of functions needs a higher number.',
    )
  }
  if (applied !== undefined && applied.number >= number) return
  await apply(client, { kind: 'function set', name: String(number) }, log, async () => {
    for (const file of files) await client.query(readFileSync(file, 'utf8'))
    await client.query(
      `insert into schema_functions (number, checksum) values ($1, $2)
       on conflict (one_row) do update set number = excluded.number, checksum = excluded.checksum, applied_at = now()`,
      [number, checksum],
    )
  })
  log.info({ functions: number }, 'functions applied')
}

/** The checksum of a function set. */
export function checksumOf(files: readonly string[]): string {
  const hash = createHash('sha256')
  for (const file of files) hash.update(readFileSync(file))
  return hash.digest('hex')
}

async function takeTurn(client: pg.Client, log: Log): Promise<void> {
  // Large tables take long.
  await client.query('set statement_timeout = 0; set lock_timeout = 0')
  const { rows } = await client.query<{ free: boolean }>('select pg_try_advisory_lock($1) as free', [
    MIGRATION_LOCK,
  ])
  if (rows[0]?.free) return
  log.info('waiting for another node that is migrating the database')
  // One statement that waits would have a snapshot, for whose end an index that is made concurrently waits.
  for (;;) {
    await sleep(TURN_POLL_MS)
    const { rows: again } = await client.query<{ free: boolean }>('select pg_try_advisory_lock($1) as free', [
      MIGRATION_LOCK,
    ])
    if (again[0]?.free) return
  }
}

async function createRecord(client: pg.Client): Promise<void> {
  try {
    await client.query(`
      create table if not exists schema_migration (
        name       text primary key,
        checksum   text not null,
        applied_at timestamptz not null default now()
      );
      alter table schema_migration add column if not exists breaking boolean not null default false;
      create table if not exists schema_functions (
        one_row    boolean primary key default true check (one_row),
        number     integer not null,
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

export function readMigrations(directory: string = MIGRATIONS): Migration[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.sql'))
  const migrations = names.sort().map((name) => readMigration(name, path.join(directory, name)))
  migrations.forEach(({ name }, index) => {
    const repeats = migrations[index - 1]?.name.slice(0, 4) === name.slice(0, 4)
    if (!/^\d{4}-[a-z0-9-]+\.sql$/.test(name) || repeats) {
      throw new Error(`${directory}/${name}: migrations are named NNNN-<name>.sql, no two with one number`)
    }
  })
  if (migrations[0]?.name !== FIRST) throw new Error(`${directory} begins with ${FIRST}`)
  return migrations
}

function readMigration(name: string, file: string): Migration {
  const sql = readFileSync(file, 'utf8')
  const checksum = createHash('sha256').update(sql).digest('hex')
  return {
    name,
    sql,
    checksum,
    breaking: /^-- breaking: /.test(sql),
    concurrently: /^-- concurrently: /.test(sql),
  }
}

function pending(migrations: Migration[], record: Applied[], log: Log): Migration[] {
  if (record[0]?.name === FIRST_UNRELEASED) {
    throw new DatabaseError(
      'The database was made by a development version from before the first release, which cannot be upgraded. ' +
        'Use an empty database: set PREPAINT_DATA_DIR to a new directory, or DATABASE_URL to a new database.',
    )
  }
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
  // Numbers may be left out, but not filled in later.
  const late = next.find(({ name }) => name < (record.at(-1)?.name ?? ''))
  if (late !== undefined) {
    throw new DatabaseError(
      `The migration ${late.name} came after ${record.at(-1)?.name} had been applied: give it a higher number.`,
    )
  }
  return next
}

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

/** The errors `lock_not_available` and `deadlock_detected`. */
const IN_USE: ReadonlySet<string> = new Set(['55P03', '40P01'])
/** Below PostgreSQL's deadlock timeout, so the migration gives way instead of a query. */
const LOCK_WITHIN_MS = 500
const LOCK_TRIES = 120

/** Waits half a second at a time, because waiting for a table lock blocks all later queries on the table. */
async function apply(
  client: pg.Client,
  { kind, name }: { kind: 'migration' | 'function set'; name: string },
  log: Log,
  change: () => Promise<unknown>,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    await client.query('begin')
    try {
      await client.query(`set local lock_timeout = ${LOCK_WITHIN_MS}`)
      await change()
      await client.query('commit')
      return
    } catch (cause) {
      await client.query('rollback').catch(() => {})
      if (!IN_USE.has(errorCode(cause)) || tries === LOCK_TRIES) {
        throw new DatabaseError(`The ${kind} ${name} failed and was undone: ${(cause as Error).message}`, {
          cause,
        })
      }
      if (tries === 1) log.info({ [kind]: name }, `a ${kind} waits for tables that are in use`)
      await sleep(LOCK_WITHIN_MS)
    }
  }
}

/** The error `feature_not_supported`: the table is partitioned. */
const NOT_CONCURRENTLY = '0A000'

/**
 * Makes an index while its table is read and written. What a run that died has left is dropped first. Partitioned tables do not
 * allow that: theirs is made with the table locked, which only databases of development versions and those that are just being
 * restored need.
 */
async function makeIndex(client: pg.Client, { name, sql }: Migration, log: Log): Promise<void> {
  const statements = sql
    .split(';')
    .map((statement) => statement.replace(/^\s*--.*$/gm, '').trim())
    .filter((statement) => statement !== '')
  for (let tries = 1; ; tries++) {
    try {
      for (const statement of statements) await client.query(statement)
      return
    } catch (cause) {
      const code = errorCode(cause)
      if (code === NOT_CONCURRENTLY) {
        const plain = sql.replaceAll(' concurrently ', ' ')
        await apply(client, { kind: 'migration', name }, log, () => client.query(plain))
        return
      }
      if (!IN_USE.has(code) || tries === LOCK_TRIES) {
        throw new DatabaseError(`The migration ${name} failed: ${(cause as Error).message}`, { cause })
      }
    }
  }
}

async function record(client: pg.Client, migrations: readonly Migration[]): Promise<void> {
  for (const { name, checksum, breaking } of migrations) {
    await client.query('insert into schema_migration (name, checksum, breaking) values ($1, $2, $3)', [
      name,
      checksum,
      breaking,
    ])
  }
}
