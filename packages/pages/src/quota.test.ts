import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { openQueue } from '../../../test/support/queue.ts'
import { addRenders, readQuota, takeRender } from './quota.ts'

const queue = await openQueue()
const { pool } = queue

const NOW_MS = Date.UTC(2026, 10, 15)
const LIMIT = 1_000

it('renders that the queue did not count are added to those of their days and months', async () => {
  const domain = await queue.domain()
  const other = await queue.domain()
  assert.equal(await takeRender(pool, domain, LIMIT, NOW_MS), true)
  await addRenders(pool, [
    { domain, day: '2026-10-31', renders: 5 },
    { domain, day: '2026-11-14', renders: 7 },
    // Twice a day, as by the hour.
    { domain, day: '2026-11-15', renders: 2 },
    { domain, day: '2026-11-15', renders: 3 },
    { domain: other, day: '2026-11-15', renders: 11 },
  ])
  const { rows } = await pool.query(
    'select day::text, renders from render_day where domain_id = $1 order by day',
    [domain],
  )
  assert.deepEqual(rows, [
    { day: '2026-10-31', renders: 5 },
    { day: '2026-11-14', renders: 7 },
    { day: '2026-11-15', renders: 6 },
  ])
  const used = async (of: typeof domain, atMs: number) =>
    (await readQuota(pool, DEFAULT_PLANS, of, atMs))?.used
  assert.deepEqual(
    [await used(domain, NOW_MS), await used(domain, Date.UTC(2026, 9, 1)), await used(other, NOW_MS)],
    [13, 5, 11],
  )
})
