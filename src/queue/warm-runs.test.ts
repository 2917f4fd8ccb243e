import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'

import { createListener, type Listener } from '../db/listener.ts'
import type { DomainId } from '../ids.ts'
import { silentLog } from '../log.ts'
import { type TestQueue, testQueue } from './test-queue.ts'
import { requestWarmRun } from './warm-run.ts'
import { startWarmRuns } from './warm-runs.ts'
import { warmStep } from './warm-step.ts'

let queue: TestQueue
let listener: Listener
before(async () => {
  queue = await testQueue()
  listener = await createListener(queue.connection, silentLog())
})
after(async () => {
  await listener.close()
  await queue.close()
})
afterEach(() => queue.pool.query('truncate warm_run, job, unstored_page'))

async function domainWith(count: number): Promise<DomainId> {
  const domain = await queue.domain()
  await queue.pool.query(
    `insert into known_path (domain_id, path, source, seen_at)
     select $1, '/p' || lpad(n::text, 6, '0'), 'sitemap', now() from generate_series(1, $2) as n`,
    [domain, count],
  )
  return domain
}
const queued = async (domain: DomainId) =>
  (await queue.pool.query<{ n: number }>('select count(*)::int as n from job where domain_id = $1', [domain]))
    .rows[0]!.n
const runs = async () => (await queue.pool.query('select from warm_run')).rowCount
const drainJobs = () =>
  queue.pool.query(
    `update job set state = 'done', outcome = 'rendered', finished_at = now() where state = 'queued'`,
  )

describe('warmStep', () => {
  it('moves a run by one batch of 500, at `warm`, until all is queued', async () => {
    const domain = await domainWith(1_200)
    await requestWarmRun(queue.pool, domain)
    for (const [step, jobs, left] of [
      ['moved', 500, 1],
      ['moved', 1_000, 1],
      ['moved', 1_200, 0],
      ['idle', 1_200, 0],
    ] as const) {
      assert.equal(await warmStep(queue.pool), step)
      assert.deepEqual([await queued(domain), await runs()], [jobs, left])
    }
    const { rows } = await queue.pool.query('select distinct priority from job')
    assert.deepEqual(rows, [{ priority: 2 }])
  })

  it('a domain without known paths, or with exactly one batch, comes to an end', async () => {
    for (const count of [0, 500]) {
      const domain = await domainWith(count)
      await requestWarmRun(queue.pool, domain)
      while ((await warmStep(queue.pool)) === 'moved') assert((await queued(domain)) <= count)
      assert.deepEqual([await queued(domain), await runs()], [count, 0])
    }
  })

  it('waits while 2,000 of its jobs wait, and goes on when renderers have caught up', async () => {
    const domain = await domainWith(2_600)
    await requestWarmRun(queue.pool, domain)
    for (let n = 0; n < 4; n++) assert.equal(await warmStep(queue.pool), 'moved')
    assert.equal(await warmStep(queue.pool), 'waiting')
    assert.equal(await queued(domain), 2_000)

    const other = await domainWith(10)
    await requestWarmRun(queue.pool, other)
    assert.equal(await warmStep(queue.pool), 'moved')
    assert.equal(await queued(other), 10)

    await drainJobs()
    assert.equal(await warmStep(queue.pool), 'moved')
    assert.equal(await warmStep(queue.pool), 'moved')
    assert.deepEqual([await queued(domain), await runs()], [2_600, 0])
  })

  it('domains take turns', async () => {
    const domains = [await domainWith(900), await domainWith(900)]
    for (const domain of domains) await requestWarmRun(queue.pool, domain)
    await warmStep(queue.pool)
    await warmStep(queue.pool)
    assert.deepEqual(await Promise.all(domains.map(queued)), [500, 500])
  })

  it('several nodes never queue a path twice, nor leave one out', async () => {
    const domain = await domainWith(1_900)
    await requestWarmRun(queue.pool, domain)
    while ((await runs()) !== 0) await Promise.all(Array.from({ length: 8 }, () => warmStep(queue.pool)))
    assert.equal(await queued(domain), 1_900)
  })

  it('a run of a domain that was deactivated ends without a job; one that was deleted is gone', async () => {
    const domain = await domainWith(10)
    await requestWarmRun(queue.pool, domain)
    await queue.pool.query('update domain set is_active = false where id = $1', [domain])
    assert.equal(await warmStep(queue.pool), 'moved')
    assert.deepEqual([await queued(domain), await runs()], [0, 0])

    const deleted = await domainWith(10)
    await requestWarmRun(queue.pool, deleted)
    await queue.pool.query('delete from domain where id = $1', [deleted])
    assert.equal(await warmStep(queue.pool), 'idle')
  })

  it('a full queue leaves the run where it was', async () => {
    const domain = await domainWith(10)
    await requestWarmRun(queue.pool, domain)
    await queue.pool.query(`update queue_depth set queued = 1000000, counted_at = now() + interval '1 hour'`)
    assert.equal(await warmStep(queue.pool), 'waiting')
    assert.deepEqual([await queued(domain), await runs()], [0, 1])
    await queue.pool.query(`update queue_depth set counted_at = '-infinity'`)
    assert.equal(await warmStep(queue.pool), 'moved')
    assert.equal(await queued(domain), 10)
  })
})

describe('startWarmRuns', () => {
  it('goes on with what an earlier node left, and is woken by what is asked for later', async () => {
    const left = await domainWith(700)
    await requestWarmRun(queue.pool, left)
    await warmStep(queue.pool)
    const warmRuns = startWarmRuns({ pool: queue.pool, listener, log: silentLog() })
    try {
      await until(async () => (await runs()) === 0)
      assert.equal(await queued(left), 700)

      const later = await domainWith(600)
      await listener.settled()
      const askedMs = performance.now()
      await requestWarmRun(queue.pool, later)
      await until(async () => (await queued(later)) === 600)
      // Far less than its poll of five seconds: it was the notification.
      assert(performance.now() - askedMs < 4_000)
    } finally {
      await warmRuns.close()
    }
  })

  it('close() ends it at once', async () => {
    const warmRuns = startWarmRuns({ pool: queue.pool, listener, log: silentLog() })
    await warmRuns.close()
  })
})

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise(setImmediate)
}
