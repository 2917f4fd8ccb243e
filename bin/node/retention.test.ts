import assert from 'node:assert/strict'
import { it } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { silentLog } from '../../src/log.ts'
import { until } from '../../test/support/condition.ts'
import { testDatabase } from '../../test/support/database.ts'
import { addTestDomain } from '../../test/support/traffic.ts'
import { startRetention } from './retention.ts'

const ROWS = 1_200
const ROUNDS = 6
/** Free space is not found to the last byte, and pages of an index may be free a round later. Without tidying it is 3. */
const FLAT = 1.6
/** What outlives its time; of the first three kinds much, as traffic brings it. `$1`: the round, `$2`: rows. */
const OLD = {
  job: `insert into job (domain_id, account_id, path, priority, state, turn, finished_at)
    select d.id, d.account_id, '/' || $1::int || '/' || n, 2, 'done', n, now() - interval '8 days'
      from domain d, generate_series(1, $2::int) n`,
  render_record: `insert into render_record (domain_id, path, job_id, outcome, queued_ms, stored_ms, record, ended_at)
    select d.id, '/' || $1::int || '/' || n, gen_random_uuid(), 'rendered', 1, 1, '{}', now() - interval '8 days'
      from domain d, generate_series(1, $2::int) n`,
  page: `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
    select d.id, '/' || $1::int || '/' || n, 200, '[]', decode(repeat(md5(n::text), 60), 'hex'), 1, '"e"',
           now() - interval '31 days'
      from domain d, generate_series(1, $2::int) n`,
  webhook_window: `insert into webhook_window select id, now() - interval '3 hours', 1 from domain`,
  webhook_token: `insert into webhook_token (domain_id, name, token_hash, hint, revoked_at)
    select id, 'old', '\\x00', '', now() - interval '91 days' from domain`,
  sign_in_failure: `insert into sign_in_failure values ('address 192.0.2.1', now() - interval '1 hour', 1)`,
}
const GROWING = ['job', 'render_record', 'page']

// Proves decided "Retention"
it('every table is tidied, again and again and though one fails; what goes leaves its room to what comes', async () => {
  const database = await testDatabase()
  const { pool } = database
  await addTestDomain(pool, 'a.example')
  // As autovacuum does, which comes once a minute and by that would make this a matter of chance.
  for (const table of GROWING) await pool.query(`alter table ${table} set (autovacuum_enabled = off)`)
  await pool.query('alter table unstored_page rename to elsewhere')
  const counts = Object.keys(OLD).map((table) => `(select count(*) from ${table})`)
  const isGone = async () =>
    (await pool.query<{ n: number }>(`select (${counts.join(' + ')})::int as n`)).rows[0]!.n === 0
  const sizes: Record<string, number>[] = []
  const retention = startRetention({ pool, clock: systemClock, log: silentLog(), everyMs: 50 })
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [table, sql] of Object.entries(OLD)) {
        await pool.query(sql, GROWING.includes(table) ? [round, ROWS] : [])
      }
      await until('all that is old is gone', isGone, 60_000)
      // A row that another statement may still see outlives a vacuum.
      await until('no dead row is left', async () => {
        await pool.query(`vacuum (truncate off) ${GROWING.join()}`)
        const dead = `select sum(n_dead_tup)::int as dead from pg_stat_user_tables where relname = any($1)`
        return (await pool.query<{ dead: number }>(dead, [GROWING])).rows[0]!.dead === 0
      })
      const { rows } = await pool.query<{ name: string; bytes: number }>(
        `select relname as name, pg_total_relation_size(oid)::int as bytes from pg_class
          where relname = any($1) and relkind = 'r'`,
        [GROWING],
      )
      sizes.push(Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes])))
    }
  } finally {
    await retention.close()
    await database.close()
  }
  for (const [name, bytes] of Object.entries(sizes.at(-1)!)) {
    assert.ok(bytes > 100_000, `${name} held something`)
    assert.ok(bytes <= sizes[1]![name]! * FLAT, `${name}: ${sizes.map((size) => size[name]).join(', ')}`)
  }
})
