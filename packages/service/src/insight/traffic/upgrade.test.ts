/** A database of 0.2.0 keeps its figures, and nodes of 0.2.0 may run beside this version. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { type AccountId, wholeAccount } from '@prepaint/contract/ids.ts'
import { migrate } from '@prepaint/postgres/migrate.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { SCHEMA } from '../../../../../bin/node/schema.ts'
import { openTestDatabase } from '../../../../../test/support/database.ts'
import { addTestDomain, NOON_MS, startTestTraffic } from '../../../../../test/support/traffic.ts'
import { foldMinutes } from './fold.ts'
import { readSummaries } from './read-summaries.ts'
import { readTraffic } from './read-traffic.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const database = await openTestDatabase({ empty: true })
const { pool } = database
await migrate(database.connection, SCHEMA, silentLog(), '0001-schema.sql')
const domain = await addTestDomain(pool, 'a.example.com')
const [account] = await database.column<AccountId>('select account_id from domain where id = $1', domain)
// The first statement inserts, the second one updates: 0.2.0 summarised them in two rows.
for (let flush = 0; flush < 2; flush++) await writeAsBefore()
await migrate(database.connection, SCHEMA, silentLog())

/** As 0.2.0 writes: a page and a hit an hour, for two days. */
async function writeAsBefore(): Promise<void> {
  for (const [table, step, hours] of [
    ['traffic_hour', 'hour', 48],
    ['traffic_day', 'day', 2],
  ] as const) {
    await pool.query(
      `insert into ${table} as t (domain_id, ${step}, category, crawler, verdict, times, visits, status_3xx, status_4xx, status_5xx, unanswered)
       select $1, $2::timestamptz - ago * $3::interval, 'search', 'Googlebot', verdict, '{1}', $4, 0, 0, 0, 0
         from generate_series(0, $5::integer - 1) ago, unnest('{hit,rendered}'::text[]) verdict
       on conflict (domain_id, ${step}, category, crawler, verdict) do update set visits = t.visits + excluded.visits`,
      [domain, new Date(NOON_MS - (NOON_MS % HOUR_MS)), `1 ${step}`, step === 'hour' ? 1 : 24, hours],
    )
  }
}

/** 0.2.0 numbers its batches with this statement. Returns whether it goes on to write. */
async function takeBatchAsBefore(node: string, batch: number): Promise<boolean> {
  const { rowCount } = await pool.query(
    `insert into traffic_batch as b (node, batch, written_at) values ($1, $2, $3)
     on conflict (node) do update set batch = excluded.batch, written_at = excluded.written_at
       where b.batch < excluded.batch`,
    [node, batch, new Date(NOON_MS)],
  )
  return rowCount === 1
}

describe('an upgrade of 0.2.0', () => {
  it('keeps the figures, and the hit ratio of each domain', async () => {
    const read = async (fromMs: number) => {
      const range = { fromMs, toMs: NOON_MS + DAY_MS, step: 'hour' } as const
      const { totals } = await readTraffic(pool, { account: account!, domains: [domain] }, range)
      return [totals.visits, totals.hit_ratio]
    }
    const hourMs = NOON_MS - (NOON_MS % HOUR_MS)
    assert.deepEqual(await read(hourMs - 2 * DAY_MS), [48 * 4, 0.5])
    const [summary] = await readSummaries(pool, wholeAccount(account!), NOON_MS)
    // The day has 25 hours: the last 24, and the current one.
    assert.deepEqual(
      [summary!.day, summary!.week],
      [
        { pages: 25 * 4, hit_ratio: 0.5 },
        { pages: 48 * 4, hit_ratio: 0.5 },
      ],
    )
  })

  it('adds what is counted now to what was counted before', async () => {
    const traffic = startTestTraffic(pool)
    for (let visit = 0; visit < 8; visit++) traffic.visit(domain, { path: '/' })
    await traffic.close()
    for (const when of ['before it is added up', 'afterwards']) {
      const [summary] = await readSummaries(pool, wholeAccount(account!), NOON_MS)
      assert.deepEqual(summary!.day, { pages: 108, hit_ratio: 0.537 }, when)
      await foldMinutes(pool)
    }
  })

  it('lets nodes of 0.2.0 write their batches, each once, and read their summaries', async () => {
    const node = randomUUID()
    const taken = []
    for (const batch of [1, 2, 2, 1, 3]) taken.push(await takeBatchAsBefore(node, batch))
    assert.deepEqual(taken, [true, true, false, false, true])
    const summaries = await database.column<string>(
      `select concat_ws(' ', day, sum(pages), sum(hits), sum(hourly_pages[13])) from traffic_summary group by day order by day desc limit 1`,
    )
    assert.deepEqual(summaries, ['2026-11-15 60 34 12'])
  })
})
