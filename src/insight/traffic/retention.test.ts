import assert from 'node:assert/strict'
import { it } from 'node:test'

import { openTestDatabase } from '../../../test/support/database.ts'
import { addTestDomain } from '../../../test/support/traffic.ts'
import { DAYS_KEPT, HOURS_KEPT_DAYS, removeOldTraffic, SUMMARY_DAYS_KEPT } from './retention.ts'

const TODAY = `(now() at time zone 'UTC')::date`
const VISITS = `'search', 'Googlebot', 'hit', 1, 0, 0, 0, 0, '{1}'`

/** The values of a row of so many days of `age`, the last of which is kept. */
const ROWS: [table: string, keptDays: number, values: string][] = [
  ['traffic_hour', HOURS_KEPT_DAYS, `now() - make_interval(days => age, mins => -1), ${VISITS}`],
  ['traffic_day', DAYS_KEPT, `${TODAY} - age, ${VISITS}`],
  ['traffic_path', HOURS_KEPT_DAYS, `${TODAY} - age, true, '/', 1, 'hit', 200`],
  ['traffic_summary', SUMMARY_DAYS_KEPT, `${TODAY} - age, 0, 1, 1, '{}', '{}'`],
  ['traffic_forbidden', DAYS_KEPT, `${TODAY} - age, 'search', 'Googlebot', 1, '{/}'`],
  ['render_day', 0, `(date_trunc('month', ${TODAY}) - interval '12 months')::date - age, 1`],
]

// Proves decided "Traffic", decided "Retention"
it('what has outlived its time goes, in steps, and what has not stays', async () => {
  const { pool } = await openTestDatabase()
  for (const name of ['a.example', 'b.example']) await addTestDomain(pool, name)
  for (const [table, kept, values] of ROWS) {
    await pool.query(`delete from ${table}`)
    await pool.query(
      `insert into ${table} select domain.id, ${values} from domain, generate_series($1::int, $2::int) as age`,
      [kept, kept + 2],
    )
  }
  await pool.query(
    `insert into traffic_batch select gen_random_uuid(), 1, now() - age
       from unnest(array[interval '47 hours', interval '49 hours']) as age`,
  )
  assert.equal(await removeOldTraffic(pool, { step: 2 }), 2 * 2 * ROWS.length + 1)
  for (const [table] of ROWS) assert.equal((await pool.query(`select from ${table}`)).rowCount, 2, table)
  assert.equal((await pool.query('select from traffic_batch')).rowCount, 1)
  assert.equal(await removeOldTraffic(pool), 0)
})
