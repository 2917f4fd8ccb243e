import assert from 'node:assert/strict'
import { it } from 'node:test'
import { removeOldRecords } from '@prepaint/pages/queue/judging/render-records.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { databaseNow } from '@prepaint/postgres/transaction.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { SCHEMA } from '../../bin/node/schema.ts'
import { testDatabase } from '../support/database.ts'

const DAY_MS = 86_400_000

/** As nodes of 0.2.0 store a record. */
const INSERT = `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record, ended_at)
  select 1, '/' || n, gen_random_uuid(), 'rendered', 1, 1, '{}', now() - n * interval '1 day' from generate_series(0, 3) n
  returning id::integer`

/** What a server of another country may have set. */
const ELSEWHERE = `do $$ begin
  execute format('alter database %I set timezone = ''America/New_York''', current_database());
  execute format('alter database %I set datestyle = ''SQL, DMY''', current_database());
end $$`

it('records of renders that 0.2.0 stored become a partition without being copied, and are dropped after a week', async (t) => {
  const database = await testDatabase({ empty: true })
  t.after(() => database.close())
  const { pool, column, connection } = database
  await pool.query(ELSEWHERE)
  await migrate(connection, SCHEMA, silentLog(), '0001-schema.sql')
  await pool.query(
    `insert into account (email, plan) values ('a@example.com', 'pro');
     insert into domain (account_id, custom_domain, origin_url) values (1, 'a.example', 'http://a')`,
  )
  assert.deepEqual(await column(INSERT), [1, 2, 3, 4])
  const [file] = await column('select relfilenode from pg_class where oid = $1::regclass', 'render_record')
  await migrate(connection, SCHEMA, silentLog())

  const partition = `select relname from pg_class where relfilenode = $1`
  const [before] = await column<string>(partition, file)
  assert.match(before!, /^render_record_before_\d{8}$/)
  const indexes = `select count(*)::integer from pg_inherits where inhrelid in (
    select indexrelid from pg_index where indrelid = $1::regclass)`
  assert.deepEqual(await column(indexes, before), [3], 'its indexes were taken over')
  assert.deepEqual(await column(INSERT), [5, 6, 7, 8])
  assert.deepEqual(await column('select count(*)::integer from render_record'), [8])

  const nowMs = (await databaseNow(pool)).getTime()
  await removeOldRecords(pool, nowMs)
  assert.deepEqual(await column('select count(*)::integer from render_record'), [8])
  // The last day of the partition is tomorrow.
  await removeOldRecords(pool, nowMs + 8 * DAY_MS)
  assert.deepEqual(await column(partition, file), [before])
  await removeOldRecords(pool, nowMs + 9 * DAY_MS)
  assert.deepEqual(await column(partition, file), [])
  await pool.query('delete from domain')
})
