/** Crawlers that disconnect before a page of theirs is rendered. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { Abandoned } from '@prepaint/runtime/abandoned.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import { HOME, openQueue, RENDERED } from '../../../../../test/support/queue.ts'
import { JobWaiter } from './await.ts'
import { enqueue, enqueueLive } from './enqueue.ts'

const queue = await openQueue()
const waiter = new JobWaiter({ on() {}, onLost() {} }, queue.pool, silentLog())
const ask = (domain: DomainId) => enqueueLive(queue.pool, pageId(domain, HOME), 'request', 60_000)

/** Asks for the home page, and waits at an edge. */
async function wait(domain: DomainId) {
  const job = await ask(domain)
  const control = new AbortController()
  const end = waiter.wait(job, control.signal)
  return {
    job,
    async leave() {
      control.abort(new Abandoned())
      assert.equal(await end, 'late')
    },
    async waitInVain() {
      control.abort()
      assert.equal(await end, 'late')
    },
  }
}

const waiters = async (job: JobId) =>
  (await queue.column<number>('select waiters from job where id = $1', job))[0]
const isWaitedForBy = (job: JobId, count: number | undefined) =>
  until(`${count} wait`, async () => (await waiters(job)) === count)
const isGone = (job: JobId) => isWaitedForBy(job, undefined)

describe('a live job whose crawlers have disconnected before it runs', () => {
  it('is deleted when the last one leaves, and not before', async () => {
    const domain = await queue.domain()
    const first = await wait(domain)
    const second = await wait(domain)
    assert.equal(second.job, first.job)
    await first.leave()
    await isWaitedForBy(first.job, 1)
    await second.leave()
    await isGone(first.job)
    assert.deepEqual(await queue.claim(), [])
  })

  it('goes on as a refresh if one of them has waited until its deadline, whichever leaves last', async () => {
    for (const isLateFirst of [true, false]) {
      const domain = await queue.domain()
      const late = await wait(domain)
      const gone = await wait(domain)
      await (isLateFirst ? late.waitInVain() : gone.leave())
      await isWaitedForBy(late.job, 1)
      await (isLateFirst ? gone.leave() : late.waitInVain())
      await isWaitedForBy(late.job, 0)
      const [job] = await queue.claim()
      assert.deepEqual([job?.id, job?.priority], [late.job, 'refresh'])
      await queue.complete(job!, RENDERED)
    }
  })

  it('stays if it was queued for a refresh before, or a refresh has joined it', async () => {
    for (const isRefreshFirst of [true, false]) {
      const domain = await queue.domain()
      if (isRefreshFirst) await enqueue(queue.pool, domain, [HOME], 'refresh')
      const crawler = await wait(domain)
      if (!isRefreshFirst) await enqueue(queue.pool, domain, [HOME], 'refresh')
      await crawler.leave()
      await isWaitedForBy(crawler.job, 0)
      const [job] = await queue.claim()
      assert.equal(job?.id, crawler.job)
      await queue.complete(job!, RENDERED)
    }
  })

  it('stays if a bulk enqueue of several paths has joined it', async () => {
    const domain = await queue.domain()
    const crawler = await wait(domain)
    const others = await enqueue(queue.pool, domain, [HOME, '/other' as PagePath], 'warm')
    assert.equal(others[0]?.jobId, crawler.job)
    await crawler.leave()
    await isWaitedForBy(crawler.job, 0)
    const jobs = await queue.claim()
    assert.deepEqual(new Set(jobs.map(({ id }) => id)), new Set(others.map(({ jobId }) => jobId)))
    for (const job of jobs) await queue.complete(job, RENDERED)
  })

  it('goes on and is stored if it runs already', async () => {
    const domain = await queue.domain()
    const crawler = await wait(domain)
    const [job] = await queue.claim()
    await crawler.leave()
    await isWaitedForBy(crawler.job, 0)
    await queue.complete(job!, RENDERED)
    assert.deepEqual(await queue.stored(domain), ['/'])
  })

  it('is a refresh, and not deleted, once another crawler has asked for it again and has waited in vain', async () => {
    const domain = await queue.domain()
    const first = await wait(domain)
    await first.waitInVain()
    await isWaitedForBy(first.job, 0)
    const second = await wait(domain)
    await second.leave()
    await isWaitedForBy(first.job, 0)
    const [job] = await queue.claim()
    assert.deepEqual([job?.id, job?.priority], [first.job, 'refresh'])
    await queue.complete(job!, RENDERED)
  })
})

it('a crawler that asks while the last other one leaves gets a job that exists', async () => {
  const domain = await queue.domain()
  for (let round = 0; round < 50; round++) {
    const leaving = await wait(domain)
    const [next] = await Promise.all([ask(domain), leaving.leave()])
    await until('the leave is written', async () => (await waiters(next)) === 1)
    const control = new AbortController()
    const end = waiter.wait(next, control.signal)
    control.abort(new Abandoned())
    assert.equal(await end, 'late')
    await isGone(next)
  }
})
