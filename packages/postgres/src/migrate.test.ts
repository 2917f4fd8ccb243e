import assert from 'node:assert/strict'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { silentLog } from '@prepaint/runtime/log.ts'
import { SCHEMA } from '../../../bin/node/schema.ts'
import { type TestDatabase, testDatabase, waitingForLocks } from '../../../test/support/database.ts'
import { openFolder } from '../../../test/support/folder.ts'
import { checksumOf, migrate, readMigrations, type Schema } from './migrate.ts'

const log = silentLog()
const migrations = openFolder()
const elsewhere = openFolder()

const put = (name: string, sql: string) => writeFileSync(path.join(migrations, name), sql)
const remove = (name: string) => rmSync(path.join(migrations, name))

function putElsewhere(name: string, sql: string): string {
  const file = path.join(elsewhere, name)
  writeFileSync(file, sql)
  return file
}

/** A version whose function `answer` returns `answer`. */
function versionWith({ tables = '', answer = 1, number = 1 } = {}): Schema {
  const returns = `create or replace function answer() returns integer language sql as $$ select ${answer} $$;`
  const files = [putElsewhere(`functions-${number}-${answer}.sql`, returns)]
  return {
    tables: [putElsewhere('tables.sql', tables)],
    divided: [],
    functions: { files, number, checksum: checksumOf(files) },
    migrations,
  }
}

let database: TestDatabase
const apply = (schema = versionWith()) => migrate(database.connection, schema, log)
/** The database of the first release, without functions. */
const applyFirst = () => migrate(database.connection, versionWith(), log, '0001-schema.sql')

const tables = () =>
  database.column<string>(`select tablename from pg_tables where schemaname = 'public' order by 1`)

/** Every column, constraint, index, trigger, function and view, as PostgreSQL describes it. Partitions are those of their day. */
const catalogue = ({ column }: TestDatabase) =>
  column<string>(`
    with ours as (select c.oid, c.relname, c.relkind, c.reloptions, c.relpersistence from pg_class c
                   where c.relnamespace = 'public'::regnamespace and c.relname !~ '^schema_(migration|functions)'
                     and not c.relispartition
                     and not exists (select from pg_index i join pg_class t on t.oid = i.indrelid
                                      where i.indexrelid = c.oid and t.relispartition))
    select concat_ws(' ', relname, relkind, relpersistence, reloptions) as text from ours
    union all select concat_ws(' ', relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
                               pg_get_expr(adbin, adrelid))
      from ours join pg_attribute a on attrelid = ours.oid and attnum > 0 and not attisdropped
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    union all select concat_ws(' ', relname, conname, pg_get_constraintdef(k.oid)) from ours join pg_constraint k on conrelid = ours.oid and contype <> 'n'
    union all select pg_get_indexdef(oid) from ours where relkind = 'i'
    union all select pg_get_triggerdef(t.oid) from ours join pg_trigger t on tgrelid = ours.oid where not tgisinternal
    union all select pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace
    union all select relname || ' ' || pg_get_viewdef(oid) from ours where relkind in ('v', 'm')
    union all select concat_ws(' ', typname, enumlabel) from pg_enum e join pg_type t on t.oid = enumtypid order by 1`)

beforeEach(async () => {
  database = await testDatabase({ empty: true })
  for (const name of readdirSync(migrations)) remove(name)
  put('0001-schema.sql', 'create table one (n integer);')
  put('0002-second.sql', 'create table two (n integer); insert into two values (2);')
})
afterEach(() => database.close())

describe('migrate', () => {
  it('makes an empty database from the tables of this version, and does nothing the second time', async () => {
    const version = versionWith({ tables: 'create table whole (n integer);' })
    assert.deepEqual(await apply(version), ['0001-schema.sql', '0002-second.sql'])
    assert.deepEqual(await tables(), ['schema_functions', 'schema_migration', 'whole'])
    assert.deepEqual(await apply(version), [])
  })

  it('the schema of this version is what its migrations make of the first release', async () => {
    await migrate(database.connection, { ...SCHEMA, divided: [] }, log)
    const last = readMigrations().at(-1)!.name
    const upgraded = await testDatabase({ empty: true })
    await migrate(upgraded.connection, SCHEMA, log, last)
    await migrate(upgraded.connection, SCHEMA, log)
    const whole = await catalogue(database)
    assert.ok(whole.length > 300)
    assert.deepEqual(await catalogue(upgraded), whole)
    await upgraded.close()
  })

  it('three nodes at an empty database: one creates the tables, the others wait and find nothing to do', async () => {
    const version = versionWith({ tables: 'select pg_sleep(0.2); create table three (n integer);' })
    const applied = await Promise.all([1, 2, 3].map(() => apply(version)))
    assert.deepEqual(applied.map(({ length }) => length).sort(), [0, 0, 2])
  })

  it('three nodes at an older database: one applies, the others wait and find nothing to do', async () => {
    await applyFirst()
    put('0003-slow.sql', 'select pg_sleep(0.2); create table three (n integer);')
    const applied = await Promise.all([1, 2, 3].map(() => apply()))
    assert.deepEqual(applied.map(({ length }) => length).sort(), [0, 0, 2])
    assert.deepEqual((await database.pool.query('select n from two')).rows, [{ n: 2 }])
  })

  it('a failing migration is undone whole, the ones before it stay, and it can be tried again', async () => {
    await applyFirst()
    put('0003-bad.sql', 'create table three (n integer); select 1 / 0;')
    const message = /The migration 0003-bad\.sql failed and was undone: division by zero/
    await assert.rejects(apply(), { name: 'DatabaseError', message })
    assert.deepEqual(await tables(), ['one', 'schema_functions', 'schema_migration', 'two'])
    put('0003-bad.sql', 'create table three (n integer);')
    assert.deepEqual(await apply(), ['0003-bad.sql'])
  })

  it('tables that cannot be created leave nothing, and can be tried again', async () => {
    const broken = versionWith({ tables: 'create table three (n integer); select 1 / 0;' })
    await assert.rejects(apply(broken), { name: 'DatabaseError', message: /division by zero/ })
    assert.deepEqual(await tables(), ['schema_functions', 'schema_migration'])
    await apply(versionWith({ tables: 'create table three (n integer);' }))
    assert.deepEqual(await tables(), ['schema_functions', 'schema_migration', 'three'])
  })

  it('applies in order what is new, and goes on with a database to which a newer Prepaint has only added', async () => {
    assert.deepEqual(await applyFirst(), ['0001-schema.sql'])
    assert.deepEqual(await apply(), ['0002-second.sql'])
    put('0003-third.sql', 'create table three (n integer);')
    assert.deepEqual(await apply(), ['0003-third.sql'])
    assert.deepEqual(await tables(), ['one', 'schema_functions', 'schema_migration', 'three', 'two'])
    remove('0003-third.sql')
    assert.deepEqual(await apply(), [])
  })

  describe('a migration that makes an index concurrently', () => {
    const index = `-- concurrently: the table is in use
      drop index concurrently if exists one_n;
      create index concurrently one_n on one (n);`
    const isValid = `select indisvalid from pg_index where indexrelid = 'one_n'::regclass`

    it('lets rows be written while it waits for older transactions, also beside a node that waits for its turn', async () => {
      await applyFirst()
      put('0003-index.sql', index)
      const user = await database.pool.connect()
      await user.query('begin; insert into one values (1)')
      const applying = Promise.all([apply(), apply()])
      const phases = `select phase from pg_stat_progress_create_index where datname = current_database()`
      while (!(await database.column<string>(phases)).some((phase) => phase.startsWith('waiting')))
        await sleep(5)
      await database.pool.query('insert into one values (2)')
      await user.query('commit')
      user.release()
      const applied = await applying
      assert.deepEqual(applied.flat().sort(), ['0002-second.sql', '0003-index.sql'])
      assert.deepEqual(await database.column(isValid), [true])
    })

    it('makes it anew if an earlier run has left a part of it', async () => {
      await applyFirst()
      put('0003-index.sql', index)
      await database.pool.query(
        `insert into one values (1); create index one_n on one (n) where n = 2;
         update pg_index set indisvalid = false where indexrelid = 'one_n'::regclass`,
      )
      await apply()
      assert.deepEqual(await database.column(isValid), [true])
    })

    it('makes it in one transaction where the table has partitions', async () => {
      put('0001-schema.sql', 'create table one (n integer) partition by hash (n);')
      await applyFirst()
      put('0003-index.sql', index)
      assert.deepEqual(await apply(), ['0002-second.sql', '0003-index.sql'])
      assert.deepEqual(await database.column(isValid), [true])
    })
  })

  it('indexes of tables of pages are made concurrently', () => {
    const locking = readMigrations().filter(
      ({ name, sql, concurrently }) =>
        name > '0139' &&
        !concurrently &&
        /create (unique )?index \S+ on (page|page_form|page_fact|known_path|last_visit|last_render|job)\b/.test(
          sql,
        ),
    )
    assert.deepEqual(locking, [])
  })

  it('refuses a database that a newer Prepaint has broken for it, and one of another history', async () => {
    await applyFirst()
    put('0003-third.sql', '-- breaking: one is gone\ndrop table one;')
    put('0004-fourth.sql', 'create table four (n integer);')
    await apply()
    remove('0003-third.sql')
    await assert.rejects(apply(), /a newer Prepaint: .* 0003-third\.sql, which .* knows 0004-fourth\.sql/)
    remove('0004-fourth.sql')
    await assert.rejects(
      apply(),
      /0003-third\.sql, which .* work with \(it knows 0002-second\.sql as its last\)/,
    )
  })

  // Proves decided "Rolling upgrade"
  it('applies what breaks older nodes only when none of them runs', async () => {
    await applyFirst()
    put('0002-second.sql', 'create table node (id text, schema text, seen_at timestamptz);')
    await apply()
    await database.pool.query(
      `insert into node values ('old:1', '0002-second.sql', clock_timestamp()), ('new:1', '0003-third.sql', now()),
                               ('dead:1', '0001-schema.sql', now() - interval '16 seconds')`,
    )
    put('0003-third.sql', '-- breaking: one is gone\ndrop table one;')
    await assert.rejects(apply(), /0003-third\.sql cannot be applied .*: stop old:1 first\./)
    await database.pool.query(`delete from node where id = 'old:1'`)
    assert.deepEqual(await apply(), ['0003-third.sql'])
  })

  it('refuses files whose numbers repeat, one whose turn is over, and one that was changed since', async () => {
    put('0004-after-a-gap.sql', 'create table four (n integer)')
    assert.equal((await apply()).at(-1), '0004-after-a-gap.sql')
    put('0003-late.sql', 'select 1')
    await assert.rejects(apply(), /0003-late\.sql came after 0004/)
    remove('0003-late.sql')
    put('0001-schema.sql', 'create table one (n bigint);')
    await assert.rejects(apply(), /0001-schema\.sql is not the one/)
    put('0002-twice.sql', 'select 1')
    await assert.rejects(apply(), /no two with one number/)
  })
})

describe('the function set', () => {
  const answer = async () => (await database.column<number>('select answer()'))[0]
  const appliedNumber = () => database.column<number>('select number from schema_functions')

  it('functions of a new database are applied after its tables', async () => {
    const version = versionWith({ tables: 'create table three (n integer);', answer: 7 })
    writeFileSync(
      version.functions.files[0]!,
      'create or replace function answer() returns integer language sql as $$ select 7 + count(*)::integer from three $$;',
    )
    await apply(version)
    assert.equal(await answer(), 7)
  })

  it('functions of an older database are applied after its migrations', async () => {
    await applyFirst()
    const version = versionWith()
    writeFileSync(
      version.functions.files[0]!,
      'create or replace function answer() returns integer language sql as $$ select n from two $$;',
    )
    await apply(version)
    assert.equal(await answer(), 2)
  })

  it('functions of a newer version replace older ones, and an older node that starts later puts nothing back', async () => {
    const older = versionWith({ answer: 1, number: 3 })
    const newer = versionWith({ answer: 2, number: 4 })
    await apply(older)
    assert.equal(await answer(), 1)
    await apply(newer)
    assert.equal(await answer(), 2)
    await apply(older)
    assert.equal(await answer(), 2)
    assert.deepEqual(await appliedNumber(), [4])
  })

  it('functions are applied once by three nodes that start at once', async () => {
    await apply(versionWith({ number: 1 }))
    const newer = versionWith({ answer: 2, number: 2 })
    const counting = `create table if not exists times (n integer); insert into times values (1);`
    newer.functions.files = [...newer.functions.files, putElsewhere('counting.sql', counting)]
    await Promise.all([1, 2, 3].map(() => apply(newer)))
    assert.equal(await answer(), 2)
    assert.deepEqual(await database.column('select n from times'), [1])
  })

  it('functions are refused if their number stands for other functions in the database', async () => {
    await apply(versionWith({ answer: 1, number: 5 }))
    await assert.rejects(apply(versionWith({ answer: 2, number: 5 })), {
      name: 'DatabaseError',
      message: /the number 5, .* A change of functions needs a higher number/,
    })
    assert.equal(await answer(), 1)
  })

  it('functions that fail are undone whole, and can be tried again', async () => {
    await apply(versionWith({ answer: 1, number: 1 }))
    const broken = versionWith({ answer: 2, number: 2 })
    const failing = putElsewhere('failing.sql', 'select 1 / 0;')
    broken.functions.files = [...broken.functions.files, failing]
    await assert.rejects(apply(broken), { message: /The function set 2 failed and was undone: division/ })
    assert.equal(await answer(), 1)
    assert.deepEqual(await appliedNumber(), [1])
    await apply(versionWith({ answer: 2, number: 2 }))
    assert.equal(await answer(), 2)
  })

  it('functions are left out while an older backup is restored', async () => {
    await applyFirst()
    assert.deepEqual(await appliedNumber(), [])
    assert.deepEqual(await database.column(`select proname from pg_proc where proname = 'answer'`), [])
  })

  it('functions wait for a table that is in use', async () => {
    await applyFirst()
    await apply()
    const trigger = `create or replace function nothing() returns trigger language plpgsql as 'begin return null; end';
      create or replace trigger counts after insert on one for each row execute function nothing();`
    const version = versionWith({ number: 2 })
    version.functions.files = [putElsewhere('trigger.sql', trigger)]
    const user = await database.pool.connect()
    await user.query('begin')
    await user.query('insert into one values (1)')
    const applying = apply(version)
    while ((await waitingForLocks(database.pool)) === 0) await sleep(5)
    await user.query('commit')
    user.release()
    await applying
    assert.deepEqual(await appliedNumber(), [2])
  })
})

it('what belongs to a domain or a job goes with it; only events, sessions, the hashes of site tokens and of former names, and counts that wait for minutes stay', async () => {
  const { column, close } = await testDatabase()
  const left = await column(
    `select conrelid::regclass || ', ' || confrelid::regclass as text from pg_constraint where contype = 'f' and confdeltype <> 'c'
     union all select c.relname || '.domain_id' from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'domain_id'
      where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace
        and not exists (select from pg_constraint where contype = 'f' and conrelid = c.oid and a.attnum = any(conkey))
     order by 1`,
  )
  const stays = [
    'delivery.domain_id',
    'domain_former, account',
    'event.domain_id',
    'queue_domain.domain_id',
    'queue_running.domain_id',
    'queue_waiting.domain_id',
  ]
  assert.deepEqual(left.sort(), [
    ...stays,
    'session, account',
    'site_token, account',
    'site_token, domain',
    'traffic_minute.domain_id',
  ])
  await close()
})
