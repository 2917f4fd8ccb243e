import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { type DomainId, type JobId, type PagePath, wholeAccount } from '@prepaint/contract/ids.ts'
import type { JobState } from '@prepaint/contract/outcome/job.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { columns, HOME, openQueue, paths, RENDERED } from '../../../../../test/support/queue.ts'
import { cancelJobs } from './cancel.ts'
import { removeOldJobs } from './ended-jobs.ts'
import { enqueue } from './enqueue.ts'
import { findJob } from './find-job.ts'
import { countJobs, type JobsWanted, listJobs } from './list-jobs.ts'

const queue = await openQueue()

describe('lists of jobs', async () => {
  const [red, blue] = [await queue.domain(), await queue.domain()]
  beforeEach(async () => {
    // Minutes ago. What ended first was queued last but one.
    // A node of 0.2.0 ended the one that failed.
    const jobs: [DomainId, string, JobState, queued: number, ended: number | null][] = [
      [red, '/waits', 'queued', 60, null],
      [blue, '/runs', 'running', 2, null],
      [red, '/first', 'done', 4, 3.5],
      [red, '/second', 'failed', 90, 3],
      [blue, '/third', 'done', 80, 2],
      [red, '/fourth', 'cancelled', 70, 1],
      [blue, '/new', 'queued', 0, null],
    ]
    for (const [domain, path, state, queued, ended] of jobs) {
      const isMoved = state === 'done' || state === 'cancelled'
      const table = isMoved
        ? 'job_ended (id, variant, is_both, domain_id, path, priority, state, created_at, finished_at) select gen_random_uuid(), $6, false'
        : 'job (account_id, turn, variant, domain_id, path, priority, state, created_at, finished_at) select account_id, 1, $6'
      await queue.pool.query(
        `insert into ${table}, id, $2, 2, $3, now() - $4::float8 * interval '1 minute', now() - $5::float8 * interval '1 minute'
           from domain where id = $1`,
        [domain, path, state, queued, ended, 'desktop'],
      )
    }
  })

  const listed = async (wanted: Partial<JobsWanted>, lookedAt?: number) => {
    const all = { domain: null, state: null, limit: 100 }
    return columns(await listJobs(queue.pool, { ...all, ...wanted }, lookedAt), 'path').flat()
  }

  it('lists the newest first, as many as are wanted; of a domain, in a state, or both', async () => {
    const all = ['/new', '/runs', '/first', '/waits', '/fourth', '/third', '/second']
    assert.deepEqual(await listed({}), all)
    assert.deepEqual(await listed({ limit: 3 }), all.slice(0, 3))
    assert.deepEqual(await listed({ domain: red }), ['/first', '/waits', '/fourth', '/second'])
    assert.deepEqual(await listed({ domain: red, state: 'done' }), ['/first'])
    assert.deepEqual(await listed({ state: 'queued' }), ['/new', '/waits'])
    // Of all domains, no more that have ended than are looked at; what is open is always there.
    assert.deepEqual(await listed({}, 3), ['/new', '/runs', '/waits', '/fourth', '/third', '/second'])
  })

  it('counts every state, and says when more have ended than it counts', async () => {
    const counts = { queued: 2, running: 1, done: 2, failed: 1, cancelled: 1 }
    assert.deepEqual(await countJobs(queue.pool, null, 4), { counts, isWhole: true })
    assert.equal((await countJobs(queue.pool, null, 3)).isWhole, false)
  })
})

const full = { code: 'queue_full' }

describe('enqueue', () => {
  it('gives one job a path, in the order asked, duplicates joined', async () => {
    const domain = await queue.domain()
    const asked = ['/b', '/a', '/b', '/c'] as PagePath[]
    const jobs = await enqueue(queue.pool, domain, asked, 'refresh')
    assert.deepEqual(columns(jobs, 'path').flat(), ['/b', '/a', '/c'])
    assert.equal(new Set(jobs.map(({ jobId }) => jobId)).size, 3)
    assert.deepEqual(await enqueue(queue.pool, domain, [], 'live'), [])
  })

  it('joins the open job of a page and raises its priority, never lowers it', async () => {
    const domain = await queue.domain()
    const [first] = await enqueue(queue.pool, domain, [HOME], 'warm')
    for (const priority of ['live', 'refresh', 'warm'] as const) {
      assert.deepEqual(await enqueue(queue.pool, domain, [HOME], priority), [first])
    }
    const [job, ...more] = await queue.jobs(domain)
    assert.equal(job?.priority, 0)
    assert.deepEqual(more, [])
    // In bulk as well, where some pages have a job and others none.
    const mixed = await enqueue(queue.pool, domain, [...paths(3), HOME], 'refresh')
    assert.deepEqual(mixed[3], first)
    assert.deepEqual(columns(await queue.jobs(domain), 'priority').flat(), [0, 1, 1, 1])
  })

  it('bulks of the same pages in different orders do not lock each other out', async () => {
    const domain = await queue.domain()
    const some = paths(200)
    const both = await Promise.all([
      enqueue(queue.pool, domain, some, 'warm'),
      enqueue(queue.pool, domain, some.toReversed(), 'refresh'),
      enqueue(queue.pool, domain, some.toReversed(), 'live'),
    ])
    assert.deepEqual(both[1].toReversed(), both[0])
    assert.deepEqual(both[2].toReversed(), both[0])
  })

  it('joins a running job; only a purge makes it run again', async () => {
    const domain = await queue.domain()
    const [asked] = await enqueue(queue.pool, domain, [HOME], 'warm')
    await queue.claim()
    assert.deepEqual(await enqueue(queue.pool, domain, [HOME], 'refresh'), [asked])
    assert.equal((await queue.jobs(domain))[0]?.superseded, false)
    await queue.purge(domain, { kind: 'path', path: HOME })
    assert.deepEqual(await enqueue(queue.pool, domain, [HOME], 'refresh'), [asked])
    assert.equal((await queue.jobs(domain))[0]?.superseded, true)
  })
})

describe('the bound of the queue', () => {
  beforeEach(recount)

  for (const priority of ['live', 'warm'] as const) {
    it(`${priority}: an account may take half with all its domains, and not one more`, async () => {
      const domain = await queue.domain()
      const second = await queue.domain({ account: await queue.accountOf(domain) })
      await enqueue(queue.pool, domain, paths(3), priority, { bound: 10 })
      await enqueue(queue.pool, second, paths(2), priority, { bound: 10 })
      for (const [more, held] of [
        [domain, 3],
        [second, 2],
      ] as const) {
        await assert.rejects(enqueue(queue.pool, more, paths(held + 1), priority, { bound: 10 }), full)
        assert.equal((await queue.jobs(more)).length, held, 'nothing of what was refused was queued')
      }
      // What joins takes no room.
      assert.equal((await enqueue(queue.pool, domain, paths(3), priority, { bound: 10 })).length, 3)
      // What runs does not wait.
      await queue.claim({ slots: 1 })
      assert.equal((await enqueue(queue.pool, domain, paths(4), priority, { bound: 10 })).length, 4)
    })

    it(`${priority}: an account may have as many as it leaves for others`, async () => {
      const [greedy, modest] = [await queue.domain(), await queue.domain()]
      await enqueue(queue.pool, greedy, paths(5), priority, { bound: 10 })
      await recount()
      await enqueue(queue.pool, modest, paths(2), priority, { bound: 10 })
      await recount()
      await assert.rejects(enqueue(queue.pool, greedy, paths(6), priority, { bound: 10 }), full)
      await assert.rejects(enqueue(queue.pool, modest, paths(3), priority, { bound: 10 }), full)
      const newcomer = await queue.domain()
      await enqueue(queue.pool, newcomer, paths(1), priority, { bound: 10 })
    })

    it(`${priority}: an account has a fiftieth, and not one more, where others have filled the rest`, async () => {
      const bound = 100
      let whole = 0
      while (whole < bound - 1) {
        const half = Math.floor((bound - whole) / 2)
        await enqueue(queue.pool, await queue.domain(), paths(half), priority, { bound })
        await recount()
        whole += half
      }
      const domain = await queue.domain()
      const second = await queue.domain({ account: await queue.accountOf(domain) })
      await enqueue(queue.pool, domain, paths(1), priority, { bound })
      await enqueue(queue.pool, second, paths(1), priority, { bound })
      await assert.rejects(enqueue(queue.pool, domain, paths(2), priority, { bound }), full)
    })
  }

  it('a queue full of background jobs has room for crawlers', async () => {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, paths(5), 'warm', { bound: 10 })
    await assert.rejects(enqueue(queue.pool, domain, paths(6), 'refresh', { bound: 10 }), full)
    await enqueue(queue.pool, domain, paths(6), 'live', { bound: 12 })
  })

  it('a bulk refresh of a million pages ends at half of the queue, and refuses no refresh, warm or crawler of another account', async () => {
    const first = await queue.domain()
    const last = await queue.domain({ account: await queue.accountOf(first) })
    await queue.countWaiting(first, 490_000)
    await enqueue(queue.pool, last, paths(10_000), 'refresh')
    await assert.rejects(enqueue(queue.pool, last, ['/more' as PagePath], 'refresh'), full)
    await assert.rejects(enqueue(queue.pool, first, ['/more' as PagePath], 'warm'), full)

    const other = await queue.domain()
    await recount()
    assert.equal((await enqueue(queue.pool, other, paths(10_000), 'refresh')).length, 10_000)
    assert.equal((await enqueue(queue.pool, other, paths(500, '/warm'), 'warm')).length, 500)
    assert.equal((await enqueue(queue.pool, other, [HOME], 'live')).length, 1)
    await queue.countWaiting(first, -490_000)
  })

  it('20,000 background jobs of an account wait beside a queue that others have filled, and not one more', async () => {
    const domain = await queue.domain()
    const filled = `update queue_depth set queued = 1000000, counted_at = now() + interval '1 hour'`
    await queue.pool.query(filled)
    await queue.countWaiting(domain, 10_000)
    await enqueue(queue.pool, domain, paths(10_000), 'refresh')
    await assert.rejects(enqueue(queue.pool, domain, [HOME], 'refresh'), full)
    await queue.countWaiting(domain, -10_000)
  })
})

/** The bound takes a count that is up to five seconds old: a test makes it count again. */
async function recount(): Promise<void> {
  await queue.pool.query(`update queue_depth set counted_at = '-infinity'`)
}

it('a job can be looked up for a week after its end, and no longer', async () => {
  const domain = await queue.domain()
  const owner = await queue.accountOf(domain)
  const jobs = await enqueue(queue.pool, domain, paths(2), 'refresh')
  await cancelJobs(queue.pool, domain)
  const ended = (id: JobId, ago: string) =>
    queue.pool.query('update job_ended set finished_at = now() - $2::interval where id = $1', [id, ago])
  // What is left of the week is longer than this test takes anywhere.
  await ended(jobs[0]!.jobId, '7 days -1 minute')
  await ended(jobs[1]!.jobId, '7 days 1 millisecond')
  const found = await Promise.all(jobs.map(({ jobId }) => findJob(queue.pool, wholeAccount(owner), jobId)))
  assert.deepEqual(found.map((job) => job?.path).join(), '/p0,')
  assert.equal(await removeOldJobs(queue.pool, systemClock.nowMs(), { step: 1 }), 1)
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
