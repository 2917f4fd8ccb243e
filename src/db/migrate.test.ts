import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, beforeEach, describe, it } from 'node:test'
import { until } from '../../test/support/condition.ts'
import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { silentLog } from '../log.ts'
import { DatabaseError, withClient } from './connection.ts'
import { migrate, readMigrations } from './migrate.ts'

const log = silentLog()
const directory = mkdtempSync(path.join(tmpdir(), 'prepaint-migrations-'))
after(() => rmSync(directory, { recursive: true }))

const put = (name: string, sql: string) => writeFileSync(path.join(directory, 'migrations', name), sql)
const putSchema = (sql: string) => writeFileSync(path.join(directory, 'schema.sql'), sql)
const remove = (name: string) => rmSync(path.join(directory, 'migrations', name))
let database: TestDatabase

async function withDatabase(work: () => Promise<void>): Promise<void> {
  database = await testDatabase({ empty: true })
  try {
    await work()
  } finally {
    await database.close()
  }
}

const tables = async (): Promise<string[]> => {
  const { rows } = await database.pool.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = 'public' order by 1`,
  )
  return rows.map(({ name }) => name)
}

/** Every column, constraint, index, trigger, function and view, as PostgreSQL describes it. */
const catalogue = async (): Promise<string[]> => {
  const { rows } = await database.pool.query<{ text: string }>(`
    with ours as (select c.oid, c.relname, c.relkind, c.reloptions, c.relpersistence from pg_class c
                   where c.relnamespace = 'public'::regnamespace and c.relname !~ '^schema_migration')
    select concat_ws(' ', relname, relkind, relpersistence, reloptions) as text from ours
    union all select concat_ws(' ', relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
                               pg_get_expr(adbin, adrelid))
      from ours join pg_attribute a on attrelid = ours.oid and attnum > 0 and not attisdropped
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    union all select concat_ws(' ', relname, conname, pg_get_constraintdef(k.oid)) from ours join pg_constraint k on conrelid = ours.oid
    union all select pg_get_indexdef(oid) from ours where relkind = 'i'
    union all select pg_get_triggerdef(t.oid) from ours join pg_trigger t on tgrelid = ours.oid where not tgisinternal
    union all select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
    union all select relname || ' ' || pg_get_viewdef(oid) from ours where relkind in ('v', 'm')
    union all select concat_ws(' ', typname, enumlabel) from pg_enum e join pg_type t on t.oid = enumtypid order by 1`)
  return rows.map(({ text }) => text)
}

/** The catalogue of an empty database that this directory fills at once, or migration by migration. */
const made = async (from: string, last: string | null): Promise<string[]> => {
  let seen: string[] = []
  const before = database
  await withDatabase(async () => {
    await migrate(database.connection, log, from, last)
    seen = await catalogue()
  })
  database = before
  return seen
}
const created = (from: string) => made(from, null)
const upgraded = (from: string) => made(from, readMigrations(from).at(-1)!.name)

beforeEach(() => {
  rmSync(path.join(directory, 'migrations'), { recursive: true, force: true })
  mkdirSync(path.join(directory, 'migrations'))
  putSchema('create table one (n integer);')
  put('0002-second.sql', 'create table two (n integer); insert into two values (2);')
})

describe('migrate', () => {
  it('makes the schema in an empty database, and finds nothing to do the second time', () =>
    withDatabase(async () => {
      const applied = await migrate(database.connection, log)
      assert.equal(applied[0], '0001-schema.sql')
      assert((await tables()).includes('page'))
      assert.deepEqual(await migrate(database.connection, log), [])
    }))

  it('applies in order what is new, and only that', () =>
    withDatabase(async () => {
      assert.deepEqual(await migrate(database.connection, log, directory), [
        '0001-schema.sql',
        '0002-second.sql',
      ])
      put('0003-third.sql', 'create table three (n integer);')
      assert.deepEqual(await migrate(database.connection, log, directory), ['0003-third.sql'])
      assert.deepEqual(await tables(), ['one', 'schema_migration', 'three', 'two'])
    }))

  it('makes an empty database from the whole schema, with the same tables as an upgrade makes', () =>
    withDatabase(async () => {
      put('0001-schema.sql', 'create table one (n integer);')
      put('0002-second.sql', 'alter table one add m text not null default 1; create index on one (m);')
      putSchema('create table one (n integer, m text not null default 1); create index on one (m);')
      const names = ['0001-schema.sql', '0002-second.sql']
      assert.deepEqual(await migrate(database.connection, log, directory), names)
      assert.deepEqual(await migrate(database.connection, log, directory), [])
      assert.deepEqual(await catalogue(), await upgraded(directory))
      putSchema('create table one (n integer, m text not null default 1);')
      assert.notDeepEqual(await created(directory), await upgraded(directory))
    }))

  it('the schema of this version is what its migrations make of the first release', async () => {
    const real = import.meta.dirname
    const whole = await created(real)
    assert.ok(whole.length > 300)
    assert.deepEqual(whole, await upgraded(real))
  })

  it('two nodes at once: one applies, the other waits and finds nothing to do', () =>
    withDatabase(async () => {
      put('0003-slow.sql', 'select pg_sleep(0.2); create table three (n integer);')
      const applied = await Promise.all([1, 2, 3].map(() => migrate(database.connection, log, directory)))
      assert.deepEqual(applied.map(({ length }) => length).sort(), [0, 0, 3])
      assert.deepEqual((await database.pool.query('select n from two')).rows, [{ n: 2 }])
    }))

  it('a failing migration is undone whole, the ones before it stay, and it can be tried again', () =>
    withDatabase(async () => {
      put('0003-bad.sql', 'create table three (n integer); select 1 / 0;')
      await assert.rejects(migrate(database.connection, log, directory), (error) => {
        assert(error instanceof DatabaseError)
        assert.match(error.message, /0003-bad\.sql failed and was undone: division by zero/)
        return true
      })
      assert.deepEqual(await tables(), ['one', 'schema_migration', 'two'])
      put('0003-bad.sql', 'create table three (n integer);')
      assert.deepEqual(await migrate(database.connection, log, directory), ['0003-bad.sql'])
    }))

  it('a node that is killed while it migrates leaves no half step', () =>
    withDatabase(async () => {
      put('0003-slow.sql', 'create table three (n integer); select pg_sleep(30);')
      const migrating = migrate(database.connection, log, directory)
      const failed = assert.rejects(migrating)
      await withClient(database.connection, async (client) => {
        await until('it was in the middle, and is killed', async () => {
          const { rowCount } = await client.query(
            `select pg_terminate_backend(pid) from pg_stat_activity
              where datname = current_database() and query like '%pg_sleep(30)%' and pid <> pg_backend_pid()`,
          )
          return rowCount !== 0
        })
      })
      await failed
      assert.deepEqual(await tables(), ['one', 'schema_migration', 'two'])
      put('0003-slow.sql', 'create table three (n integer);')
      assert.deepEqual(await migrate(database.connection, log, directory), ['0003-slow.sql'])
    }))

  it('goes on with a database to which a newer Prepaint has only added, and applies nothing', () =>
    withDatabase(async () => {
      put('0003-third.sql', 'create table three (n integer);')
      await migrate(database.connection, log, directory)
      remove('0003-third.sql')
      assert.deepEqual(await migrate(database.connection, log, directory), [])
    }))

  it('refuses a database that a newer Prepaint has broken for it, and one of another history', () =>
    withDatabase(async () => {
      put('0003-third.sql', '-- breaking: one is gone\ndrop table one;')
      put('0004-fourth.sql', 'create table four (n integer);')
      await migrate(database.connection, log, directory)
      remove('0003-third.sql')
      await assert.rejects(
        migrate(database.connection, log, directory),
        /made by a newer Prepaint: it has the migration 0003-third\.sql, which .* knows 0004-fourth\.sql/,
      )
      remove('0004-fourth.sql')
      await assert.rejects(
        migrate(database.connection, log, directory),
        /0003-third\.sql, which this version cannot work with \(it knows 0002-second\.sql as its last\)/,
      )
    }))

  // Proves decided "Rolling upgrade"
  it('applies what breaks older nodes only when none of them runs', () =>
    withDatabase(async () => {
      put('0002-second.sql', 'create table node (id text, schema text, seen_at timestamptz);')
      await migrate(database.connection, log, directory)
      await database.pool.query(
        `insert into node values ('old:1', '0002-second.sql', clock_timestamp()), ('new:1', '0003-third.sql', now()),
                                 ('dead:1', '0001-schema.sql', now() - interval '16 seconds')`,
      )
      put('0003-third.sql', '-- breaking: one is gone\ndrop table one;')
      await assert.rejects(
        migrate(database.connection, log, directory),
        /0003-third\.sql cannot be applied while older nodes run: stop old:1 first\./,
      )
      await database.pool.query(`delete from node where id = 'old:1'`)
      assert.deepEqual(await migrate(database.connection, log, directory), ['0003-third.sql'])
    }))

  it('a migration that waits for a table lets those go first who came after it', () =>
    withDatabase(async () => {
      await migrate(database.connection, log, directory)
      put('0003-third.sql', 'alter table two add column m integer;')
      await withClient(database.connection, async (client) => {
        await client.query('begin')
        await client.query('select n from two')
        const migrating = migrate(database.connection, log, directory)
        const startedMs = performance.now()
        // One that reads after the migration has begun to wait: behind it, it would wait until we end.
        await until('it waits', async () => {
          const { rowCount } = await database.pool.query(
            `select from pg_locks where not granted and relation = 'two'::regclass`,
          )
          return rowCount !== 0
        })
        assert.deepEqual((await database.pool.query('select n from two')).rows, [{ n: 2 }])
        assert.ok(performance.now() - startedMs < 20_000)
        await client.query('commit')
        assert.deepEqual(await migrating, ['0003-third.sql'])
      })
    }))

  it('refuses when a file that was applied has been changed', () =>
    withDatabase(async () => {
      await migrate(database.connection, log, directory)
      putSchema('create table one (n bigint);')
      await assert.rejects(migrate(database.connection, log, directory), /0001-schema\.sql is not the one/)
    }))

  it('refuses files whose numbers repeat, and one whose turn is over; a number may be left out', () =>
    withDatabase(async () => {
      put('0004-after-a-gap.sql', 'create table four (n integer)')
      const applied = await migrate(database.connection, log, directory)
      assert.equal(applied.at(-1), '0004-after-a-gap.sql')
      put('0003-late.sql', 'select 1')
      await assert.rejects(migrate(database.connection, log, directory), /0003-late\.sql came after 0004/)
      remove('0003-late.sql')
      put('0002-twice.sql', 'select 1')
      await assert.rejects(migrate(database.connection, log, directory), /no two with one number/)
    }))

  it('refuses the database of a development version from before the first release', () =>
    withDatabase(async () => {
      await migrate(database.connection, log, directory)
      await database.pool.query(
        `update schema_migration set name = '0001-first.sql' where name = '0001-schema.sql'`,
      )
      await assert.rejects(
        migrate(database.connection, log, directory),
        /from before the first release, which cannot be upgraded\. Use an empty database/,
      )
    }))

  it('tells a user who may not create tables what he lacks', () =>
    withDatabase(async () => {
      const role = `weak_${process.pid}`
      await database.pool.query(`create role ${role} login`)
      await assert.rejects(
        migrate({ ...database.connection, user: role }, log, directory),
        /The tables cannot be made: permission denied for schema public.* needs to own the database/,
      )
      await database.pool.query(`drop role ${role}`)
    }))
})
