import { it } from 'node:test'
import { createListener } from '@prepaint/postgres/listener.ts'
import { TaskRunner } from '@prepaint/postgres/tasks'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../test/support/condition.ts'
import { openTestDatabase } from '../../test/support/database.ts'
import { addTestDomain } from '../../test/support/traffic.ts'
import { Retention } from './retention.ts'

const OLD = {
  job: `insert into job (domain_id, account_id, path, priority, state, turn, finished_at)
    select id, account_id, '/', 2, 'done', 1, now() - interval '8 days' from domain`,
  job_ended: `insert into job_ended (id, domain_id, path, variant, is_both, priority, state, created_at, finished_at)
    select gen_random_uuid(), id, '/', 'desktop', false, 2, 'done', now() - interval '8 days', now() - interval '8 days' from domain`,
  render_record: `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record, ended_at)
    select id, '/', gen_random_uuid(), 'rendered', 1, 1, '{}', now() - interval '8 days' from domain`,
  page: `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
    select id, '/', 200, '[]', 'x', 1, '"e"', now() - interval '31 days' from domain`,
  webhook_window: `insert into webhook_window select id, now() - interval '3 hours', 1 from domain`,
  webhook_token: `insert into webhook_token (domain_id, name, token_hash, hint, revoked_at)
    select id, 'old', '\\x00', '', now() - interval '91 days' from domain`,
  rate: `insert into rate values ('192.0.2.1', 'sign-in address', '{}', now() - interval '1 hour')`,
  sign_in_failure: `insert into sign_in_failure values ('address 192.0.2.1', now() - interval '1 hour', 1)`,
}

// Proves decided "Retention"
it('every table is tidied, again and again, though one fails', async (t) => {
  const { pool, connection } = await openTestDatabase()
  await addTestDomain(pool, 'a.example')
  await pool.query('alter table unstored_page rename to elsewhere')
  const counts = Object.keys(OLD).map((table) => `(select count(*) from ${table})`)
  const isGone = async () =>
    (await pool.query<{ n: number }>(`select (${counts.join(' + ')})::int as n`)).rows[0]!.n === 0
  const listener = await createListener(connection, silentLog())
  const tasks = new TaskRunner(pool, listener, silentLog())
  tasks.add(new Retention(pool, systemClock, silentLog(), 50))
  tasks.start()
  t.after(async () => {
    await tasks.close()
    await listener.close()
  })
  for (const _round of [1, 2]) {
    for (const sql of Object.values(OLD)) await pool.query(sql)
    await until('all that is old is gone', isGone)
  }
})
