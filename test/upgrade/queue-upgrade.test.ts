import assert from 'node:assert/strict'
import { it } from 'node:test'
import { removeOldJobs } from '@prepaint/pages/queue/jobs/ended-jobs.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { databaseNow } from '@prepaint/postgres/transaction.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { SCHEMA } from '../../bin/node/schema.ts'
import { testDatabase } from '../support/database.ts'

/** The queue of a database that 0.2.0 made: three domains, of which the first has more running renders than its cap. */
const QUEUE_OF_0_2_0 = `
  insert into account (email, plan) select n || '@example.com', 'enterprise' from generate_series(1, 3) n;
  insert into domain (account_id, custom_domain, origin_url) select id, 'd' || id || '.example', 'https://origin.example' from account;
  insert into job (domain_id, account_id, path, priority, turn, state, node, lease_until)
    select id, account_id, '/running' || n, 0, n, 'running', 'older', now() + interval '1 hour'
      from domain, generate_series(1, 3) n where domain.id < 3;
  insert into job (domain_id, account_id, path, priority, turn)
    select id, account_id, '/waiting' || n, 2, n from domain, generate_series(1, 5) n;
  insert into job (domain_id, account_id, path, priority, turn, state, finished_at)
    select id, account_id, '/ended', 2, 9, 'done', now() from domain;`

const WAITING = 'select domain_id, sum(waiting)::integer as waiting from queue_waiting group by 1 order by 1'
const RUNNING = 'select domain_id, running from queue_running where running <> 0 order by 1'
/** The statement of 0.2.0. */
const CLAIM = `select claimed.domain_id, claimed.path, details.variant
  from claim_jobs('older', 10, 10, '{}', 10, 4, 3, interval '1 minute', '2026-01-01', '{}', 0) as claimed
  left join lateral claim_details(claimed.domain_id, claimed.job_id) as details on true`

it('jobs that wait and run during an upgrade are counted, and nodes of 0.2.0 claim and end them beside this version, and those that have ended are moved', async (t) => {
  const database = await testDatabase({ empty: true })
  t.after(() => database.close())
  const { pool } = database
  await migrate(database.connection, SCHEMA, silentLog(), '0001-schema.sql')
  await pool.query(QUEUE_OF_0_2_0)
  await migrate(database.connection, SCHEMA, silentLog())

  assert.deepEqual(
    (await pool.query(WAITING)).rows,
    [1, 2, 3].map((domain_id) => ({ domain_id, waiting: 5 })),
  )
  assert.deepEqual(
    (await pool.query(RUNNING)).rows,
    [1, 2].map((domain_id) => ({ domain_id, running: 3 })),
  )

  const { rows: claimed } = await pool.query<{ domain_id: number; variant: string }>(CLAIM)
  assert.deepEqual(
    claimed.map(({ domain_id }) => domain_id),
    [3, 3, 3],
    'the others are at their caps',
  )
  assert.equal(claimed[0]!.variant, 'desktop')
  await pool.query(
    `update job set state = 'queued', node = null, lease_until = null where node = 'older' and domain_id = 1`,
  )
  assert.deepEqual(
    (await pool.query(RUNNING)).rows,
    [2, 3].map((domain_id) => ({ domain_id, running: 3 })),
  )
  assert.deepEqual(
    (await pool.query(WAITING)).rows.map(({ waiting }) => waiting),
    [8, 5, 2],
  )
  assert.deepEqual(await database.column(`select correct_queue_counts(null)`), [0])

  const all = 'select path from every_job order by id'
  const before = await database.column(all)
  assert.equal(await removeOldJobs(pool, (await databaseNow(pool)).getTime(), { step: 2 }), 0)
  assert.deepEqual(await database.column(all), before)
  assert.deepEqual(await database.column(`select path from job where finished_at is not null`), [])
  const partitions = await database.column<string>('select tableoid::regclass::text from job_ended')
  assert.equal(partitions.length, 3)
  for (const partition of partitions) assert.match(partition, /^job_ended_before_\d{8}$/)
})
