import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import path from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { until } from '../../../test/support/condition.ts'
import { HOME, RENDERED, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import type { DomainId } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import { pageId } from '../../store/page-id.ts'
import { readStored } from '../../store/stored-page.ts'
import { createReaper } from './complete.ts'
import { enqueue } from './enqueue.ts'
import { startLease } from './lease.ts'
import type { WorkerOptions } from './worker.ts'

let queue: TestQueue
let reap: () => Promise<number>
before(async () => {
  queue = await testQueue()
  reap = createReaper(queue.pool)
})
after(() => queue.close())
beforeEach(async () => {
  await queue.pool.query('delete from job')
})

describe('a worker in a process of its own', () => {
  // One that dies is seen at once, long before its lease of a minute ends.
  it('killed with -9: its job runs elsewhere at once, and counts as a fault', async (test) => {
    const domain = await queue.domain()
    const first = startProcess(test, { html: 'first', reapMs: 600_000 })
    await enqueue(queue.pool, domain, [HOME], 'live')
    await first.heard('/')
    first.signal('SIGKILL')
    const second = startProcess(test, { html: 'second', reapMs: 20 })
    await second.heard('/')
    second.release()
    assert.equal(await storedHtml(domain), 'second')
    const [job] = await queue.jobs(domain)
    assert.equal(job?.faults, 1)
  })

  it('stopped past its lease: its job runs elsewhere, and its late result is refused', async (test) => {
    const domain = await queue.domain()
    const first = startProcess(test, { html: 'first', renewMs: 100, reapMs: 600_000 })
    await enqueue(queue.pool, domain, [HOME], 'live')
    await first.heard('/')
    first.signal('SIGSTOP')
    const second = startProcess(test, { html: 'second', reapMs: 20 })
    await leaseEnds(first.node, () => second.hasSaid('/'))
    second.release()
    assert.equal(await storedHtml(domain), 'second')
    first.release()
    first.signal('SIGCONT')
    await first.logged((line) => line['msg'] === 'job' && line['state'] === 'taken-away')
    assert.equal(await storedHtml(domain), 'second')
    const { rows } = await queue.pool.query('select renders from render_count where domain_id = $1', [domain])
    assert.deepEqual(rows, [{ renders: 1 }])
  })

  it('stopped and continued before the other is done: the late result is refused all the same', async (test) => {
    const domain = await queue.domain()
    const first = startProcess(test, { html: 'first', renewMs: 100, reapMs: 600_000 })
    await enqueue(queue.pool, domain, [HOME], 'live')
    await first.heard('/')
    first.signal('SIGSTOP')
    const second = startProcess(test, { html: 'second', reapMs: 20 })
    await leaseEnds(first.node, () => second.hasSaid('/'))
    first.release()
    first.signal('SIGCONT')
    await first.logged((line) => line['msg'] === 'job' && line['state'] === 'taken-away')
    assert.equal(await readStored(queue.pool, pageId(domain, HOME)), null)
    second.release()
    assert.equal(await storedHtml(domain), 'second')
  })
})

describe('reaping', () => {
  it('takes nothing from a node that lives and renews', async () => {
    const node = randomUUID()
    const lease = await startLease(
      queue.connection,
      { node, leaseMs: 60_000, renewMs: 60_000 },
      [],
      silentLog(),
    )
    await enqueue(queue.pool, await queue.domain(), [HOME], 'live')
    const [job] = await queue.claim({ node })
    assert.equal(await reap(), 0)
    await lease.close()
    await until('the lock of the node is free', async () => (await reap()) === 1)
    assert.deepEqual(await queue.complete(job!, RENDERED), { state: 'taken-away' })
  })

  it('takes what a living node did not renew', async () => {
    const node = randomUUID()
    const lease = await startLease(
      queue.connection,
      { node, leaseMs: 60_000, renewMs: 60_000 },
      [],
      silentLog(),
    )
    await enqueue(queue.pool, await queue.domain(), [HOME], 'live')
    await queue.claim({ node })
    await queue.pool.query(`update job set lease_until = now() + interval '1 minute'`)
    assert.equal(await reap(), 0)
    await queue.pool.query(`update job set lease_until = now() - interval '1 millisecond'`)
    assert.equal(await reap(), 1)
    await lease.close()
  })

  it('gives up on a job that outlives its third node', async () => {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, [HOME], 'live')
    const states: unknown[] = []
    for (let i = 0; i < 3; i++) {
      await queue.claim()
      assert.equal(await reap(), 1)
      const [job] = await queue.jobs(domain)
      states.push([job?.state, job?.outcome])
    }
    assert.deepEqual(states, [
      ['queued', null],
      ['queued', null],
      ['failed', 'crashed'],
    ])
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
    assert.equal(
      taken.reduce((sum, count) => sum + count),
      1,
    )
    assert.equal((await queue.jobs(domain))[0]?.faults, 1)
  })
})

describe('a lease', () => {
  it('comes back after its connection was lost, and then tells what was taken', async () => {
    const node = randomUUID()
    const run = { job: { id: randomUUID() as never, attempts: 1 }, abort: new AbortController() }
    const runs: (typeof run)[] = []
    const lease = await startLease(
      queue.connection,
      { node, leaseMs: 60_000, renewMs: 60_000 },
      runs,
      silentLog(),
    )
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

async function storedHtml(domain: DomainId): Promise<string> {
  await until('a page is stored', async () => (await readStored(queue.pool, pageId(domain, HOME))) !== null)
  const page = await readStored(queue.pool, pageId(domain, HOME))
  return page?.kind === 'page' ? brotliDecompressSync(page.bodyBr).toString() : ''
}

/** The lease of a node that stands still ends, again where a renewal that it had sent before came behind. */
async function leaseEnds(node: string, isTakenOver: () => boolean): Promise<void> {
  await until('another node has its job', async () => {
    await queue.pool.query(`update job set lease_until = now() - interval '1 millisecond' where node = $1`, [
      node,
    ])
    return isTakenOver()
  })
}

type Test = { after(undo: () => Promise<void>): void }

function startProcess(test: Test, { html, ...options }: Partial<WorkerOptions> & { html: string }) {
  const { connection } = queue
  const node = randomUUID()
  const plain = Object.fromEntries(
    ['host', 'port', 'user', 'database'].map((name) => [name, connection[name as 'host']]),
  )
  const child = spawn(
    process.execPath,
    [
      path.join(import.meta.dirname, '../../../test/support/worker-main.ts'),
      JSON.stringify({ connection: plain, options: { node, slots: 2, ...options }, html }),
    ],
    { stdio: ['pipe', 'pipe', 'pipe'] },
  )
  const exited = once(child, 'exit')
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  child.stdin.on('error', () => {})
  test.after(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const hasSaid = (line: string) => out.split('\n').includes(line)
  return {
    node,
    hasSaid,
    heard: (line: string) => until(`"${line}" from a worker: ${err}`, () => hasSaid(line)),
    logged: (wanted: (line: Record<string, unknown>) => boolean) =>
      until('a line in the log of a worker', () =>
        err
          .split('\n')
          .slice(0, -1)
          .some((line) => line.startsWith('{') && wanted(JSON.parse(line))),
      ),
    signal: (name: NodeJS.Signals) => void child.kill(name),
    release: () => void child.stdin.write('release\n'),
  }
}
