import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { silentLog } from '@prepaint/runtime/log.ts'
import { SCHEMA } from '../../../bin/node/schema.ts'
import { type TestDatabase, testDatabase } from '../../../test/support/database.ts'
import { analyzeDivided, divideByDomain, readShape } from './domain-partitions.ts'
import { MIGRATIONS, migrate } from './migrate.ts'
import { transaction } from './transaction.ts'

const TABLES = SCHEMA.divided

/** As 0.2.0 starts with a database. */
function open020(t: TestContext, { connection }: TestDatabase): Promise<unknown> {
  const migrations = mkdtempSync(path.join(tmpdir(), 'migrations-'))
  t.after(() => rmSync(migrations, { recursive: true }))
  cpSync(path.join(MIGRATIONS, '0001-schema.sql'), path.join(migrations, '0001-schema.sql'))
  return migrate(connection, { ...SCHEMA, migrations }, silentLog())
}

/** A database of this version, whose tables of pages are whole or divided. */
async function made(t: TestContext, divided: readonly string[]): Promise<TestDatabase> {
  const database = await testDatabase({ empty: true })
  t.after(() => database.close())
  await migrate(database.connection, { ...SCHEMA, divided }, silentLog())
  return database
}

/** Columns, keys, checks, foreign keys and indexes, as PostgreSQL describes them. */
const shapeOf = ({ column }: TestDatabase) =>
  column<string>(
    `with ours as (select oid, relname from pg_class where oid = any ($1::regclass[]))
     select concat_ws(' ', relname, attnum, attname, format_type(atttypid, atttypmod), attcollation, attnotnull, attstorage,
                      attcompression, pg_get_expr(adbin, adrelid)) as text
       from ours join pg_attribute a on attrelid = ours.oid and attnum > 0
       left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     union all select concat_ws(' ', relname, conname, pg_get_constraintdef(k.oid))
       from ours join pg_constraint k on conrelid = ours.oid where conparentid = 0 and contype <> 'n'
     union all select replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON ') from ours join pg_index on indrelid = ours.oid
     order by 1`,
    TABLES,
  )

const optionsOf = ({ column }: TestDatabase, suffix: string) =>
  column<string>(
    `select concat_ws(' ', name, c.reloptions, t.reloptions) from unnest($1::text[]) name
       join pg_class c on c.oid = to_regclass(name || $2) left join pg_class t on t.oid = c.reltoastrelid order by 1`,
    TABLES,
    suffix,
  )

it('tables of pages have 16 partitions in a new database, and the same columns, keys, indexes and parameters as whole ones', async (t) => {
  const whole = await made(t, [])
  const divided = await made(t, TABLES)
  assert.ok((await shapeOf(whole)).length > 60)
  assert.deepEqual(await shapeOf(divided), await shapeOf(whole))
  const parameters = await optionsOf(whole, '')
  assert.match(
    parameters.join(),
    /page \{autovacuum_vacuum_scale_factor=0.02\} \{autovacuum_vacuum_scale_factor=0.02\}/,
  )
  for (const suffix of ['_0', '_15']) assert.deepEqual(await optionsOf(divided, suffix), parameters)
  const partitions = `select count(*)::integer from pg_inherits where inhparent = any ($1::regclass[]) group by inhparent`
  assert.deepEqual(await whole.column(partitions, TABLES), [])
  assert.deepEqual(
    await divided.column(partitions, TABLES),
    TABLES.map(() => 16),
  )
})

it('all pages of a domain are in one partition, and go with the domain and their forms', async (t) => {
  const { pool, column } = await made(t, TABLES)
  await pool.query(
    `insert into account (email, plan) values ('a@example.com', 'pro');
     insert into domain (account_id, custom_domain, origin_url) select 1, n || '.example', 'http://a' from generate_series(1, 40) n;
     insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select d.id, '/' || n, 200, '[]', '', 0, '', now() from domain d, generate_series(1, 3) n;
     insert into page_form select domain_id, path, variant, 'markdown', '', '', '', '{}' from page`,
  )
  const parts = await column<number>('select count(distinct tableoid)::integer from page group by domain_id')
  assert.deepEqual(new Set(parts), new Set([1]))
  assert.ok((await column<number>('select count(distinct tableoid)::integer from page'))[0]! > 8)
  await pool.query(`delete from page where domain_id = 1 and path = '/1'`)
  assert.deepEqual(await column('select count(*)::integer from page_form'), [119])
  await pool.query('delete from domain where id > 1')
  const left =
    'select (select count(*) from page)::integer as pages, (select count(*) from page_form)::integer as forms'
  assert.deepEqual((await pool.query(left)).rows, [{ pages: 2, forms: 2 }])
})

it('a table with rows is not divided, and one that is divided stays as it is', async (t) => {
  const database = await made(t, ['page'])
  const { pool } = database
  await pool.query(
    `insert into account (email, plan) values ('a@example.com', 'pro');
     insert into domain (account_id, custom_domain, origin_url) values (1, 'a.example', 'http://a');
     insert into last_render values (1, '/', 'rendered', now());
     insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       values (1, '/', 200, '[]', '', 0, '', now())`,
  )
  const divide = () => transaction(pool, (client) => divideByDomain(client, TABLES))
  await assert.rejects(divide(), { name: 'DatabaseError', message: /last_render has rows/ })
  assert.equal((await readShape(pool, TABLES))?.isDivided, false)
  await pool.query('delete from last_render')
  await divide()
  assert.equal((await readShape(pool, TABLES))?.isDivided, true)
  assert.deepEqual(await database.column('select path from page'), ['/'])
})

it('tables that are divided later have their triggers and functions again after the next start', async (t) => {
  const database = await made(t, [])
  const triggers = `select distinct tgname from pg_trigger where tgrelid = any ($1::regclass[]) and not tgisinternal order by 1`
  const before = await database.column(triggers, TABLES)
  assert.ok(before.includes('page_body_deleted'))
  await transaction(database.pool, (client) => divideByDomain(client, TABLES))
  await migrate(database.connection, SCHEMA, silentLog())
  assert.deepEqual(await database.column(triggers, TABLES), before)
})

for (const [what, divided] of [
  ['whole', []],
  ['divided', TABLES],
] as const) {
  it(`rows and bytes of ${what} tables are those of all their partitions`, async (t) => {
    const { pool } = await made(t, divided)
    await pool.query(
      `insert into account (email, plan) values ('a@example.com', 'pro');
       insert into domain (account_id, custom_domain, origin_url) select 1, n || '.example', 'http://a' from generate_series(1, 20) n;
       insert into last_render select id, '/' || n, 'rendered', now() from domain, generate_series(1, 50) n`,
    )
    await pool.query('vacuum analyze last_render')
    const shape = await readShape(pool, ['last_render', 'last_visit', 'not_there'])
    assert.equal(shape?.rows, 1_000)
    assert.ok(shape.bytes > 100_000)
    assert.equal(await readShape(pool, ['not_there']), null)
  })
}

it('divided tables are analyzed when they have grown by a thousand rows and a fifth, and whole ones are left to autovacuum', async (t) => {
  const { pool, column } = await made(t, TABLES)
  const fill = (from: number, until: number) =>
    pool.query(
      `insert into last_render select 1 + n % 20, '/' || n, 'rendered', now() from generate_series($1::integer, $2::integer) n`,
      [from, until],
    )
  await pool.query(
    `insert into account (email, plan) values ('a@example.com', 'pro');
     insert into domain (account_id, custom_domain, origin_url) select 1, n || '.example', 'http://a' from generate_series(1, 20) n`,
  )
  await fill(1, 1_000)
  await pool.query('vacuum last_render')
  assert.deepEqual(await analyzeDivided(pool, TABLES), [])
  await fill(1_001, 1_001)
  await pool.query('vacuum last_render')
  assert.deepEqual(await analyzeDivided(pool, TABLES), ['last_render'])
  assert.deepEqual(await analyzeDivided(pool, TABLES), [])
  const known = `select count(*)::integer from pg_stats where tablename = 'last_render' and inherited`
  assert.deepEqual(await column(known), [4])

  const whole = await made(t, [])
  await whole.pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
  await whole.pool.query(
    `insert into domain (account_id, custom_domain, origin_url) values (1, 'a', 'http://a')`,
  )
  await whole.pool.query(
    `insert into last_render select 1, '/' || n, 'rendered', now() from generate_series(1, 2000) n`,
  )
  await whole.pool.query('vacuum last_render')
  assert.deepEqual(await analyzeDivided(whole.pool, TABLES), [])
})

describe('0.2.0, which deletes by ctid', () => {
  const REFUSED =
    /made by a newer Prepaint: it has the migration 0181-divided-by-domain\.sql, which this version cannot work with/

  it('refuses a database whose tables are divided from the start', async (t) => {
    await assert.rejects(open020(t, await made(t, TABLES)), REFUSED)
  })

  it('refuses one whose tables were divided by a restore', async (t) => {
    const database = await testDatabase({ empty: true })
    t.after(() => database.close())
    await migrate(database.connection, SCHEMA, silentLog(), '0132-records-by-day.sql')
    await transaction(database.pool, (client) => divideByDomain(client, TABLES))
    await migrate(database.connection, SCHEMA, silentLog())
    await assert.rejects(open020(t, database), REFUSED)
  })

  it('opens an upgraded one, whose tables are whole, beside nodes of this version', async (t) => {
    await open020(t, await made(t, []))
  })

  it('ends where it runs with divided tables already', async (t) => {
    const { column } = await made(t, TABLES)
    // As 0.2.0 asks with each of its beats.
    const asked =
      'select name from schema_migration where breaking and name > $1 collate "C" order by name limit 1'
    assert.deepEqual(await column(asked, '0001-schema.sql'), ['0181-divided-by-domain.sql'])
  })
})
