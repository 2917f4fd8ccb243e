import assert from 'node:assert/strict'
import { it } from 'node:test'

import { systemClock } from '../../src/clock.ts'
import { silentLog } from '../../src/log.ts'
import { until } from '../../test/support/condition.ts'
import { testDatabase } from '../../test/support/database.ts'
import { startRetention } from './retention.ts'

// Proves decided "Retention"
it('every table is tidied at the start and again after a while; one that fails holds none of the others up', async () => {
  const database = await testDatabase()
  const { pool } = database
  const addOld = async () => {
    await pool.query(
      `insert into job (domain_id, account_id, path, priority, state, turn, finished_at)
       select id, account_id, '/', 2, 'done', 1, now() - interval '8 days' from domain`,
    )
    await pool.query(
      `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record, ended_at)
       select id, '/', gen_random_uuid(), 'rendered', 1, 1, '{}', now() - interval '8 days' from domain`,
    )
    await pool.query(
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select id, '/', 200, '[]', '\\x00', 1, '"e"', now() - interval '31 days' from domain`,
    )
    await pool.query(
      `insert into webhook_window select id, now() - interval '3 hours', 1 from domain on conflict do nothing`,
    )
    await pool.query(
      `insert into webhook_token (domain_id, name, token_hash, hint, revoked_at)
       select id, 'old', '\\x00', '', now() - interval '91 days' from domain`,
    )
    await pool.query(`insert into sign_in_failure values ('address 192.0.2.1', now() - interval '1 hour', 1)`)
  }
  const old = async () => {
    const { rows } = await pool.query<{ n: number }>(
      `select (select count(*) from job) + (select count(*) from render_record) + (select count(*) from page)
            + (select count(*) from webhook_window) + (select count(*) from webhook_token)
            + (select count(*) from sign_in_failure) as n`,
    )
    return Number(rows[0]!.n)
  }
  await pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
  await pool.query(
    `insert into domain (account_id, custom_domain, origin_url)
     select id, 'old.example', 'http://origin.example' from account`,
  )
  await addOld()
  await pool.query('alter table unstored_page rename to elsewhere')
  assert.equal(await old(), 6)

  const retention = startRetention({ pool, clock: systemClock, log: silentLog(), everyMs: 50 })
  try {
    await until('all that is old is gone', async () => (await old()) === 0)
    await addOld()
    await until('all that is old is gone', async () => (await old()) === 0)
  } finally {
    await retention.close()
    await database.close()
  }
})
