import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { columns, HOME, openQueue, paths, RENDERED } from '../../../test/support/queue.ts'
import type { JobId } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import { createJobWaiter } from './await.ts'
import { cancelJobs } from './cancel.ts'
import { createReaper } from './complete.ts'
import { enqueue } from './enqueue.ts'
import { startLease } from './lease.ts'

const queue = await openQueue()

const reap = createReaper(queue.pool)
const leaseOf = (node: string, runs: Parameters<typeof startLease>[2] = []) =>
  startLease(queue.connection, { node, leaseMs: 60_000, renewMs: 60_000 }, runs, silentLog())

describe('reaping', () => {
  it('takes nothing from a node that lives and renews, what it did not renew, and all once it has gone', async () => {
    const node = randomUUID()
    const lease = await leaseOf(node)
    await enqueue(queue.pool, await queue.domain(), [HOME], 'live')
    const [job] = await queue.claim({ node })
    const leaseEnds = (inMs: number) =>
      queue.pool.query(`update job set lease_until = now() + $1 * interval '1 millisecond'`, [inMs])
    await leaseEnds(60_000)
    assert.equal(await reap(), 0)
    await leaseEnds(-1)
    assert.equal(await reap(), 1)
    assert.deepEqual(await queue.complete(job!, RENDERED), { state: 'taken-away' })
    await queue.claim({ node })
    await lease.close()
    await until('the lock of the node is free', async () => (await reap()) === 1)
  })

  it('gives up on a job that outlives its third node; the page for phones follows all the same', async () => {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, [HOME], 'live', { variant: 'both' })
    const states: unknown[] = []
    for (let i = 0; i < 3; i++) {
      await queue.claim()
      assert.equal(await reap(), 1)
      states.push(...columns(await queue.jobs(domain), 'state', 'outcome'))
    }
    assert.deepEqual(states.map(String), ['queued,', 'queued,', 'failed,crashed', 'queued,'])
  })

  it('leaves alone what is being completed at this moment', async () => {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, [HOME], 'live')
    await queue.claim()
    const completing = await queue.pool.connect()
    await completing.query('begin')
    await completing.query('select from job for update')
    assert.equal(await reap(), 0)
    await completing.query('rollback')
    completing.release()
    assert.equal(await reap(), 1)
  })
})

it('a lease comes back after its connection was lost, and then tells what was taken', async () => {
  const backend = async () => {
    const ours = 'database = (select oid from pg_database where datname = current_database())'
    const sql = `select pid from pg_locks where locktype = 'advisory' and granted and ${ours}`
    return (await queue.column<number>(sql))[0]
  }
  const node = randomUUID()
  const run = { job: { id: randomUUID() as never, attempts: 1 }, abort: new AbortController() }
  const runs: (typeof run)[] = []
  const lease = await leaseOf(node, runs)
  assert(lease.held)
  await until('the first renewal', async () => (await backend()) !== undefined)
  runs.push(run)
  await queue.pool.query('select pg_terminate_backend($1)', [await backend()])
  await until('it knows', () => run.abort.signal.aborted)
  await until('it holds again', () => lease.held)
  await lease.close()
  assert(!lease.held)
})

const listener = await queue.listener()
const DONE = { state: 'done', outcome: 'rendered' } as const
const patience = () => AbortSignal.timeout(8_000)
/** Longer than any test: what is heard was heard without it. */
const NO_POLL_MS = 600_000
/** Hears nothing. */
const DEAF = { on() {}, onLost() {} }

async function newJob(): Promise<JobId> {
  const [job] = await enqueue(queue.pool, await queue.domain(), [HOME], 'live')
  return job!.jobId
}

async function finishAll(): Promise<void> {
  for (const job of await queue.claim({ cap: 10_000, slots: 10_000 })) await queue.complete(job, RENDERED)
}

describe('awaiting a job', () => {
  it('is told by its own node with the page, and once', async () => {
    const waiter = createJobWaiter(DEAF, queue.pool, silentLog(), NO_POLL_MS)
    const [id, other] = [await newJob(), await newJob()]
    const waits = [waiter.wait(id, patience()), waiter.wait(id, patience())]
    const bodyBr = Buffer.from('br')
    const rest = { status: 200, headers: [], htmlBytes: 1, etag: 'x', renderedAtMs: 0, staleSinceMs: null }
    const page = { kind: 'page', variant: 'desktop', bodyBr, ...rest } as const
    waiter.ended(other, DONE, null)
    assert.equal(waiter.waiting, 1, 'nobody waits for that one')
    waiter.ended(id, DONE, page)
    waiter.ended(id, { state: 'failed', outcome: 'blank' }, null)
    assert.deepEqual(await Promise.all(waits), Array(2).fill({ ...DONE, page }))
    assert.equal(waiter.waiting, 0)
  })

  it('no end is missed, whenever it comes', async () => {
    const waiter = createJobWaiter(listener, queue.pool, silentLog(), NO_POLL_MS)
    for (let round = 0; round < 30; round++) {
      const id = await newJob()
      const [end] = await Promise.all([waiter.wait(id, AbortSignal.timeout(5_000)), finishAll()])
      assert.notEqual(end, 'late', `round ${round}`)
    }
  })

  it('looks again when the listener connection was lost', async () => {
    const waiter = createJobWaiter(await queue.listener(), queue.pool, silentLog(), NO_POLL_MS)
    const waiting = newJob().then((id) => waiter.wait(id, patience()))
    await until('it waits', () => waiter.waiting === 1)
    await queue.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%' and datname = current_database()`,
    )
    await finishAll()
    assert.deepEqual(await waiting, DONE)
  })

  it('is late when the signal comes first, or the waiter is closed, and nothing of it stays behind', async () => {
    const waiter = createJobWaiter(listener, queue.pool, silentLog())
    const id = await newJob()
    const control = new AbortController()
    const [patient, impatient] = [waiter.wait(id, patience()), waiter.wait(id, control.signal)]
    control.abort()
    assert.equal(await impatient, 'late')
    assert.equal(waiter.waiting, 1)
    await finishAll()
    assert.notEqual(await patient, 'late')
    assert.equal(waiter.waiting, 0)
    assert.equal(await waiter.wait(id, AbortSignal.abort()), 'late')
    const last = waiter.wait(await newJob(), patience())
    waiter.close()
    await until('it is told', () => waiter.waiting === 0, 5_000)
    assert.equal(await last, 'late')
  })

  it('tells how it ended: cancelled, or gone with its domain', async () => {
    const waiter = createJobWaiter(listener, queue.pool, silentLog(), 20)
    const [one, two] = [await queue.domain(), await queue.domain()]
    const jobs = [one, two].map((domain) => enqueue(queue.pool, domain, [HOME], 'live'))
    const waits = (await Promise.all(jobs)).map(([job]) => waiter.wait(job!.jobId, patience()))
    await cancelJobs(queue.pool, one)
    await queue.pool.query('delete from domain where id = $1', [two])
    assert.deepEqual(await Promise.all(waits), [
      { state: 'cancelled', outcome: 'cancelled' },
      { state: 'cancelled', outcome: 'domain-gone' },
    ])
  })

  it('thousands who wait cost one query a look', async (t) => {
    const jobs = await enqueue(queue.pool, await queue.domain(), paths(3_000), 'live')
    const looks: (() => void)[] = []
    const losing = { on() {}, onLost: (react: () => void) => void looks.push(react) }
    const query = t.mock.method(queue.pool, 'query')
    const waiter = createJobWaiter(losing, queue.pool, silentLog(), NO_POLL_MS)
    const waits = jobs.map(({ jobId }) => waiter.wait(jobId, patience()))
    await until('the first look', () => query.mock.callCount() > 0)
    assert.equal(query.mock.callCount(), 1)
    await queue.pool.query(`update job set state = 'done', outcome = 'rendered', finished_at = now()`)
    for (const look of looks) look()
    const ends = await Promise.all(waits)
    assert(ends.every((end) => end !== 'late' && end.state === 'done'))
    assert(query.mock.callCount() <= 3, `${query.mock.callCount()} queries`)
    assert.equal(waiter.waiting, 0)
  })

  it('outlives a database that does not answer', async (t) => {
    const id = await newJob()
    await finishAll()
    const query = t.mock.method(queue.pool, 'query')
    for (const call of [0, 1])
      query.mock.mockImplementationOnce(() => Promise.reject(new Error('away')), call)
    const waiter = createJobWaiter(DEAF, queue.pool, silentLog(), 20)
    assert.deepEqual(await waiter.wait(id, patience()), DONE)
    assert(query.mock.callCount() > 2)
  })
})
