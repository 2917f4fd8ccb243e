import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { Priority } from '@prepaint/contract/outcome/job.ts'
import type { RenderOutcome, RenderRequest } from '@prepaint/contract/outcome/outcome.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import { columns, HOME, openQueue, paths, RENDERED } from '../../../../../test/support/queue.ts'
import { JobWaiter } from './await.ts'
import { cancelJobs } from './cancel.ts'
import { BROUGHT } from './claim.ts'
import { JobCompleter } from './complete.ts'
import { enqueue } from './enqueue.ts'
import { Notices } from './notices.ts'
import { QueueWorker, type WorkerOptions, type WorkerParts } from './worker.ts'

const queue = await openQueue()
const listener = await queue.listener()
const waiter = new JobWaiter(listener, queue.pool, silentLog())
const DONE = { state: 'done', outcome: 'rendered' }

const ask = async (domain: DomainId, path: PagePath = HOME, priority: Priority = 'live') => {
  const [job] = await enqueue(queue.pool, domain, [path], priority)
  return waiter.wait(job!.jobId, AbortSignal.timeout(60_000))
}

describe('a worker', () => {
  it('renders what is queued, woken by the notification; with one slot only, background work too', async (t) => {
    await start(t, { slots: 1, pollMs: 600_000 })
    for (const priority of ['live', 'warm'] as const)
      assert.deepEqual(await ask(await queue.domain(), HOME, priority), DONE)
  })

  it('finds what was queued while the queue was empty, although its notification was lost', async (t) => {
    const worker = await start(t, { pollMs: 20, reapMs: 40 })
    const domain = await queue.domain()
    await ask(domain)
    for (let n = 2; n <= 4; n++) {
      // No function queues it, so that nothing is notified.
      await queue.pool.query(
        `insert into job (domain_id, account_id, path, priority, state, turn)
         select id, account_id, '/unheard' || $2::text, 0, 'queued', 1 from domain where id = $1`,
        [domain, n],
      )
      await worker.began(n)
      await until('it has ended', async () => (await open(domain)) === 0)
    }
  })

  // Proves decided "Live renders before background work"
  it('keeps a slot for live, and never runs more than its slots', async (t) => {
    const worker = await start(t, { slots: 3, domainCap: 10, domainBackgroundCap: 10 }, 'held')
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, paths(5), 'warm')
    await worker.began(2)
    const other = await queue.domain()
    await enqueue(queue.pool, other, paths(2, '/live'), 'live')
    await worker.began(3)
    assert.equal(worker.requests[2]?.path, '/live0')
    worker.release()
    await until('all is rendered', async () => (await open(domain)) + (await open(other)) === 0)
    assert.equal(worker.most, 3)
  })

  it('leaves a slot to other accounts, and a crawler takes the place of a background render of its own account', async (t) => {
    const worker = await start(t, { slots: 3, domainCap: 10, domainBackgroundCap: 10 }, 'held')
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, paths(2, '/warm'), 'warm')
    await worker.began(2)
    await enqueue(queue.pool, domain, ['/live' as PagePath], 'live')
    await worker.began(3)
    assert.deepEqual([worker.requests[2]?.path, worker.running], ['/live', 2])
    assert.equal(worker.requests[1]?.signal.aborted, true, 'the youngest was given back')
  })

  it('renders nothing for an inactive domain or one over quota', async (t) => {
    const worker = await start(t)
    const inactive = await queue.domain({ active: false })
    assert.deepEqual(await ask(inactive), { state: 'cancelled', outcome: 'domain-inactive' })
    const over = await queue.domain({ plan: 'starter' })
    await queue.useRenders(over, 1_200)
    assert.deepEqual(await ask(over), { state: 'failed', outcome: 'over-quota' })
    await queue.useRenders(over, 1_199)
    assert.deepEqual(await ask(over), DONE)
    assert.equal(worker.requests.length, 1)
  })

  it('a renderer that throws, or a page that cannot be stored, is a crash, not the end of the worker', async (t) => {
    const unstorable = { ...RENDERED, status: 70_000 } as RenderOutcome
    await start(t, { pollMs: 20 }, ({ path }) => (path === '/' ? unstorable : assert.fail('boom')))
    for (const path of [HOME, '/throws' as PagePath])
      assert.deepEqual(await ask(await queue.domain(), path), { state: 'failed', outcome: 'crashed' })
  })

  it('leaves jobs to others while it has no browser', async (t) => {
    let healthy = false
    const worker = await start(t, { pollMs: 20, canRender: () => healthy })
    const asked = ask(await queue.domain())
    await until('the waiter waits', () => waiter.waiting === 1)
    assert.equal(worker.running, 0)
    healthy = true
    assert.deepEqual(await asked, DONE)
  })

  it('a job that is cancelled while it renders: the asker hears of it, and the slot is free', async (t) => {
    const { worker, domain, asked } = await rendering(t, { renewMs: 20 })
    await cancelJobs(queue.pool, domain)
    assert.deepEqual(await asked, { state: 'cancelled', outcome: 'cancelled' })
    await until('the render was told', () => worker.requests[0]!.signal.aborted)
    await until('the slot is free', () => worker.running === 0)
  })

  // Proves decided "Live renders before background work"
  it('beside a live render that takes the last slot but one, background work begins now and then', async (t) => {
    const clock = { atMs: 1_000_000, nowMs: () => clock.atMs }
    let looks = 0
    const canRender = () => ++looks > 0
    const worker = await start(t, { slots: 2, pollMs: 5, renewMs: 20, clock, canRender }, 'held')
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, ['/first' as PagePath], 'warm')
    await worker.began(1)
    await enqueue(queue.pool, await queue.domain(), ['/live' as PagePath], 'live')
    await worker.began(2)
    await cancelJobs(queue.pool, domain)
    await until('its slot is free', () => worker.running === 1)
    await enqueue(queue.pool, domain, ['/second' as PagePath], 'warm')
    const from = looks
    await until('the queue was looked at again', () => looks > from + 5)
    assert.equal(worker.requests.length, 2)
    clock.atMs += 1_000
    await until('it begins', () => worker.requests[2]?.path === '/second')
  })

  it('renews: a render may take longer than a lease', async (t) => {
    const { worker, asked } = await rendering(t, { leaseMs: 50_000, renewMs: 20, reapMs: 600_000 })
    const leftSeconds = async () => {
      const sql = 'select extract(epoch from lease_until - clock_timestamp())::float8 from job'
      return (await queue.column<number>(sql))[0]!
    }
    assert((await leftSeconds()) <= 50)
    // As much later the first lease would be over but for a moment.
    await queue.pool.query(`update job set lease_until = lease_until - interval '49 seconds'`)
    await until('it is renewed', async () => (await leftSeconds()) > 40)
    assert.equal(
      await new JobCompleter(
        queue.pool,
        DEFAULT_PLANS,
        systemClock,
        new Notices(queue.pool, silentLog()),
        queue.bodies,
      ).reap(),
      0,
    )
    worker.release()
    assert.deepEqual(await asked, DONE)
    assert.equal(worker.requests.length, 1)
  })

  it('renders what it has claimed while its next claim waits for the lane of another account', async (t) => {
    const [first, held] = await twoLanes()
    const { worker } = await transaction(queue.pool, async (client) => {
      await client.query(HOLD_LANE, [await queue.accountOf(held)])
      await enqueue(queue.pool, held, ['/held' as PagePath], 'live')
      await enqueue(queue.pool, first, ['/first' as PagePath], 'live')
      const worker = await start(t, { slots: 2, pollMs: 600_000 }, 'held')
      await worker.began(1)
      return { worker }
    })
    await worker.began(2)
    assert.deepEqual(columns(worker.requests, 'path').flat(), ['/first', '/held'])
  })

  it('renders a missed page while its next claim waits for the lane of another account', async (t) => {
    const [first, held] = await twoLanes()
    const worker = await start(t, { slots: 2, pollMs: 600_000, reapMs: 600_000 }, 'held')
    const { pool } = queue
    await until(
      'its first claim is over',
      () => pool.waitingCount === 0 && pool.idleCount === pool.totalCount,
    )
    await transaction(pool, async (client) => {
      await client.query(HOLD_LANE, [await queue.accountOf(held)])
      // No function queues it, so that nothing is notified.
      await pool.query(
        `insert into job (domain_id, account_id, path, priority, state, turn)
         select id, account_id, '/held', 0, 'queued', 1 from domain where id = $1`,
        [held],
      )
      await worker.enqueueLive(pageId(first, '/first' as PagePath), 'request')
      await worker.began(1)
    })
    await worker.began(2)
    assert.deepEqual(columns(worker.requests, 'path').flat(), ['/first', '/held'])
  })

  it('heals when all its connections were cut while it renders', async (t) => {
    const { worker, asked } = await rendering(t, { pollMs: 20 })
    await queue.pool.query(
      // Until each has ended.
      'select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    worker.release()
    assert.deepEqual(await asked, DONE)
    assert.deepEqual(await ask(await queue.domain()), DONE)
  })
})

it('closing a worker lets what runs finish, and takes nothing new', async (t) => {
  const { worker, domain, asked } = await rendering(t, { slots: 2 })
  const closing = worker.close(10_000)
  await enqueue(queue.pool, domain, paths(1), 'live')
  worker.release()
  await closing
  assert.deepEqual(await asked, DONE)
  assert.equal(worker.requests.length, 1)
})

it('closing a worker gives back at the deadline what runs, at once and without a fault', async (t) => {
  const { worker, domain, asked } = await rendering(t, { slots: 2 }, 'stuck')
  await worker.close(0)
  assert.equal(worker.requests[0]?.signal.aborted, true)
  assert.deepEqual(columns(await queue.jobs(domain), 'state', 'faults'), [['queued', 0]])
  await start(t)
  assert.deepEqual(await asked, DONE)
})

it('pages that need no browser share a slot; they go back to the queue where one does need it, and are rendered alone', async (t) => {
  const STATIC = { ...RENDERED, isStatic: true } as RenderOutcome
  const scripted = '/p20'
  const worker = await start(t, { slots: 2 }, ({ path, withoutBrowser }) => {
    if (path !== scripted) return STATIC
    return withoutBrowser ? { kind: 'aborted' } : RENDERED
  })
  const domain = await queue.domain()
  await enqueue(queue.pool, domain, paths(30), 'warm')
  await until('all are rendered', async () => (await open(domain)) === 0)
  const isBrought = columns(worker.requests, 'withoutBrowser').flat()
  assert(isBrought.filter(Boolean).length >= BROUGHT, 'once eight of their domain came in a row')
  assert.deepEqual(isBrought.slice(0, 8), Array(8).fill(false))
  const asked = worker.requests.filter(({ path }) => path === scripted)
  assert.deepEqual(columns(asked, 'withoutBrowser').flat(), [true, false])
  assert.equal((await queue.stored(domain)).length, 30)
  const [job] = (await queue.jobs(domain)).filter(({ path }) => path === scripted)
  assert.deepEqual([job?.state, job?.outcome, job?.faults], ['done', 'rendered', 0])
})

/** One claim at a time takes jobs of an account's lane. */
const HOLD_LANE = 'select pg_advisory_xact_lock(7226, 16 + $1 % 16)'

/** Two domains whose accounts are in different lanes. */
async function twoLanes(): Promise<[DomainId, DomainId]> {
  const one = await queue.domain()
  for (;;) {
    const other = await queue.domain()
    if ((await queue.accountOf(other)) % 16 !== (await queue.accountOf(one)) % 16) return [one, other]
  }
}

type Options = Partial<WorkerOptions> & Partial<Pick<WorkerParts, 'canRender' | 'clock'>>
/** `held`: renders end when released or aborted. `stuck`: never, whatever they are told. */
type Render = 'held' | 'stuck' | ((request: RenderRequest) => RenderOutcome)

/** A worker at a live render of a page. */
async function rendering(t: TestContext, options: Options, render: Render = 'held') {
  const worker = await start(t, options, render)
  const domain = await queue.domain()
  const asked = ask(domain)
  await worker.began(1)
  return { worker, domain, asked }
}

async function start(t: TestContext, options: Options = {}, render: Render = () => RENDERED) {
  const { canRender = () => true, clock = systemClock } = options
  const requests: RenderRequest[] = []
  const gate = Promise.withResolvers<RenderOutcome>()
  let running = 0
  let most = 0
  const { pool, connection } = queue
  const worker = await QueueWorker.start(
    {
      ...{ pool, connection, notifications: listener, plans: DEFAULT_PLANS, log: silentLog() },
      notices: new Notices(pool, silentLog()),
      bodies: queue.bodies,
      ...{ sites: { after: async () => null }, canRender, clock },
      async render(request) {
        requests.push(request)
        most = Math.max(most, ++running)
        try {
          if (typeof render === 'function') return { outcome: render(request), record: null }
          const aborted = new Promise<RenderOutcome>((resolve) =>
            request.signal.addEventListener('abort', () => render === 'held' && resolve({ kind: 'aborted' })),
          )
          return { outcome: await Promise.race([gate.promise, aborted]), record: null }
        } finally {
          running--
        }
      },
    },
    { node: randomUUID(), slots: 4, ...options },
  )
  await listener.settled()
  let closing: Promise<void> | undefined
  const close = (deadlineMs: number) => (closing ??= worker.close(deadlineMs))
  t.after(() => close(0))
  return {
    requests,
    began: (count: number) => until(`${count} renders have begun`, () => requests.length === count),
    get running() {
      return worker.running
    },
    /** Renders at once. */
    get most() {
      return most
    },
    enqueueLive: worker.enqueueLive,
    release: () => gate.resolve(RENDERED),
    close,
  }
}

/** Jobs of the domain that have not ended. */
async function open(domain: DomainId): Promise<number> {
  return (await queue.jobs(domain)).filter(({ state }) => state === 'queued' || state === 'running').length
}
