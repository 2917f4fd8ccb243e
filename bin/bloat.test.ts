import assert from 'node:assert/strict'
import { it } from 'node:test'

import { systemClock } from '../src/clock.ts'
import { silentLog } from '../src/log.ts'
import { until } from '../test/support/condition.ts'
import { type TestDatabase, testDatabase } from '../test/support/database.ts'
import { startRetention } from './node/retention.ts'

const ROWS = 1_200
const ROUNDS = 4
/** After the first rounds a table may still grow by so much: free space is not found to the last byte. */
const FLAT = 1.25

/** What outlives its time, of every kind that grows with traffic. */
async function addOld({ pool }: TestDatabase, round: number): Promise<void> {
  await pool.query(
    `insert into job (domain_id, account_id, path, priority, state, turn, finished_at)
     select d.id, d.account_id, '/' || $1::int || '/' || n, 2, 'done', n, now() - interval '8 days'
       from domain d, generate_series(1, $2::int) n`,
    [round, ROWS],
  )
  await pool.query(
    `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record, ended_at)
     select d.id, '/' || n, gen_random_uuid(), 'rendered', 1, 1, '{}', now() - interval '8 days'
       from domain d, generate_series(1, $1::int) n`,
    [ROWS],
  )
  await pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
     select d.id, '/' || $1::int || '/' || n, 200, '[]', decode(repeat(md5(n::text), 60), 'hex'), 1, '"e"', now() - interval '40 days'
       from domain d, generate_series(1, $2::int) n`,
    [round, ROWS],
  )
}

it('tables do not bloat: what is removed leaves its room to what comes', async () => {
  const database = await testDatabase()
  const { pool } = database
  try {
    await pool.query(`insert into account (email, plan) values ('a@example.com', 'pro')`)
    await pool.query(
      `insert into domain (account_id, custom_domain, origin_url) select id, 'a.example', 'http://a' from account`,
    )
    // As autovacuum does, which comes once a minute and by that would make this a matter of chance.
    for (const table of ['job', 'render_record', 'page']) {
      await pool.query(`alter table ${table} set (autovacuum_enabled = off)`)
    }
    const sizes: Record<string, number>[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await addOld(database, round)
      const retention = startRetention({ pool, clock: systemClock, log: silentLog(), everyMs: 3_600_000 })
      await until(
        'all that is old is gone',
        async () => {
          const { rows } = await pool.query<{ n: number }>(
            `select ((select count(*) from job) + (select count(*) from render_record) + (select count(*) from page))::int as n`,
          )
          return rows[0]!.n === 0
        },
        60_000,
      )
      await retention.close()
      await pool.query('vacuum (truncate off) job, render_record, page')
      const { rows } = await pool.query<{ name: string; bytes: number }>(
        `select relname as name, pg_total_relation_size(oid)::int as bytes from pg_class
          where relname in ('job', 'render_record', 'page') and relkind = 'r'`,
      )
      sizes.push(Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes])))
    }
    const [, settled] = sizes
    const last = sizes.at(-1)!
    for (const [name, bytes] of Object.entries(last)) {
      assert.ok(bytes > 100_000, `${name} held something`)
      assert.ok(bytes <= settled![name]! * FLAT, `${name}: ${sizes.map((size) => size[name]).join(', ')}`)
    }
  } finally {
    await database.close()
  }
})
