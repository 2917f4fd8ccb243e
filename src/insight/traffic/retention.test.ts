import assert from 'node:assert/strict'
import { it } from 'node:test'

import { testDatabase } from '../../../test/support/database.ts'
import { addTestDomain } from '../../../test/support/traffic.ts'
import { DAYS_KEPT, HOURS_KEPT_DAYS, removeOldTraffic, SUMMARY_DAYS_KEPT } from './retention.ts'

// Proves decided "Traffic", decided "Retention"
it('what has outlived its time goes, in steps, and what has not stays', async () => {
  const { pool, close } = await testDatabase()
  try {
    for (const name of ['a.example', 'b.example']) {
      const domain = await addTestDomain(pool, name)
      await pool.query(
        `insert into traffic_hour
         select $1, now() - age, 'search', name, 'hit', 1, 0, 0, 0, 0, '{1}'
           from unnest(array[make_interval(days => $2, mins => 1), make_interval(days => $2, mins => -1)]) as age,
                unnest(array['Googlebot', 'Bingbot', 'other']) as name`,
        [domain, HOURS_KEPT_DAYS],
      )
      await pool.query('delete from traffic_summary where domain_id = $1', [domain])
      await pool.query(
        `insert into traffic_summary
         select $1, (now() at time zone 'UTC')::date - age, part, 1, 1, '{}', '{}'
           from unnest(array[$2::int, $2::int + 1]) as age, unnest(array[0, 1]) as part`,
        [domain, SUMMARY_DAYS_KEPT],
      )
      await pool.query(
        `insert into traffic_path
         select $1, (now() at time zone 'UTC')::date - age, failing, '/', 1, 'hit', 200
           from unnest(array[$2::int, $2::int + 1]) as age, unnest(array[true, false]) as failing`,
        [domain, HOURS_KEPT_DAYS],
      )
      await pool.query(
        `insert into traffic_day
         select $1, (now() at time zone 'UTC')::date - age, 'search', 'Googlebot', 'hit', 1, 0, 0, 0, 0, '{1}'
           from unnest(array[$2::int, $2::int + 1, $2::int + 2]) as age`,
        [domain, DAYS_KEPT],
      )
      await pool.query(
        `insert into traffic_forbidden
         select $1, (now() at time zone 'UTC')::date - age, 'search', 'Googlebot', 1, '{/}'
           from unnest(array[$2::int, $2::int + 1]) as age`,
        [domain, DAYS_KEPT],
      )
      await pool.query(
        `insert into render_day
         select $1, (date_trunc('month', now() at time zone 'UTC') - interval '12 months')::date - age, 1
           from unnest(array[0, 1]) as age`,
        [domain],
      )
    }
    await pool.query(
      `insert into traffic_batch select gen_random_uuid(), 1, now() - age
         from unnest(array[interval '47 hours', interval '49 hours']) as age`,
    )
    assert.equal(await removeOldTraffic(pool, { step: 2 }), 2 * (3 + 2 + 2 + 1 + 2 + 1) + 1)
    const { rows } = await pool.query(
      `select (select count(*) from traffic_hour)::int as hours, (select count(*) from traffic_path)::int as paths,
              (select count(*) from traffic_day)::int as days, (select count(*) from traffic_summary)::int as summaries,
              (select count(*) from traffic_forbidden)::int as forbidden,
              (select count(*) from render_day)::int as renders, (select count(*) from traffic_batch)::int as batches`,
    )
    assert.deepEqual(rows, [
      { hours: 6, paths: 4, days: 2, summaries: 4, forbidden: 2, renders: 2, batches: 1 },
    ])
    assert.equal(await removeOldTraffic(pool), 0)
  } finally {
    await close()
  }
})
