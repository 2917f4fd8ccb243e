import assert from 'node:assert/strict'
import { it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { waitingForLocks } from '../../../test/support/database.ts'
import { columns, openQueue, paths, RENDERED } from '../../../test/support/queue.ts'
import { transaction } from '../../db/transaction.ts'
import type { JobId } from '../../ids.ts'
import { cancelJobs } from './cancel.ts'
import { enqueue } from './enqueue.ts'
import { findJob, removeOldJobs } from './job.ts'

const queue = await openQueue()

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
  assert.deepEqual(found.map((job) => job?.path).join(), '/p0,,')
  assert.equal(await removeOldJobs(queue.pool, { step: 1 }), 2)
  assert.equal(await removeOldJobs(queue.pool), 0)
  assert.deepEqual(columns(await queue.jobs(domain), 'path'), [['/p0']])
})

it('cancelling takes what waits and what runs of one domain, and nothing of another', async () => {
  const [domain, other] = [await queue.domain(), await queue.domain()]
  await enqueue(queue.pool, domain, paths(3), 'warm')
  const [running] = await queue.claim({ slots: 1 })
  await enqueue(queue.pool, other, paths(2), 'warm')
  assert.equal(await cancelJobs(queue.pool, domain), 3)
  assert.equal(await cancelJobs(queue.pool, domain), 0)
  assert.deepEqual(await queue.complete(running!, RENDERED), { state: 'taken-away' })
  assert.deepEqual(columns(await queue.jobs(domain), 'outcome').flat(), Array(3).fill('cancelled'))
  assert.deepEqual(columns(await queue.jobs(other), 'state').flat(), ['queued', 'queued'])
})

it('what is queued in bulk at the same moment is cancelled too', async () => {
  const domain = await queue.domain()
  let cancelled: Promise<number> | null = null
  await transaction(queue.pool, async (client) => {
    await enqueue(client, domain, paths(3), 'refresh')
    cancelled = transaction(queue.pool, (other) => cancelJobs(other, domain))
    await until('the other one waits', async () => (await waitingForLocks(queue.pool)) === 1)
  })
  assert.equal(await cancelled, 3)
  assert.deepEqual(columns(await queue.jobs(domain), 'state').flat(), Array(3).fill('cancelled'))
})
