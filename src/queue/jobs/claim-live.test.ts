/** A miss at a node that renders: queued and claimed in one step, by the rules of every claim. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { columns, HOME, openQueue, paths, pathsOf } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { pageId } from '../../store/page-id.ts'
import { captureByMs, createClaimLive } from './claim.ts'
import { enqueue } from './enqueue.ts'

const queue = await openQueue()

/** One miss at a node with `slots` free ones, of which all but one take other work too. */
function miss(domain: DomainId, path: PagePath = HOME, slots = 1, cap = 4) {
  const rules = {
    ...{ accountCap: 100, domainCap: cap, domainBackgroundCap: cap },
    ...{ leaseMs: 60_000, liveWaitMs: 10_000 },
  }
  const ask = createClaimLive({ pool: queue.pool, plans: DEFAULT_PLANS }, 'node', rules)
  const want = { slots, backgroundSlots: slots - 1, occupied: [] }
  return ask({ page: pageId(domain, path), requestId: 'request' }, want, systemClock.nowMs())
}

it('is queued, with the name of its request, and claimed with all that its render needs', async () => {
  const domain = await queue.domain()
  const { job, claimed } = await miss(domain)
  await queue.pool.query(`update job set state = 'queued'`)
  const [again] = await queue.claim({ node: 'node' })
  const captureByMs = claimed[0]?.captureByMs
  assert.deepEqual(claimed, [{ ...again, attempts: 1, captureByMs }], 'as any claim gives it')
  const { rows } = await queue.pool.query('select id, request_id from job')
  assert.deepEqual(rows, [{ id: job, request_id: 'request' }])
})

it('joins the open job of its page, and does not claim what runs', async () => {
  const domain = await queue.domain()
  const first = await miss(domain)
  const second = await miss(domain)
  assert.equal(second.job, first.job)
  assert.deepEqual(second.claimed, [])
})

it('takes its turn: what is claimed is whoever is first, and others as far as there is room', async () => {
  const [domain, other] = [await queue.domain(), await queue.domain()]
  await enqueue(queue.pool, domain, paths(2), 'live')
  const one = await miss(domain, '/a' as PagePath, 1)
  assert.deepEqual(pathsOf(one.claimed), ['/p0'])
  await enqueue(queue.pool, other, [HOME], 'warm')
  const more = await miss(domain, '/b' as PagePath, 3)
  assert.deepEqual(pathsOf(more.claimed), ['/p1', '/a', '/b'], 'a crawler before all that nobody waits for')
})

it('waits while its domain is at its cap', async () => {
  const domain = await queue.domain()
  for (const path of paths(2)) assert.equal((await miss(domain, path, 4, 2)).claimed.length, 1)
  const third = await miss(domain, '/third' as PagePath, 4, 2)
  assert.deepEqual(third.claimed, [])
  assert.deepEqual(
    columns(await queue.jobs(domain), 'state')
      .flat()
      .sort(),
    ['queued', 'running', 'running'],
  )
})

it('at 120 % of its month nothing is queued, nor claimed for anybody; one render before it is', async () => {
  const [domain, other] = [await queue.domain({ plan: 'starter' }), await queue.domain()]
  await queue.useRenders(domain, 1_200)
  await enqueue(queue.pool, other, [HOME], 'live')
  assert.deepEqual(await miss(domain), { job: 'over-quota', claimed: [] })
  assert.deepEqual(await queue.jobs(domain), [])
  assert.equal((await queue.jobs(other))[0]?.state, 'queued')
  await queue.useRenders(domain, 1_199)
  assert.notEqual((await miss(domain)).job, 'over-quota')
})

it('a plan that nobody knows allows nothing', async () =>
  assert.equal((await miss(await queue.domain({ plan: 'gone' }))).job, 'over-quota'))

it('a domain that is gone is said to be', async () => {
  await assert.rejects(
    miss(0 as DomainId),
    (error) => error instanceof AppError && error.code === 'domain_not_found',
  )
})

it('is captured a second before its crawler has to be answered', async () => {
  const domain = await queue.domain()
  const beganMs = systemClock.nowMs()
  const { claimed } = await miss(domain)
  const byMs = claimed[0]?.captureByMs ?? 0
  assert(byMs > beganMs + 8_000 && byMs <= systemClock.nowMs() + 9_000, `${byMs - beganMs}`)
  assert.equal((await queue.running(domain, '/warm', 'warm')).captureByMs, null)
})

for (const [what, priority, queuedMs, waitLeftMs, leftMs] of [
  ['just asked for', 0, 0, 20_000, 9_000],
  ['after a wait in the queue', 0, 4_000, 16_000, 5_000],
  ['with just enough time', 0, 7_500, 12_500, 1_500],
  ['with too little', 0, 7_501, 12_499, null],
  ['joined by a second crawler: the first counts', 0, 4_000, 20_000, 5_000],
  ['queued long ago, and joined now', 0, 3_600_000, 20_000, 9_000],
  ['a background job', 1, 0, null, null],
  ['without a crawler', 0, 0, null, null],
] as const)
  it(`${what}: ${leftMs ?? 'no'} ms are left`, () => {
    const row = { priority, queued_ms: queuedMs, wait_left_ms: waitLeftMs }
    assert.equal(captureByMs(row, 10_000, 100), leftMs === null ? null : 100 + leftMs)
  })
