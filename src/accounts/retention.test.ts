import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'

import { type TestDatabase, testDatabase } from '../../test/support/database.ts'
import { removeOldCounts } from './retention.ts'

let database: TestDatabase
before(async () => {
  database = await testDatabase()
  await database.pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
  await database.pool.query(
    `insert into domain (account_id, custom_domain, origin_url)
     select a.id, n || '.example', 'http://origin.example' from account a, unnest(array['one', 'two']) n`,
  )
})
after(() => database.close())

// Proves decided "Retention"
it('months stay for a year beside the one that runs', async () => {
  await database.pool.query(
    `insert into render_count (domain_id, month, renders)
     select d.id, (date_trunc('month', now() at time zone 'UTC') - make_interval(months => ago))::date, ago
       from domain d, generate_series(0, 14) ago`,
  )
  assert.equal(await removeOldCounts(database.pool, { step: 1 }), 4)
  const { rows } = await database.pool.query<{ oldest: number; months: number }>(
    'select max(renders) as oldest, count(*)::int as months from render_count',
  )
  assert.deepEqual(rows, [{ oldest: 12, months: 26 }])
})

it('windows of webhooks go an hour after their end', async () => {
  await database.pool.query(
    `insert into webhook_window select id, now() - make_interval(mins => 119 + 2 * (id - (select min(id) from domain))::int), 1
       from domain`,
  )
  assert.equal(await removeOldCounts(database.pool), 1)
  const { rows } = await database.pool.query(
    'select custom_domain from webhook_window join domain on id = domain_id',
  )
  assert.deepEqual(rows, [{ custom_domain: 'one.example' }])
})
