/** A live job that has waited long enough has a background render make room for it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { Priority } from '@prepaint/contract/outcome/job.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { columns, openQueue, paths, pathsOf, RENDERED } from '../../../../../test/support/queue.ts'
import type { ClaimedJob } from './claim.ts'
import { enqueue } from './enqueue.ts'
import { Notices } from './notices.ts'
import { CLAIM_GRACE_MS, GIVEN_BACK_LIMIT, LONG_RENDER_MS, Preemption, type Run } from './pre-empt.ts'

const NODE = 'this-node'
const PATIENCE_MS = 250
const CAP = 3

const queue = await openQueue()
const clock = { atMs: 0 }
const notices = new Notices(queue.pool, silentLog())

const preemption = (accountCap = 100) =>
  new Preemption(queue.pool, { nowMs: () => clock.atMs }, notices, {
    node: NODE,
    accountCap,
    domainCap: CAP,
    preemptAfterMs: PATIENCE_MS,
  })

const running = (job: ClaimedJob): Run => ({
  ...{ job, abort: new AbortController(), startedMs: clock.atMs, ended: Promise.resolve() },
})

/** Renders of this node, one after the other. */
async function run(domain: DomainId, names: readonly string[], priority: Priority): Promise<Run[]> {
  const runs: Run[] = []
  for (const name of names) {
    await enqueue(queue.pool, domain, [name as PagePath], priority)
    runs.push(...(await queue.claim({ node: NODE })).map(running))
  }
  return runs
}
const live = (domain: DomainId, ...names: string[]) =>
  enqueue(queue.pool, domain, names as PagePath[], 'live')
const aborted = (runs: readonly Run[]) =>
  pathsOf(runs.flatMap(({ abort, job }) => (abort.signal.aborted ? job : [])))
/** Path, state and priority of a domain's jobs. */
const jobs = async (domain: DomainId) =>
  columns(await queue.jobs(domain), 'path', 'state', 'priority').map((row) => row.join(' '))
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
  it('a live job waits for a while, then the youngest background render goes back into the queue, without a fault', async () => {
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
    assert.deepEqual(await jobs(domain), ['/old running 2', '/young queued 2'])
    assert.deepEqual(columns(await queue.jobs(domain), 'faults').flat(), [0, 0])
    // Its slot is about to be free: nobody else has to go for the same.
    clock.atMs += PATIENCE_MS
    await preempt.makeRoom(runs, 0)
    assert.deepEqual(aborted(runs), ['/young'])
    // What it still brings is refused; the crawler's job comes first, then it runs again.
    assert.deepEqual(await queue.complete(runs[1]!.job, RENDERED), { state: 'taken-away' })
    const claimed = [await queue.claim({ slots: 1 }), await queue.claim({ slots: 1 })].flat()
    assert.deepEqual(pathsOf(claimed), ['/live', '/young'])
    assert.deepEqual(columns(claimed, 'attempts').flat(), [1, 2])
  })

  it('one background render goes back for each waiting live job, but for none that a free slot is about to take', async () => {
    const domain = await queue.domain()
    const runs = [...(await run(domain, ['/a'], 'refresh')), ...(await run(domain, ['/b', '/c'], 'warm'))]
    await live(await queue.domain(), '/one')
    assert.deepEqual(await patiently(runs, 1), [])
    await live(await queue.domain(), '/two', '/three')
    assert.deepEqual(await patiently(runs, 1), ['/b', '/c'])
    await live(await queue.domain(), '/four')
    assert.deepEqual(await patiently(runs, 1), ['/a', '/b', '/c'])
  })

  // Proves decided "Live renders before background work"
  it('a live render never goes back, nor one that a crawler has come to wait for', async () => {
    const domain = await queue.domain()
    const runs = [...(await run(domain, ['/live'], 'live')), ...(await run(domain, ['/warm'], 'warm'))]
    await live(domain, '/warm')
    await live(await queue.domain(), '/other')
    assert.deepEqual(await patiently(runs), [])
    assert.deepEqual(await jobs(domain), ['/live running 0', '/warm running 0'])
  })

  it('a render that went back as often as it may stays', async () => {
    const [again] = await run(await queue.domain(), ['/again'], 'warm')
    await live(await queue.domain(), '/live')
    const after = async (attempts: number) => {
      await queue.pool.query(`update job set attempts = $1 where path = '/again'`, [attempts])
      return patiently([running({ ...again!.job, attempts, faults: 1 })])
    }
    assert.deepEqual(await after(GIVEN_BACK_LIMIT + 2), [])
    assert.deepEqual(await after(GIVEN_BACK_LIMIT + 1), ['/again'])
  })
})

describe('a long render', () => {
  it('a long render that no crawler waits for goes back at once, after the time that another node needs to claim', async () => {
    const runs = await run(await queue.domain(), ['/a'], 'warm')
    clock.atMs += LONG_RENDER_MS - CLAIM_GRACE_MS
    await live(await queue.domain(), '/live')
    const preempt = preemption()
    assert.equal(await preempt.makeRoom(runs, 0), CLAIM_GRACE_MS)
    clock.atMs += CLAIM_GRACE_MS
    assert.equal(await preempt.makeRoom(runs, 0), null)
    assert.deepEqual(aborted(runs), ['/a'])
  })

  it('a long render whose crawlers have left goes back as a refresh', async () => {
    const domain = await queue.domain()
    const runs = await run(domain, ['/left'], 'live')
    await queue.pool.query('update job set wait_until = now()')
    await live(await queue.domain(), '/live')
    assert.deepEqual(await patiently(runs), ['/left'])
    assert.deepEqual(await jobs(domain), ['/left queued 1'])
  })

  // Proves decided "Fair shares of render slots"
  it('a long live render of the account with most renders goes back for an account without one, and stays live', async () => {
    const [many, one] = [await queue.domain(), await queue.domain()]
    const runs = [...(await run(many, ['/a', '/b'], 'live')), ...(await run(one, ['/c'], 'live'))]
    await live(many, '/more')
    await live(await queue.domain(), '/live')
    assert.deepEqual(await patiently(runs), [], 'they are not long yet')
    clock.atMs += LONG_RENDER_MS
    assert.deepEqual(await patiently(runs), ['/b'])
    assert.deepEqual(await jobs(many), ['/a running 0', '/b queued 0', '/more queued 0'])
  })

  // Proves decided "Fair shares of render slots"
  it('a long render that was given back may take twice as long the next time', async () => {
    const [first] = await run(await queue.domain(), ['/slow'], 'live')
    await queue.pool.query('update job set attempts = 2')
    const runs = [running({ ...first!.job, attempts: 2 })]
    await live(await queue.domain(), '/live')
    clock.atMs += LONG_RENDER_MS
    assert.deepEqual(await patiently(runs), [])
    clock.atMs += LONG_RENDER_MS
    assert.deepEqual(await patiently(runs), ['/slow'])
  })
})

describe('a live job', () => {
  it('a live job whose account is at its cap has a render of its own account make room, also where a slot is free', async () => {
    const [capped, other] = [await queue.domain(), await queue.domain()]
    const second = await queue.domain({ account: await queue.accountOf(capped) })
    const runs = [...(await run(capped, ['/a'], 'warm')), ...(await run(other, ['/other'], 'warm'))]
    await live(second, '/live')
    assert.deepEqual(await patiently(runs, 1, 1), ['/a'])
  })

  // Proves decided "Live renders before background work"
  it('a live job whose domain is at its cap has a render of its own domain make room, also where slots are free', async () => {
    const [capped, other] = [await queue.domain(), await queue.domain()]
    const runs = [...(await run(capped, paths(CAP), 'warm')), ...(await run(other, ['/other'], 'warm'))]
    await live(capped, '/live')
    assert.deepEqual(await patiently(runs, 4), [`/p${CAP - 1}`])
  })
})
