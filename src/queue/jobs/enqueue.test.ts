import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { columns, HOME, openQueue, paths } from '../../../test/support/queue.ts'
import { transaction } from '../../db/transaction.ts'
import { AppError } from '../../errors.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { pageId } from '../../store/page-id.ts'
import { purgePages } from '../../store/purge.ts'
import { enqueue, enqueueLive } from './enqueue.ts'

const queue = await openQueue()
const refused = (code: string) => (error: unknown) => error instanceof AppError && error.code === code
const full = refused('queue_full')

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

  it('a live job has the name of its request at once: a second statement would hold its row while a node claims', async () => {
    const domain = await queue.domain()
    const query = mock.fn(queue.pool.query.bind(queue.pool))
    const job = await enqueueLive({ query } as never, pageId(domain, HOME), 'first', 10_000)
    assert.equal(await enqueueLive(queue.pool, pageId(domain, HOME), 'joins later', 10_000), job)
    const { rows } = await queue.pool.query('select request_id from job where id = $1', [job])
    assert.deepEqual([rows, query.mock.callCount()], [[{ request_id: 'first' }], 1])
    await assert.rejects(
      enqueueLive(queue.pool, pageId(0 as DomainId, HOME), 'nobody', 10_000),
      refused('domain_not_found'),
    )
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
    await transaction(queue.pool, async (client) => {
      await purgePages(client, domain, { kind: 'path', path: HOME })
      assert.deepEqual(await enqueue(client, domain, [HOME], 'refresh'), [asked])
    })
    assert.equal((await queue.jobs(domain))[0]?.superseded, true)
  })
})

describe('the bound of the queue', () => {
  for (const priority of ['live', 'refresh', 'warm'] as const) {
    it(`${priority}: one domain may take half, and not one more`, async () => {
      const domain = await queue.domain()
      await recount()
      await enqueue(queue.pool, domain, paths(4), priority, { bound: 10 })
      await enqueue(queue.pool, domain, paths(5), priority, { bound: 10 })
      await assert.rejects(enqueue(queue.pool, domain, paths(6), priority, { bound: 10 }), full)
      assert.equal((await queue.jobs(domain)).length, 5, 'nothing of what was refused was queued')
      // What joins takes no room.
      assert.equal((await enqueue(queue.pool, domain, paths(5), priority, { bound: 10 })).length, 5)
      // What runs does not wait.
      await queue.claim({ slots: 1 })
      assert.equal((await enqueue(queue.pool, domain, paths(6), priority, { bound: 10 })).length, 6)
    })

    it(`${priority}: a domain may have as many as it leaves for others`, async () => {
      const [greedy, modest] = [await queue.domain(), await queue.domain()]
      await recount()
      await enqueue(queue.pool, greedy, paths(5), priority, { bound: 10 })
      await recount()
      await enqueue(queue.pool, modest, paths(2), priority, { bound: 10 })
      await recount()
      await assert.rejects(enqueue(queue.pool, greedy, paths(6), priority, { bound: 10 }), full)
      await assert.rejects(enqueue(queue.pool, modest, paths(3), priority, { bound: 10 }), full)
      const newcomer = await queue.domain()
      await enqueue(queue.pool, newcomer, paths(1), priority, { bound: 10 })
    })
  }

  it('a queue full of background jobs has room for crawlers', async () => {
    const domain = await queue.domain()
    await recount()
    await enqueue(queue.pool, domain, paths(5), 'warm', { bound: 10 })
    await assert.rejects(enqueue(queue.pool, domain, paths(6), 'refresh', { bound: 10 }), full)
    await enqueue(queue.pool, domain, paths(6), 'live', { bound: 12 })
  })
})

/** The bound takes a count that is up to five seconds old: a test makes it count again. */
async function recount(): Promise<void> {
  await queue.pool.query(`update queue_depth set counted_at = '-infinity'`)
}
