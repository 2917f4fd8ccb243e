import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts'
import { openFolder } from '../../../test/support/folder.ts'
import { migrate, readMigrations } from './migrate.ts'

const log = silentLog()
const directory = openFolder()

const put = (name: string, sql: string) => writeFileSync(path.join(directory, 'migrations', name), sql)
const putSchema = (sql: string) => writeFileSync(path.join(directory, 'schema.sql'), sql)
const remove = (name: string) => rmSync(path.join(directory, 'migrations', name))
let database: TestDatabase
const apply = () => migrate(database.connection, log, directory)

const tables = () =>
  database.column<string>(`select tablename from pg_tables where schemaname = 'public' order by 1`)

/** Every column, constraint, index, trigger, function and view, as PostgreSQL describes it. */
const catalogue = ({ column }: TestDatabase) =>
  column<string>(`
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

beforeEach(async () => {
  database = await testDatabase({ empty: true })
  rmSync(path.join(directory, 'migrations'), { recursive: true, force: true })
  mkdirSync(path.join(directory, 'migrations'))
  putSchema('create table one (n integer);')
  put('0002-second.sql', 'create table two (n integer); insert into two values (2);')
})
afterEach(() => database.close())

describe('migrate', () => {
  it('makes an empty database from the whole schema, and does nothing the second time', async () => {
    put('0001-schema.sql', 'create table one (n integer);')
    putSchema('create table whole (n integer);')
    assert.deepEqual(await apply(), ['0001-schema.sql', '0002-second.sql'])
    assert.deepEqual(await tables(), ['schema_migration', 'whole'])
    assert.deepEqual(await apply(), [])
  })

  it('the schema of this version is what its migrations make of the first release', async () => {
    await migrate(database.connection, log)
    const last = readMigrations().at(-1)!.name
    const upgraded = await testDatabase({ empty: true })
    await migrate(upgraded.connection, log, undefined, last)
    const whole = await catalogue(database)
    assert.ok(whole.length > 300)
    assert.deepEqual(await catalogue(upgraded), whole)
    await upgraded.close()
  })

  it('two nodes at once: one applies, the other waits and finds nothing to do', async () => {
    put('0003-slow.sql', 'select pg_sleep(0.2); create table three (n integer);')
    const applied = await Promise.all([1, 2, 3].map(() => apply()))
    assert.deepEqual(applied.map(({ length }) => length).sort(), [0, 0, 3])
    assert.deepEqual((await database.pool.query('select n from two')).rows, [{ n: 2 }])
  })

  it('a failing migration is undone whole, the ones before it stay, and it can be tried again', async () => {
    put('0003-bad.sql', 'create table three (n integer); select 1 / 0;')
    const message = /0003-bad\.sql failed and was undone: division by zero/
    await assert.rejects(apply(), { name: 'DatabaseError', message })
    assert.deepEqual(await tables(), ['one', 'schema_migration', 'two'])
    put('0003-bad.sql', 'create table three (n integer);')
    assert.deepEqual(await apply(), ['0003-bad.sql'])
  })

  it('applies in order what is new, and goes on with a database to which a newer Prepaint has only added', async () => {
    assert.deepEqual(await apply(), ['0001-schema.sql', '0002-second.sql'])
    put('0003-third.sql', 'create table three (n integer);')
    assert.deepEqual(await apply(), ['0003-third.sql'])
    assert.deepEqual(await tables(), ['one', 'schema_migration', 'three', 'two'])
    remove('0003-third.sql')
    assert.deepEqual(await apply(), [])
  })

  it('refuses a database that a newer Prepaint has broken for it, and one of another history', async () => {
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
    putSchema('create table one (n bigint);')
    await assert.rejects(apply(), /0001-schema\.sql is not the one/)
    put('0002-twice.sql', 'select 1')
    await assert.rejects(apply(), /no two with one number/)
  })
})

it('what belongs to a domain or a job goes with it; only events stay', async () => {
  const { column, close } = await testDatabase()
  const left = await column(
    `select conrelid::regclass || ', ' || confrelid::regclass as text from pg_constraint where contype = 'f' and confdeltype <> 'c'
     union all select c.relname || '.domain_id' from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'domain_id'
      where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
        and not exists (select from pg_constraint where contype = 'f' and conrelid = c.oid and a.attnum = any(conkey))
     order by 1`,
  )
  assert.deepEqual(left.sort(), ['delivery.domain_id', 'event.domain_id', 'queue_domain.domain_id'])
  await close()
})
