import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { paths, type TestQueue, testQueue } from '../../test/support/queue.ts'
import { testWarm } from '../../test/support/warm.ts'
import { enqueue } from '../queue/jobs/enqueue.ts'
import { refreshAhead } from '../queue/upkeep/refresh-ahead.ts'
import { startWarm } from '../queue/warm/warm.ts'
import { createStaleFinder } from '../store/last-visits.ts'
import { setSuspended } from './accounts.ts'
import { DEFAULT_PLANS } from './plans.ts'

const clock = { nowMs: () => Date.now() }
const queue = await testQueue()
after(() => queue.close())

const suspend = async (domain: Parameters<TestQueue['accountOf']>[0]) =>
  setSuspended(queue.pool, await queue.accountOf(domain), true, clock.nowMs())

it('what waits is cancelled, and its warm; of others nothing', async () => {
  const warm = testWarm(queue)
  const [domain, other] = [await warm.domainWith(3), await queue.domain()]
  await startWarm(queue.pool, domain)
  await warm.read(domain)
  await warm.step()
  for (const each of [domain, other]) await enqueue(queue.pool, each, paths(2, '/own'), 'refresh')
  await suspend(domain)
  const { rows: open } = await queue.pool.query(`select domain_id from job where state = 'queued'`)
  assert.deepEqual(
    open.map(({ domain_id }) => domain_id),
    [other, other],
  )
  const { state, reason } = await warm.progress(domain)
  assert.deepEqual([state, reason], ['cancelled', 'the account is suspended'])
})

it('nothing is rendered for it any more: neither ahead of crawlers nor by a warm', async () => {
  const warm = testWarm(queue)
  const domain = await warm.domainWith(3)
  await queue.pool.query(
    `with page as (
       insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       values ($1, '/old', 200, '[]', '', 0, 'e', now() - interval '2 days'))
     insert into last_visit values ($1, '/old', 'Googlebot', 'search', now())`,
    [domain],
  )
  await suspend(domain)
  await startWarm(queue.pool, domain)
  await warm.read(domain)
  while (
    await refreshAhead({ pool: queue.pool, plans: DEFAULT_PLANS, clock, stalest: createStaleFinder() })
  ) {}
  await warm.step()
  assert.deepEqual(await queue.jobs(domain), [])
  assert.equal((await warm.progress(domain)).state, 'cancelled')
})
