import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { HOME, paths, RENDERED, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import type { JobId } from '../../ids.ts'
import { cancelJobs } from './cancel.ts'
import { enqueue } from './enqueue.ts'
import { findJob, removeOldJobs } from './job.ts'

let queue: TestQueue
before(async () => {
  queue = await testQueue()
})
after(() => queue.close())

it('an account follows its job from queued to done, another account sees nothing of it', async () => {
  const [domain, other] = [await queue.domain(), await queue.domain()]
  const [owner, stranger] = [await queue.accountOf(domain), await queue.accountOf(other)]
  const [asked] = await enqueue(queue.pool, domain, [HOME], 'refresh')
  const { jobId } = asked!
  const look = async () => {
    assert.equal(await findJob(queue.pool, stranger, jobId), null)
    return (await findJob(queue.pool, owner, jobId))!
  }

  const { created_at, domain: name, ...queued } = await look()
  assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.match(name, /^d\d+\.example$/)
  assert.deepEqual(queued, {
    ...{ jobId, path: '/', variant: 'desktop', priority: 'refresh', state: 'queued' },
    ...{ outcome: null, finished_at: null },
  })
  const [job] = await queue.claim()
  assert.equal((await look()).state, 'running')
  await queue.complete(job!, RENDERED)
  const done = await look()
  assert.deepEqual([done.state, done.outcome], ['done', 'rendered'])
  assert(done.finished_at !== null && done.finished_at >= created_at)
})

it('a job can be looked up for a week after its end, and no longer', async () => {
  const domain = await queue.domain()
  const owner = await queue.accountOf(domain)
  const jobs = await enqueue(queue.pool, domain, paths(3), 'refresh')
  await cancelJobs(queue.pool, domain)
  const ended = (id: JobId, ago: string) =>
    queue.pool.query('update job set finished_at = now() - $2::interval where id = $1', [id, ago])
  // What is left of the week is longer than this test takes anywhere.
  await ended(jobs[0]!.jobId, '7 days -1 minute')
  await ended(jobs[1]!.jobId, '7 days 1 millisecond')
  await ended(jobs[2]!.jobId, '30 days')
  const found = await Promise.all(jobs.map(({ jobId }) => findJob(queue.pool, owner, jobId)))
  assert.deepEqual(
    found.map((job) => job?.path ?? null),
    ['/p0', null, null],
  )

  assert.equal(await removeOldJobs(queue.pool, { step: 1 }), 2)
  assert.equal(await removeOldJobs(queue.pool), 0)
  assert.deepEqual(
    (await queue.jobs(domain)).map(({ path }) => path),
    ['/p0'],
  )
})

it('cancelling takes what waits and what runs of one domain, and nothing of another', async () => {
  const [domain, other] = [await queue.domain(), await queue.domain()]
  await enqueue(queue.pool, domain, paths(3), 'warm')
  const [running] = await queue.claim({ slots: 1 })
  await enqueue(queue.pool, other, paths(2), 'warm')
  assert.equal(await cancelJobs(queue.pool, domain), 3)
  assert.equal(await cancelJobs(queue.pool, domain), 0)
  assert.deepEqual(await queue.complete(running!, RENDERED), { state: 'taken-away' })
  assert.deepEqual(
    (await queue.jobs(domain)).map(({ state, outcome }) => [state, outcome]),
    Array(3).fill(['cancelled', 'cancelled']),
  )
  assert.deepEqual(
    (await queue.jobs(other)).map(({ state }) => state),
    ['queued', 'queued'],
  )
})
