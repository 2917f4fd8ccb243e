import assert from 'node:assert/strict'
import { after, afterEach, before, it } from 'node:test'
import { paths, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { testWarm } from '../../../test/support/warm.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { DomainId } from '../../ids.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { startWarm } from './warm.ts'

let queue: TestQueue
let warm: ReturnType<typeof testWarm>
before(async () => {
  queue = await testQueue()
  warm = testWarm(queue)
})
after(() => queue.close())
afterEach(() => queue.pool.query('truncate warm, warm_count, job, unstored_page'))

async function started(count: number, plan = 'enterprise'): Promise<DomainId> {
  const domain = await warm.domainWith(count, plan)
  await startWarm(queue.pool, domain)
  await warm.read(domain)
  return domain
}

it('a run whose month is spoken for holds up none behind it', async () => {
  const limit = DEFAULT_PLANS['starter']!.monthly_render_limit
  const waiting = [await started(limit + 10, 'starter'), await started(limit + 10, 'starter')]
  while ((await warm.step()) === 'moved') {}
  assert.deepEqual(await Promise.all(waiting.map(warm.queued)), [limit, limit])
  const other = await started(10)
  assert.equal(await warm.step(), 'moved')
  assert.equal(await warm.queued(other), 10)
})

it('a run for which the queue has no room holds up none for which it has', async () => {
  const greedy = await started(500)
  await enqueue(queue.pool, greedy, paths(2_000, '/own'), 'refresh')
  const other = await started(500)
  // Beside 2,000 of its own 500 more are too many, and alone they are not.
  await queue.pool.query(`update queue_depth set queued = 998000, counted_at = now() + interval '1 hour'`)
  assert.equal(await warm.step(), 'moved')
  assert.deepEqual([await warm.queued(greedy), await warm.queued(other)], [2_000, 500])
  await queue.pool.query(`update queue_depth set counted_at = '-infinity'`)
  assert.equal(await warm.step(), 'moved')
  assert.equal(await warm.queued(greedy), 2_500)
})
