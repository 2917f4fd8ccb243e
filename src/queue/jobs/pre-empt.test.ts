/** A live job that has waited long enough has a background render make room for it. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { paths, RENDERED, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import type { ClaimedJob } from './claim.ts'
import { enqueue } from './enqueue.ts'
import type { Priority } from './job.ts'
import { CLAIM_GRACE_MS, GIVEN_BACK_LIMIT, LONG_RENDER_MS, Preemption, type Run } from './pre-empt.ts'

const NODE = 'this-node'
const PATIENCE_MS = 250
const CAP = 3

let queue: TestQueue
const clock = { atMs: 0 }
before(async () => {
  queue = await testQueue()
})
after(() => queue.close())
beforeEach(() => queue.pool.query('truncate job, unstored_page'))

const preemption = (accountCap = 100) =>
  new Preemption({
    ...{ pool: queue.pool, node: NODE, accountCap, domainCap: CAP, preemptAfterMs: PATIENCE_MS },
    nowMs: () => clock.atMs,
  })

const running = (job: ClaimedJob): Run => ({
  ...{ job, abort: new AbortController(), startedMs: clock.atMs, ended: Promise.resolve() },
})

/** Renders of this node, one after the other. */
async function run(domain: DomainId, names: readonly string[], priority: Priority): Promise<Run[]> {
  const runs: Run[] = []
  for (const name of names) {
    await enqueue(queue.pool, domain, [name as PagePath], priority)
    const [job] = await queue.claim({ node: NODE })
    runs.push(running(job!))
  }
  return runs
}
const live = (domain: DomainId, ...names: string[]) =>
  enqueue(queue.pool, domain, names as PagePath[], 'live')
const aborted = (runs: readonly Run[]) =>
  runs.filter(({ abort }) => abort.signal.aborted).map(({ job }) => job.page.path)
/** Looked at now, and once patience is over. */
async function patiently(runs: readonly Run[], freeSlots = 0, accountCap = 100): Promise<string[]> {
  const preempt = preemption(accountCap)
  await preempt.makeRoom(runs, freeSlots)
  clock.atMs += PATIENCE_MS
  await preempt.makeRoom(runs, freeSlots)
  return aborted(runs)
}

describe('a live job without a slot', () => {
  // Proves decided "Live renders before background work"
  it('is patient for a while; then the youngest background render goes back into the queue, without a fault', async () => {
    const domain = await queue.domain()
    const runs = await run(domain, ['/old', '/young'], 'warm')
    const other = await queue.domain()
    await live(other, '/live')
    const preempt = preemption()
    assert.equal(await preempt.makeRoom(runs, 0), PATIENCE_MS)
    clock.atMs += PATIENCE_MS - 1
    assert.equal(await preempt.makeRoom(runs, 0), 1)
    assert.deepEqual(aborted(runs), [])
    clock.atMs += 1
    assert.equal(await preempt.makeRoom(runs, 0), null)
    assert.deepEqual(aborted(runs), ['/young'])
    assert.deepEqual(
      (await queue.jobs(domain)).map(({ path, state, faults }) => [path, state, faults]),
      [
        ['/old', 'running', 0],
        ['/young', 'queued', 0],
      ],
    )
    // Its slot is about to be free: nobody else has to go for the same.
    clock.atMs += PATIENCE_MS
    await preempt.makeRoom(runs, 0)
    assert.deepEqual(aborted(runs), ['/young'])
    // What it still brings is refused; the crawler's job comes first, then it runs again.
    assert.deepEqual(await queue.complete(runs[1]!.job, RENDERED), { state: 'taken-away' })
    const claimed = [await queue.claim({ slots: 1 }), await queue.claim({ slots: 1 })].flat()
    assert.deepEqual(
      claimed.map(({ page, attempts }) => [page.path, attempts]),
      [
        ['/live', 1],
        ['/young', 2],
      ],
    )
  })

  it('one goes for each that waits, refresh as well as warm', async () => {
    const domain = await queue.domain()
    const runs = [...(await run(domain, ['/a'], 'refresh')), ...(await run(domain, ['/b', '/c'], 'warm'))]
    await live(await queue.domain(), '/one', '/two')
    assert.deepEqual(await patiently(runs), ['/b', '/c'])
  })

  it('nobody goes while there is a free slot, which it is about to have', async () => {
    const runs = await run(await queue.domain(), ['/a', '/b'], 'warm')
    await live(await queue.domain(), '/one')
    assert.deepEqual(await patiently(runs, 1), [])
    await live(await queue.domain(), '/two')
    assert.deepEqual(await patiently(runs, 1), ['/b'])
  })

  // Proves decided "Live renders before background work"
  it('a live render never goes, nor one that a crawler has come to wait for', async () => {
    const domain = await queue.domain()
    const runs = [...(await run(domain, ['/live'], 'live')), ...(await run(domain, ['/warm'], 'warm'))]
    await live(domain, '/warm')
    await live(await queue.domain(), '/other')
    assert.deepEqual(await patiently(runs), [])
    assert.deepEqual(
      (await queue.jobs(domain)).map(({ state }) => state),
      ['running', 'running'],
    )
  })

  it('a render that has gone so often stays', async () => {
    const domain = await queue.domain()
    const [again] = await run(domain, ['/again'], 'warm')
    await live(await queue.domain(), '/live')
    const after = (attempts: number) => patiently([running({ ...again!.job, attempts, faults: 1 })])
    await queue.pool.query('update job set attempts = $1 where path = $2', [GIVEN_BACK_LIMIT + 2, '/again'])
    assert.deepEqual(await after(GIVEN_BACK_LIMIT + 2), [])
    await queue.pool.query('update job set attempts = $1 where path = $2', [GIVEN_BACK_LIMIT + 1, '/again'])
    assert.deepEqual(await after(GIVEN_BACK_LIMIT + 1), ['/again'])
  })

  it('nobody goes for a job that waits for its back-off', async () => {
    const runs = await run(await queue.domain(), ['/a'], 'warm')
    await live(await queue.domain(), '/live')
    await queue.pool.query(`update job set run_at = now() + interval '1 hour' where state = 'queued'`)
    assert.deepEqual(await patiently(runs), [])
  })
})

describe('a live job whose account is at its cap', () => {
  it('has a render of its own account make room, also where a slot is free', async () => {
    const [capped, other] = [await queue.domain(), await queue.domain()]
    const second = await queue.domain({ account: await queue.accountOf(capped) })
    const runs = [...(await run(capped, ['/a'], 'warm')), ...(await run(other, ['/other'], 'warm'))]
    await live(second, '/live')
    assert.deepEqual(await patiently(runs, 1, 1), ['/a'])
  })

  it('counts the jobs that come before it', async () => {
    const domain = await queue.domain()
    const runs = await run(domain, ['/a', '/b'], 'warm')
    await live(domain, '/one', '/two')
    assert.deepEqual(await patiently(runs, 1, 3), ['/b'])
  })
})

describe('a long render', () => {
  it('that no crawler waits for goes at once, but for the time that another node needs to claim', async () => {
    const runs = await run(await queue.domain(), ['/a'], 'warm')
    clock.atMs += LONG_RENDER_MS - CLAIM_GRACE_MS
    await live(await queue.domain(), '/live')
    const preempt = preemption()
    assert.equal(await preempt.makeRoom(runs, 0), CLAIM_GRACE_MS)
    clock.atMs += CLAIM_GRACE_MS
    assert.equal(await preempt.makeRoom(runs, 0), null)
    assert.deepEqual(aborted(runs), ['/a'])
  })

  it('whose crawlers have left goes, and is a refresh then', async () => {
    const domain = await queue.domain()
    const runs = await run(domain, ['/left'], 'live')
    await queue.pool.query('update job set wait_until = now()')
    await live(await queue.domain(), '/live')
    assert.deepEqual(await patiently(runs), ['/left'])
    const [job] = await queue.jobs(domain)
    assert.deepEqual([job?.state, job?.priority], ['queued', 1])
  })

  // Proves decided "Fair shares of render slots"
  it('of the account with most of them goes for an account that has none, and stays live', async () => {
    const [many, one] = [await queue.domain(), await queue.domain()]
    const runs = [...(await run(many, ['/a', '/b'], 'live')), ...(await run(one, ['/c'], 'live'))]
    await live(many, '/more')
    await live(await queue.domain(), '/live')
    assert.deepEqual(await patiently(runs), [], 'they are not long yet')
    clock.atMs += LONG_RENDER_MS
    assert.deepEqual(await patiently(runs), ['/b'])
    assert.deepEqual(
      (await queue.jobs(many)).map(({ path, state, priority }) => [path, state, priority]),
      [
        ['/a', 'running', 0],
        ['/b', 'queued', 0],
        ['/more', 'queued', 0],
      ],
    )
  })

  // Proves decided "Fair shares of render slots"
  it('that was given back may take twice as long the next time', async () => {
    const domain = await queue.domain()
    const [first] = await run(domain, ['/slow'], 'live')
    await queue.pool.query('update job set attempts = 2')
    const runs = [running({ ...first!.job, attempts: 2 })]
    await live(await queue.domain(), '/live')
    clock.atMs += LONG_RENDER_MS
    assert.deepEqual(await patiently(runs), [])
    clock.atMs += LONG_RENDER_MS
    assert.deepEqual(await patiently(runs), ['/slow'])
  })
})

describe('a live job whose domain is at its cap', () => {
  // Proves decided "Live renders before background work"
  it('has a render of its own domain make room, also where slots are free', async () => {
    const [capped, other] = [await queue.domain(), await queue.domain()]
    const runs = [
      ...(await run(
        capped,
        paths(CAP).map((path) => `/capped${path}`),
        'warm',
      )),
      ...(await run(other, ['/other'], 'warm')),
    ]
    await live(capped, '/live')
    assert.deepEqual(await patiently(runs, 4), [`/capped/p${CAP - 1}`])
  })

  it('counts what runs at other nodes', async () => {
    const domain = await queue.domain()
    const runs = await run(domain, ['/here'], 'warm')
    await enqueue(queue.pool, domain, paths(CAP - 1), 'warm')
    await queue.claim({ node: 'another' })
    await live(domain, '/live')
    assert.deepEqual(await patiently(runs, 4), ['/here'])
  })
})
