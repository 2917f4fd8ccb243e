import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { HOME, paths, RENDERED, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import { createListener, type Listener } from '../../db/listener.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import type { RenderOutcome, RenderRequest } from '../../render/outcome.ts'
import { pageId } from '../../store/page-id.ts'
import { createJobWaiter, type JobWaiter } from './await.ts'
import { cancelJobs } from './cancel.ts'
import { createReaper } from './complete.ts'
import { enqueue } from './enqueue.ts'
import type { JobEnd, Priority } from './job.ts'
import type { WorkerDeps, WorkerOptions } from './worker.ts'
import { startWorker, type Worker } from './worker.ts'

let queue: TestQueue
let listener: Listener
let waiter: JobWaiter
before(async () => {
  queue = await testQueue()
  listener = await createListener(queue.connection, silentLog())
  waiter = createJobWaiter(listener, queue.pool, silentLog())
})
after(async () => {
  await listener.close()
  await queue.close()
})
beforeEach(async () => {
  await queue.pool.query('delete from job')
})

const ask = async (domain: DomainId, path: PagePath = HOME, priority: Priority = 'live') => {
  const [job] = await enqueue(queue.pool, domain, [path], priority)
  return waiter.wait(job!.jobId, AbortSignal.timeout(10_000))
}

describe('a worker', () => {
  it('renders what is queued, woken by the notification', async () => {
    await using worker = await start({ pollMs: 600_000 })
    const domain = await queue.domain()
    assert.deepEqual(await ask(domain), { state: 'done', outcome: 'rendered' })
    const [request] = worker.requests
    assert.deepEqual([request?.path, request?.originUrl], ['/', 'http://127.0.0.1:1'])
  })

  it('is woken and tells its own node also where no notification comes', async () => {
    const told: string[] = []
    await using worker = await start({
      ...{ pollMs: 600_000, notifications: { on() {}, onLost() {} } },
      ended: ({ id }, { state, outcome }, page) => void told.push(id, state, outcome, String(page?.bodyHtml)),
    })
    const domain = await queue.domain()
    const job = await worker.enqueueLive(pageId(domain, HOME), 'one')
    await until('it is told', () => told.length > 0)
    assert(RENDERED.kind === 'rendered')
    assert.deepEqual(told, [job, 'done', 'rendered', RENDERED.html])
  })

  it('renders as the visitor that the domain wants', async () => {
    await using worker = await start()
    const domain = await queue.domain()
    await queue.pool.query(
      `update domain set settings = '{"render": {"locale": "de-CH", "viewport": {"width": 412, "height": 915}}}' where id = $1`,
      [domain],
    )
    await ask(domain)
    const { visitor } = worker.requests[0] ?? {}
    assert.deepEqual([visitor?.locale, visitor?.viewport], ['de-CH', { width: 412, height: 915 }])
    assert.deepEqual([visitor?.userAgent, visitor?.timeZone], [undefined, undefined])
  })

  it('one render for 50 who ask at once, and all hear of it', async () => {
    await using worker = await start({}, 'held')
    const domain = await queue.domain()
    const asked = await Promise.all(
      Array.from({ length: 50 }, () => enqueue(queue.pool, domain, [HOME], 'live')),
    )
    const ends = asked.map(([job]) => waiter.wait(job!.jobId, AbortSignal.timeout(10_000)))
    worker.release()
    assert.deepEqual(await Promise.all(ends), Array(50).fill({ state: 'done', outcome: 'rendered' }))
    assert.equal(worker.requests.length, 1)
  })

  // Proves decided "Live renders before background work"
  it('keeps a slot for live, and never runs more than its slots', async () => {
    await using worker = await start({ slots: 3, domainCap: 10, domainBackgroundCap: 10 }, 'held')
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, paths(5), 'warm')
    await until('the background slots are taken', () => worker.requests.length === 2)
    const other = await queue.domain()
    await enqueue(queue.pool, other, paths(2, '/live'), 'live')
    await until('the live slot is taken', () => worker.requests.length === 3)
    assert.equal(worker.requests[2]?.path, '/live0')
    worker.release()
    await until('all is rendered', async () => (await open(domain)) + (await open(other)) === 0)
    assert.equal(worker.most, 3)
  })

  it('leaves a slot to other accounts, and a crawler takes the place of a background render of its own account', async () => {
    await using worker = await start({ slots: 3, domainCap: 10, domainBackgroundCap: 10 }, 'held')
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, paths(2, '/warm'), 'warm')
    await until('the background slots are taken', () => worker.requests.length === 2)
    await enqueue(queue.pool, domain, ['/live' as PagePath], 'live')
    await until('the live job runs', () => worker.requests.length === 3)
    assert.deepEqual([worker.requests[2]?.path, worker.running], ['/live', 2])
    assert.equal(worker.requests[1]?.signal.aborted, true, 'the youngest was given back')
  })

  // Proves decided "Fair shares of render slots"
  it('gives the slot of a live render back once its crawlers have left and another waits', async () => {
    await using worker = await start({ slots: 1, pollMs: 50 }, 'held')
    const [left, waiting] = [await queue.domain(), await queue.domain()]
    const crawler = new AbortController()
    const job = await worker.enqueueLive(pageId(left, HOME), 'left')
    assert(job !== 'over-quota')
    const end = waiter.wait(job, crawler.signal)
    await until('it renders', () => worker.requests.length === 1)
    crawler.abort()
    assert.equal(await end, 'late')
    await worker.enqueueLive(pageId(waiting, '/live' as PagePath), 'waits')
    await until('the other renders', () => worker.requests[1]?.path === '/live')
    assert.equal(worker.requests[0]?.signal.aborted, true)
    const [refresh] = await queue.jobs(left)
    assert.deepEqual([refresh?.state, refresh?.priority, refresh?.faults], ['queued', 1, 0])
    worker.release()
    await until('the page is rendered all the same', async () => (await open(left)) === 0)
  })

  it('does not wait for what follows a render, unless that piles up', async () => {
    const gate = Promise.withResolvers<null>()
    let following = 0
    const prober = {
      after: () => {
        following++
        return gate.promise
      },
    }
    await using worker = await start({ slots: 2, prober, domainCap: 10 })
    const domains = [await queue.domain(), await queue.domain()]
    for (const domain of domains) await enqueue(queue.pool, domain, paths(5), 'live')
    const allOpen = async () => (await Promise.all(domains.map(open))).reduce((sum, count) => sum + count)
    await until('as many wait as have slots, and hold two more', () => following === 4)
    assert.deepEqual([worker.running, await allOpen()], [2, 6])
    gate.resolve(null)
    await until('all is rendered', async () => (await allOpen()) === 0)
  })

  it('with one slot only, background work is done too', async () => {
    await using _ = await start({ slots: 1 })
    assert.deepEqual(await ask(await queue.domain(), HOME, 'warm'), { state: 'done', outcome: 'rendered' })
  })

  it('renders nothing for an inactive domain or one over quota', async () => {
    await using worker = await start()
    assert.deepEqual(await ask(await queue.domain({ active: false })), {
      state: 'cancelled',
      outcome: 'domain-inactive',
    })
    const over = await queue.domain({ plan: 'starter' })
    await queue.pool.query(
      `insert into render_count values ($1, date_trunc('month', now() at time zone 'utc'), 1200)`,
      [over],
    )
    assert.deepEqual(await ask(over), { state: 'failed', outcome: 'over-quota' })
    await queue.pool.query('update render_count set renders = 1199 where domain_id = $1', [over])
    assert.deepEqual(await ask(over), { state: 'done', outcome: 'rendered' })
    assert.equal(worker.requests.length, 1)
  })

  it('a crash is tried once more, an outcome is not', async () => {
    const answers: RenderOutcome[] = [{ kind: 'crashed', reason: 'x' }, RENDERED, { kind: 'blank' }]
    await using worker = await start({ pollMs: 20 }, () => answers.shift()!)
    assert.deepEqual(await ask(await queue.domain()), { state: 'done', outcome: 'rendered' })
    assert.deepEqual(await ask(await queue.domain()), { state: 'failed', outcome: 'blank' })
    assert.equal(worker.requests.length, 3)
  })

  it('a renderer that throws is a crash, not the end of the worker', async () => {
    await using _ = await start({ pollMs: 20 }, () => {
      throw new Error('boom')
    })
    assert.deepEqual(await ask(await queue.domain()), { state: 'failed', outcome: 'crashed' })
  })

  it('what cannot be stored ends its job', async () => {
    await using _ = await start({ pollMs: 20 }, () => ({ ...RENDERED, status: 70_000 }) as RenderOutcome)
    assert.deepEqual(await ask(await queue.domain()), { state: 'failed', outcome: 'crashed' })
  })

  it('leaves jobs to others while it has no browser', async () => {
    let healthy = false
    await using worker = await start({ pollMs: 20, canRender: () => healthy })
    const asked = ask(await queue.domain())
    await until('the waiter waits', () => waiter.waiting === 1)
    assert.equal(worker.running, 0)
    healthy = true
    assert.deepEqual(await asked, { state: 'done', outcome: 'rendered' })
  })

  it('a purge while it renders makes it render again, and the asker gets the second', async () => {
    await using worker = await start({}, 'held')
    const domain = await queue.domain()
    const asked = ask(domain)
    await until('it renders', () => worker.requests.length === 1)
    await queue.pool.query(`update job set superseded = true where domain_id = $1`, [domain])
    worker.release()
    assert.deepEqual(await asked, { state: 'done', outcome: 'rendered' })
    assert.equal(worker.requests.length, 2)
  })

  it('a cancelled job is aborted at the next renewal', async () => {
    await using worker = await start({ renewMs: 20 }, 'held')
    const domain = await queue.domain()
    const asked = ask(domain)
    await until('it renders', () => worker.requests.length === 1)
    await cancelJobs(queue.pool, domain)
    assert.deepEqual(await asked, { state: 'cancelled', outcome: 'cancelled' } satisfies JobEnd)
    await until('the render was told', () => worker.requests[0]!.signal.aborted)
    await until('the slot is free', () => worker.running === 0)
  })

  it('the domain is deleted while it renders: the asker hears of it, and the slot is free', async () => {
    await using worker = await start({ renewMs: 20 }, 'held')
    const domain = await queue.domain()
    const asked = ask(domain)
    await until('it renders', () => worker.requests.length === 1)
    await queue.pool.query('delete from domain where id = $1', [domain])
    assert.deepEqual(await asked, { state: 'cancelled', outcome: 'domain-gone' } satisfies JobEnd)
    await until('the render was told', () => worker.requests[0]!.signal.aborted)
    await until('the slot is free', () => worker.running === 0)
  })

  it('a crawler that asks for a page which is being warmed joins that render, and hears of its end', async () => {
    await using worker = await start({}, 'held')
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, [HOME], 'warm')
    await until('it renders', () => worker.requests.length === 1)
    const asked = ask(domain)
    await until('it was raised', async () => (await queue.jobs(domain))[0]?.priority === 0)
    worker.release()
    assert.deepEqual(await asked, { state: 'done', outcome: 'rendered' })
    assert.equal(worker.requests.length, 1)
  })

  // Proves decided "Live renders before background work"
  it('beside a live render that takes the last slot but one, background work begins now and then', async () => {
    const clock = { atMs: 1_000_000, nowMs: () => clock.atMs }
    let looks = 0
    const canRender = () => ++looks > 0
    await using worker = await start({ slots: 2, pollMs: 5, clock, canRender }, 'held')
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, ['/first' as PagePath], 'warm')
    await until('a background render has begun', () => worker.requests.length === 1)
    await enqueue(queue.pool, await queue.domain(), ['/live' as PagePath], 'live')
    await until('the live render has begun', () => worker.requests.length === 2)
    await queue.pool.query(`update job set state = 'cancelled', finished_at = now() where path = '/first'`)
    await worker.drop('/first')
    await enqueue(queue.pool, domain, ['/second' as PagePath], 'warm')
    const from = looks
    await until('the queue was looked at again', () => looks > from + 5)
    assert.equal(worker.requests.length, 2)
    clock.atMs += 999
    const until999 = looks
    await until('and again', () => looks > until999 + 5)
    assert.equal(worker.requests.length, 2)
    clock.atMs += 1
    await until('it begins', () => worker.requests[2]?.path === '/second')
  })

  it('renews: a render may take longer than a lease', async () => {
    await using worker = await start({ leaseMs: 50_000, renewMs: 20, reapMs: 600_000 }, 'held')
    const domain = await queue.domain()
    const asked = ask(domain)
    await until('it renders', () => worker.requests.length === 1)
    const leftSeconds = async () => {
      const { rows } = await queue.pool.query<{ left: number }>(
        'select extract(epoch from lease_until - clock_timestamp())::float8 as left from job',
      )
      return rows[0]!.left
    }
    assert((await leftSeconds()) <= 50)
    // As much later the first lease would be over but for a moment.
    await queue.pool.query(`update job set lease_until = lease_until - interval '49 seconds'`)
    await until('it is renewed', async () => (await leftSeconds()) > 40)
    assert.equal(await createReaper(queue.pool)(), 0)
    worker.release()
    assert.deepEqual(await asked, { state: 'done', outcome: 'rendered' })
    assert.equal(worker.requests.length, 1)
  })

  it('heals when all its connections were cut while it renders', async () => {
    await using worker = await start({ pollMs: 20 }, 'held')
    const [first, second] = [await queue.domain(), await queue.domain()]
    const asked = ask(first)
    await until('it renders', () => worker.requests.length === 1)
    await queue.pool.query(
      // Until each has ended.
      'select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    worker.release()
    assert.deepEqual(await asked, { state: 'done', outcome: 'rendered' })
    assert.deepEqual(await ask(second), { state: 'done', outcome: 'rendered' })
  })
})

describe('closing a worker', () => {
  it('lets what runs finish, and takes nothing new', async () => {
    const worker = await start({ slots: 2 }, 'held')
    const domain = await queue.domain()
    const asked = ask(domain)
    await until('it renders', () => worker.requests.length === 1)
    const closing = worker.close(10_000)
    await enqueue(queue.pool, domain, paths(1), 'live')
    worker.release()
    await closing
    assert.deepEqual(await asked, { state: 'done', outcome: 'rendered' })
    assert.equal(worker.requests.length, 1)
    assert.equal(await open(domain), 1)
  })

  it('gives back at the deadline what runs, at once and without a fault', async () => {
    const worker = await start({ slots: 2 }, 'stuck')
    const domain = await queue.domain()
    const asked = ask(domain)
    await until('it renders', () => worker.requests.length === 1)
    await worker.close(0)
    assert.equal(worker.requests[0]?.signal.aborted, true)
    assert.deepEqual(
      (await queue.jobs(domain)).map(({ state, faults }) => [state, faults]),
      [['queued', 0]],
    )
    await using _ = await start()
    assert.deepEqual(await asked, { state: 'done', outcome: 'rendered' })
  })
})

type TestWorker = Worker & {
  requests: RenderRequest[]
  /** Most renders at once. */
  readonly most: number
  release(): void
  /** Ends one render as aborted. */
  drop(path: string): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** `held`: renders end when released or aborted. `stuck`: never, whatever they are told. */
async function start(
  {
    canRender = () => true,
    clock = systemClock,
    notifications = listener,
    ended = () => {},
    prober = { after: async () => null },
    ...options
  }: Partial<WorkerOptions> &
    Partial<Pick<WorkerDeps, 'canRender' | 'clock' | 'notifications' | 'ended' | 'prober'>> = {},
  render: 'held' | 'stuck' | (() => RenderOutcome) = () => RENDERED,
): Promise<TestWorker> {
  const requests: RenderRequest[] = []
  const gate = Promise.withResolvers<RenderOutcome>()
  const drops = new Map<string, () => void>()
  let running = 0
  let most = 0
  const worker = await startWorker(
    {
      pool: queue.pool,
      connection: queue.connection,
      notifications,
      ended,
      prober,
      canRender,
      plans: DEFAULT_PLANS,
      clock,
      log: silentLog(),
      async render(request) {
        requests.push(request)
        most = Math.max(most, ++running)
        try {
          if (typeof render === 'function') return { outcome: render(), record: null }
          const aborted = new Promise<RenderOutcome>((resolve) =>
            request.signal.addEventListener('abort', () => render === 'held' && resolve({ kind: 'aborted' })),
          )
          const { promise: dropped, resolve } = Promise.withResolvers<RenderOutcome>()
          drops.set(request.path, () => resolve({ kind: 'aborted' }))
          return { outcome: await Promise.race([gate.promise, aborted, dropped]), record: null }
        } finally {
          running--
        }
      },
    },
    { node: randomUUID(), slots: 4, ...options },
  )
  await listener.settled()
  return {
    requests,
    get running() {
      return worker.running
    },
    enqueueLive: worker.enqueueLive,
    get most() {
      return most
    },
    release: () => gate.resolve(RENDERED),
    async drop(path) {
      const before = worker.running
      drops.get(path)?.()
      await until('its slot is free', () => worker.running < before)
    },
    close: (deadlineMs) => worker.close(deadlineMs),
    [Symbol.asyncDispose]: () => worker.close(0),
  }
}

/** Jobs of the domain that have not ended. */
async function open(domain: DomainId): Promise<number> {
  return (await queue.jobs(domain)).filter(({ state }) => state === 'queued' || state === 'running').length
}
