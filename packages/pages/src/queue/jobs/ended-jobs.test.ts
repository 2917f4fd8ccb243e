import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { type JobId, type PagePath, wholeAccount } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import { waitingForLocks } from '../../../../../test/support/database.ts'
import { HOME, openQueue, paths, RENDERED } from '../../../../../test/support/queue.ts'
import { JobWaiter } from './await.ts'
import { cancelJob, cancelJobs } from './cancel.ts'
import { removeOldJobs } from './ended-jobs.ts'
import { enqueue, enqueueLive } from './enqueue.ts'
import { findJob } from './find-job.ts'
import { countJobs } from './list-jobs.ts'

const DAY_MS = 86_400_000

const queue = await openQueue()
const { pool, column } = queue

const open = () => column<JobId>('select id from job')
const ended = () => column<JobId>('select id from job_ended order by finished_at, id')
const sweep = (nowMs = systemClock.nowMs()) => removeOldJobs(pool, nowMs)

describe('a job that ends', () => {
  it('is moved when its page is stored, when it fails, and when it is cancelled', async () => {
    const domain = await queue.domain()
    const rendered = await queue.running(domain)
    await queue.complete(rendered, RENDERED)
    const failed = await queue.running(domain, '/failed')
    await queue.complete(failed, { kind: 'not-html', contentType: 'text/plain' })
    const [one] = await enqueue(pool, domain, ['/cancelled' as PagePath], 'refresh')
    assert.equal(await cancelJob(pool, one!.jobId), true)
    await enqueue(pool, domain, paths(2), 'refresh')
    assert.equal(await cancelJobs(pool, domain), 2)
    assert.deepEqual(await open(), [])
    assert.deepEqual(await column('select state from job_ended order by state'), [
      'cancelled',
      'cancelled',
      'cancelled',
      'done',
      'failed',
    ])
    assert.deepEqual(await column('select detail from job_ended where id = $1', one!.jobId), [
      'by the operator',
    ])
  })

  it('is found by who waits for it, whoever ended it', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    const waiter = new JobWaiter(await queue.listener(), pool, silentLog(), 20)
    const waiting = waiter.wait(job.id, new AbortController().signal)
    await queue.complete(job, RENDERED)
    assert.deepEqual(await waiting, { state: 'done', outcome: 'rendered' })
    assert.deepEqual(await waiter.wait(job.id, new AbortController().signal), {
      state: 'done',
      outcome: 'rendered',
    })
  })

  it('has an id that begins with the time at which it was queued, so that indexes grow at their end', async () => {
    const domain = await queue.domain()
    const [{ nowMs }] = (
      await pool.query('select (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"')
    ).rows
    const jobs = await enqueue(pool, domain, paths(2), 'refresh')
    for (const { jobId } of jobs) {
      assert.match(jobId, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      const queuedMs = Number.parseInt(jobId.replace('-', '').slice(0, 12), 16)
      assert.ok(queuedMs >= Math.floor(nowMs) && queuedMs < nowMs + 60_000, `${queuedMs} ${nowMs}`)
    }
    assert.notEqual(jobs[0]!.jobId, jobs[1]!.jobId)
  })

  it('goes with its domain', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    await queue.complete(job, RENDERED)
    assert.deepEqual(await ended(), [job.id])
    await pool.query('delete from domain where id = $1', [domain])
    assert.deepEqual(await ended(), [])
  })

  it('goes with its whole day, a week later', async () => {
    const domain = await queue.domain()
    await queue.complete(await queue.running(domain), RENDERED)
    const nowMs = systemClock.nowMs()
    assert.equal(await sweep(nowMs + 6 * DAY_MS), 0)
    assert.equal((await ended()).length, 1)
    assert.ok((await sweep(nowMs + 8 * DAY_MS)) >= 1)
    assert.deepEqual(await ended(), [])
    assert.deepEqual(await column('select count(*)::integer from job_ended_default'), [0])
  })
})

describe('beside nodes of 0.2.0', () => {
  const join = (seen: string) =>
    pool.query(
      `insert into node (id, host, version, roles, slots, running, cores, load, memory_bytes, browser, schema, seen_at)
       values ('older', 'h', '0.2.0', '{render}', 1, 0, 1, 0, 1, 'ok', '0001-schema.sql', clock_timestamp() - $1::interval)`,
      [seen],
    )
  beforeEach(() => pool.query('delete from node'))

  it('jobs end where those nodes look for them', async () => {
    await join('1 second')
    const domain = await queue.domain()
    const job = await queue.running(domain)
    await queue.complete(job, RENDERED)
    await enqueue(pool, domain, paths(1), 'refresh')
    await cancelJobs(pool, domain)
    assert.deepEqual(await ended(), [])
    assert.deepEqual(await column('select state from job order by state'), ['cancelled', 'done'])
    await sweep()
    assert.deepEqual(await ended(), [], 'nothing is moved while one runs')
  })

  it('their ended jobs are read as the others, and moved when the last of them has gone', async () => {
    await join('1 second')
    const domain = await queue.domain()
    const scope = wholeAccount(await queue.accountOf(domain))
    const job = await queue.running(domain)
    await queue.complete(job, RENDERED)
    const before = await findJob(pool, scope, job.id)
    const counts = await countJobs(pool, domain)
    assert.equal(before?.state, 'done')
    assert.equal(counts.counts.done, 1)

    await pool.query(`update node set seen_at = clock_timestamp() - interval '16 seconds'`)
    const running = await queue.running(domain, '/runs')
    await sweep()
    assert.deepEqual(await open(), [running.id])
    assert.deepEqual(await ended(), [job.id])
    assert.deepEqual(await findJob(pool, scope, job.id), before)
    assert.deepEqual((await countJobs(pool, domain)).counts, { ...counts.counts, running: 1 })
  })

  it('a warm counts each job once, also when it is moved', async () => {
    await join('1 second')
    const domain = await queue.domain()
    await pool.query('insert into warm_count (domain_id, run) values ($1, 1)', [domain])
    const warmed = async (path: string) => {
      const job = await queue.running(domain, path)
      await pool.query('update job set warm = 1 where id = $1', [job.id])
      await queue.complete(job, RENDERED)
    }
    await warmed('/older')
    await pool.query('delete from node')
    await warmed('/newer')
    await sweep()
    assert.equal((await ended()).length, 2)
    assert.deepEqual(await column('select done from warm_count where domain_id = $1', domain), [2])
  })
})

describe('whoever asks for a page at the moment when its job ends', () => {
  const endedMeanwhile = async (job: JobId, ask: () => Promise<JobId | undefined>) => {
    const holder = await pool.connect()
    await holder.query('begin')
    await holder.query('select from job where id = $1 for update', [job])
    const asked = ask()
    await until('the other one waits for the job', async () => (await waitingForLocks(pool)) === 1)
    await holder.query(`select finish_job($1, 'done', 'rendered', null)`, [job])
    await holder.query('commit')
    holder.release()
    return asked
  }

  it('gets that job if a crawler asks', async () => {
    const domain = await queue.domain()
    const { id } = await queue.running(domain)
    const asked = await endedMeanwhile(id, () => enqueueLive(pool, pageId(domain, HOME), 'request', 1_000))
    assert.equal(asked, id)
    assert.deepEqual(await open(), [])
  })

  it('gets that job if its owner asks, together with an open one', async () => {
    const domain = await queue.domain()
    const id = await enqueueLive(pool, pageId(domain, HOME), 'request', 1_000)
    await enqueueLive(pool, pageId(domain, '/open' as PagePath), 'request', 1_000)
    const asked = await endedMeanwhile(id, async () => {
      const jobs = await enqueue(pool, domain, [HOME, '/open' as PagePath], 'refresh')
      return jobs.find(({ path }) => path === HOME)?.jobId
    })
    assert.equal(asked, id)
    assert.equal((await open()).length, 1)
  })
})
