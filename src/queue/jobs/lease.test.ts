import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { columns, HOME, openQueue, RENDERED } from '../../../test/support/queue.ts'
import { silentLog } from '../../log.ts'
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

  it('gives up on a job that outlives its third node', async () => {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, [HOME], 'live')
    const states: unknown[] = []
    for (let i = 0; i < 3; i++) {
      await queue.claim()
      assert.equal(await reap(), 1)
      states.push(...columns(await queue.jobs(domain), 'state', 'outcome'))
    }
    assert.deepEqual(states.map(String), ['queued,', 'queued,', 'failed,crashed'])
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

  it('reapers at once take each job once', async () => {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, [HOME], 'live')
    await queue.claim()
    const taken = await Promise.all(Array.from({ length: 6 }, () => reap()))
    assert.deepEqual(taken.toSorted(), [0, 0, 0, 0, 0, 1])
    assert.equal((await queue.jobs(domain))[0]?.faults, 1)
  })
})

describe('a lease', () => {
  it('comes back after its connection was lost, and then tells what was taken', async () => {
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

    async function backend(): Promise<number | undefined> {
      const { rows } = await queue.pool.query<{ pid: number }>(
        `select pid from pg_locks where locktype = 'advisory' and granted and database =
           (select oid from pg_database where datname = current_database())`,
      )
      return rows[0]?.pid
    }
  })
})
