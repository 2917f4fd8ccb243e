/** How jobs end: by a result, by the end of a lease, and how those who wait for them hear of it. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import type { DomainId, DomainName, JobId, PagePath } from '@prepaint/contract/ids.ts'
import type { JobEnd } from '@prepaint/contract/outcome/job.ts'
import type { RenderOutcome } from '@prepaint/contract/outcome/outcome.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import type { QueryRule } from '@prepaint/contract/page/path.ts'
import type { StoredPage } from '@prepaint/contract/page/stored.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { transaction } from '@prepaint/postgres/transaction.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { parseInvalidations } from '@prepaint/runtime/invalidation.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import { notifiedBy, waitingForLocks } from '../../../../../test/support/database.ts'
import { readOutcome, type UnreadFound } from '../../../../../test/support/outcome.ts'
import { columns, HOME, openQueue, paths, RENDERED } from '../../../../../test/support/queue.ts'
import { deletePages } from '../../store/purge.ts'
import { htmlOf } from '../../store/stored-page.ts'
import type { Found } from '../judging/effect.ts'
import { JobWaiter } from './await.ts'
import { cancelJobs } from './cancel.ts'
import { JobCompleter } from './complete.ts'
import { enqueue, rerenderPages } from './enqueue.ts'
import { Lease } from './lease.ts'
import { Notices } from './notices.ts'
import { renderSpelling, SPELLINGS_LIMIT } from './run-job.ts'

const queue = await openQueue()
/** For tests that hear what is told: ends in other tests are told a moment later. */
const quiet = await openQueue()
const listener = await queue.listener()
const DONE = { state: 'done', outcome: 'rendered' } as const

describe('what an outcome does', () => {
  // Proves decided "Pages that are rendered again"
  it('a page that is rendered again is served until the new one is stored, stays where the render fails, and counts as a refresh', async () => {
    const domain = await queue.domain()
    await queue.complete(await queue.running(domain), RENDERED)
    const etagNow = async () => {
      const page = await queue.page(domain)
      return page?.kind === 'page' ? page.etag : null
    }
    const first = await etagNow()
    const again = async (found: UnreadFound) => {
      const [asked] = await transaction(queue.pool, (client) => rerenderPages(client, domain, [HOME]))
      assert.equal(await etagNow(), first, 'queued')
      const [job] = await queue.claim()
      assert.deepEqual([job!.id, job!.priority], [asked!.jobId, 'refresh'])
      assert.equal(await etagNow(), first, 'running')
      await queue.complete(job!, found)
    }
    await again({ kind: 'blank' })
    assert.equal(await etagNow(), first)
    assert.equal(await queue.renders(domain), 1)
    await again({
      kind: 'rendered',
      status: 200,
      headers: [],
      html: '<!doctype html><h1>rendered again</h1>',
    })
    assert.notEqual(await etagNow(), first)
    assert.equal(await queue.renders(domain), 2)
  })

  it('a rendered page is stored as it is served, counted, and told to the other nodes', async () => {
    const domain = await quiet.domain()
    await quiet.pool.query(
      `insert into redirect (domain_id, path, status, location, stored_at) values ($1, '/', 301, '/new', now())`,
      [domain],
    )
    const job = await quiet.running(domain)
    const html = `<!doctype html><p>${'grüße '.repeat(1_000)}\0</p>`
    const headers: [string, string][] = ['1', 'b\0c\ud800'].map((value) => ['x-a', value])
    const heard = await notifiedBy(quiet, ['invalidate', 'job_done', 'job_queued'], async () => {
      const notices = new Notices(quiet.pool, silentLog())
      const complete = quiet.completer({ notices })
      assert.deepEqual(await complete(job, { kind: 'rendered', status: 404, headers, html }), DONE)
      await notices.close()
    })
    const page = await quiet.page(domain)
    assert(page?.kind === 'page', 'the redirect gave way to the page')
    assert.equal(page.status, 404)
    assert.deepEqual(page.headers.map(String), ['x-a,1', 'x-a,bc\ufffd'])
    assert.equal(brotliDecompressSync(page.bodyBr).toString(), html)
    assert.equal(page.htmlBytes, Buffer.byteLength(html))
    assert.match(page.etag, /^[\w-]{22}$/)
    assert.equal(await quiet.renders(domain), 1)
    const [told = '', ...ends] = heard
    const stored = page.renderedAtMs
    assert.deepEqual(JSON.parse(told), { stored_pages: [[domain, '/', stored]] })
    assert.deepEqual(ends, [job.id])
  })

  it('a redirect is stored and not counted, and the stored page stays', async () => {
    const domain = await queue.domain()
    await queue.complete(await queue.running(domain), RENDERED)
    const job = await queue.running(domain)
    const found = { kind: 'redirect', status: 302, location: 'https://e.example/x' } as const
    assert.deepEqual(await queue.complete(job, found), { state: 'done', outcome: 'redirect' })
    assert.partialDeepStrictEqual(await queue.page(domain), found)
    assert.equal(await queue.renders(domain), 1)
    assert.deepEqual(await queue.stored(domain), ['/'])
  })

  it('redirects and repeated renders notify of nothing in their commits, which would lock the server: they are told afterwards', async () => {
    const domain = await quiet.domain()
    const [moved, crashed] = [await quiet.running(domain, '/moved'), await quiet.running(domain, '/crashed')]
    const told: string[] = []
    const query = async ({ values }: { values: [string[], string[]] }) => void told.push(...values[1])
    const notices = new Notices({ query } as never, silentLog())
    const complete = quiet.completer({ notices })
    const heard = await notifiedBy(quiet, ['invalidate', 'job_done', 'job_queued'], async () => {
      await complete(moved, { kind: 'redirect', status: 301, location: 'https://e.example/' })
      await complete(crashed, { kind: 'crashed', reason: 'the tab died' })
      await notices.close()
    })
    assert.deepEqual(heard, [])
    const [stored] = parseInvalidations(told[0]!)
    assert.partialDeepStrictEqual(stored, { kind: 'page', domain, page: { path: '/moved' } })
    assert.deepEqual(told.slice(1), [moved.id, '0'])
  })

  it('a crashed render is tried once more after a back-off, then it has failed', async () => {
    const domain = await queue.domain()
    const crash = { kind: 'crashed', reason: 'the tab died' } as const
    assert.deepEqual(await queue.complete(await queue.running(domain), crash), { state: 'queued' })
    assert.deepEqual(await queue.claim(), [], 'not at once')
    await queue.pool.query('update job set run_at = now()')
    const [again] = await queue.claim()
    assert.deepEqual(await queue.complete(again!, crash), { state: 'failed', outcome: 'crashed' })
  })
})

describe('a result whose commit was not confirmed', () => {
  // As if the connection had broken between the commit and its confirmation.
  const failAfter =
    (query: (...args: never[]) => unknown, name: string) =>
    async (...args: never[]) => {
      const result = await query.apply(quiet.pool, args)
      if ((args[0] as unknown as { name?: string }).name !== name) return result
      throw new Error('Connection terminated unexpectedly')
    }

  it('is told to the other nodes when it breaks, and again when the job is found ended', async (t) => {
    const domain = await quiet.domain()
    const job = await quiet.running(domain)
    const notices = new Notices(quiet.pool, silentLog())
    const complete = quiet.completer({ notices })
    const heard = await notifiedBy(quiet, ['invalidate', 'job_done'], async () => {
      const { query } = quiet.pool
      const broken = t.mock.method(
        quiet.pool,
        'query',
        failAfter(query as never, 'store-keep-pages') as never,
      )
      await assert.rejects(complete(job, RENDERED), /Connection terminated/)
      broken.mock.restore()
      assert.deepEqual(await complete(job, RENDERED), { state: 'taken-away' })
      await notices.close()
    })
    const pages = heard.filter((payload) => payload.startsWith('{')).flatMap(parseInvalidations)
    assert.deepEqual(
      pages.map((told) => told.kind === 'page' && told.domain),
      pages.map(() => domain),
    )
    assert.equal(pages.length, 2)
    const ended = heard.filter((payload) => !payload.startsWith('{'))
    assert.deepEqual(ended.join().split(','), [job.id, job.id])
    assert.deepEqual(await quiet.stored(domain), ['/'])
  })
})

// Proves interface 4.3/8, interface 8/7
it('the quota: 50 renders that end at once never get past 120 %', async () => {
  const plans = { ...DEFAULT_PLANS, small: { ...DEFAULT_PLANS['pro']!, monthly_render_limit: 10 } }
  const complete = queue.completer({ plans })
  const domain = await queue.domain({ plan: 'small' })
  await enqueue(queue.pool, domain, paths(50), 'refresh')
  const jobs = await queue.claim()
  const ends = await Promise.all(jobs.map((job) => complete(job, RENDERED)))
  const outcomes = ends.map((end) => ('outcome' in end ? end.outcome : end.state)).sort()
  assert.deepEqual(outcomes, [...Array(38).fill('over-quota'), ...Array(12).fill('rendered')])
  assert.equal(await queue.renders(domain), 12)
  assert.equal((await queue.stored(domain)).length, 12)
})

it('pages of a domain that end together are each stored as alone, but not where a purge came before, or the job is another node’s', async () => {
  const domain = await queue.domain()
  await enqueue(queue.pool, domain, paths(5), 'warm')
  const jobs = await queue.claim()
  await queue.purge(domain, { kind: 'path', path: '/p1' as PagePath })
  await queue.pool.query(`update job set node = 'other' where path = '/p2'`)
  const ends = await Promise.all(
    jobs.map((job) => queue.complete(job, { ...RENDERED, html: `<p>${job.page.path}` } as Found)),
  )
  const found = jobs.map(({ page }, at) => `${page.path} ${ends[at]!.state}`).sort()
  assert.deepEqual(found, ['/p0 done', '/p1 queued', '/p2 taken-away', '/p3 done', '/p4 done'])
  assert.deepEqual(await queue.stored(domain), ['/p0', '/p3', '/p4'])
  for (const path of ['/p0', '/p4'])
    assert.equal(await htmlOf((await queue.page(domain, path)) as StoredPage), `<p>${path}`)
  assert.equal(await queue.renders(domain), 3)
})

it('a job that was claimed again refuses the first result and takes the second', async () => {
  const domain = await queue.domain()
  const late = await queue.running(domain)
  await queue.pool.query(`update job set state = 'queued'`)
  const [again] = await queue.claim({ node: late.node })
  assert.deepEqual(await queue.complete(late, RENDERED), { state: 'taken-away' })
  assert.deepEqual(await queue.stored(domain), [])
  assert.equal((await queue.complete(again!, RENDERED)).state, 'done')
  assert.deepEqual(await queue.complete(again!, RENDERED), { state: 'taken-away' }, 'nor twice')
  assert.equal(await queue.renders(domain), 1)
})

it('a purge during a render: its result is not stored, and it runs again at once', async () => {
  const moved: RenderOutcome = { kind: 'redirect', status: 301, location: 'https://e.example/' }
  const domain = await queue.domain()
  const job = await queue.running(domain)
  let again = job
  for (const outcome of [moved, RENDERED]) {
    await queue.purge(domain, { kind: 'path', path: HOME })
    assert.deepEqual(await queue.complete(again, outcome), { state: 'queued' })
    assert.equal(await queue.page(domain), null)
    again = (await queue.claim())[0]!
  }
  assert.equal(await queue.renders(domain), 0)
  assert.equal(again.id, job.id)
  assert.equal((await queue.complete(again, RENDERED)).state, 'done')
  assert.deepEqual(await queue.stored(domain), ['/'])
})

it('a purge that waits to commit holds up the result of a render, which then sees it', async () => {
  const domain = await queue.domain()
  const job = await queue.running(domain)
  let completing: ReturnType<typeof queue.complete> | undefined
  await transaction(queue.pool, async (client) => {
    await deletePages(client, domain, { kind: 'all' }, 'purge')
    completing = queue.complete(job, RENDERED)
    await until('the result waits for the row', async () => (await waitingForLocks(queue.pool)) === 1)
  })
  assert.deepEqual(await completing, { state: 'queued' })
  assert.deepEqual(await queue.stored(domain), [])
  assert.equal(await queue.renders(domain), 0)
})

describe('a redirect to another spelling of the page', () => {
  const SITE = 'https://shop.example'
  const PAGE = readOutcome({ kind: 'rendered', status: 200, headers: [], html: '<p>a' })
  const to = (location: string): RenderOutcome => ({ kind: 'redirect', status: 302, location })

  /** `ends`: what comes of each render in turn, the last for all that follow. */
  async function play(path: string, ends: RenderOutcome[], query: QueryRule = 'keep') {
    const asked: string[] = []
    const found = await renderSpelling(
      {
        customDomain: 'shop.example' as DomainName,
        page: pageId(1 as DomainId, path as PagePath),
        query,
        spelling: path as PagePath,
      },
      async (spelling) => {
        asked.push(spelling)
        return ends[Math.min(asked.length, ends.length) - 1]!
      },
    )
    return { asked, found }
  }

  const REDIRECTS: [path: string, location: string, next: string | null, query?: QueryRule][] = [
    ['/a?x=1&y=2', `${SITE}/a?y=2&x=1`, '/a?y=2&x=1'],
    ['/a', `${SITE}/a?session=1`, '/a?session=1', 'ignore'],
    ['/a', 'http://shop.example/a', '/a'],
    ['/a', `${SITE}/a?x=1`, null],
    ['/a', 'https://www.shop.example/a', null],
    ['/a', 'https://shop.example:8443/a', null],
    ['/a', 'mailto:a@shop.example', null],
  ]
  for (const [path, location, next, query] of REDIRECTS) {
    it(`${path}, ${location}: ${next === null ? 'is the answer' : 'is followed'}`, async () => {
      const { asked, found } = await play(path, [to(location), PAGE], query)
      assert.deepEqual(asked, next === null ? [path] : [path, next])
      assert.deepEqual(found, next === null ? to(location) : PAGE)
    })
  }

  // Proves decided "Redirects to the page itself"
  it('redirects in a circle end the job, and no redirect is stored', async () => {
    const { asked, found } = await play('/a', [to(`${SITE}/a?utm_source=1`)])
    assert.equal(asked.length, SPELLINGS_LIMIT)
    assert.deepEqual(found, { kind: 'redirect-loop', location: `${SITE}/a?utm_source=1` })
  })

  it('a redirect to another page, or one hop fewer than a circle, is the answer', async () => {
    const hops = Array.from({ length: SPELLINGS_LIMIT - 1 }, (_, at) => to(`${SITE}/a?utm_source=${at}`))
    assert.equal((await play('/a', [...hops, PAGE])).found, PAGE)
    const { found } = await play('/a', [to(`${SITE}/a?utm_source=1`), to(`${SITE}/b`)])
    assert.deepEqual(found, to(`${SITE}/b`))
  })
})

const reap = () =>
  new JobCompleter(
    queue.pool,
    DEFAULT_PLANS,
    systemClock,
    new Notices(queue.pool, silentLog()),
    queue.bodies,
  ).reap()
const leaseOf = (node: string, runs: Parameters<typeof Lease.start>[2] = []) =>
  Lease.start(queue.connection, { node, leaseMs: 60_000, renewMs: 60_000 }, runs, silentLog())

describe('reaping', () => {
  it('the reaper takes nothing from a node that renews, what the node did not renew, and all once the node has gone', async () => {
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

  it('the reaper does not deadlock with a statement that changes jobs of the same domains', async () => {
    const [again, wornOut] = [await queue.domain(), await queue.domain()]
    for (const domain of [again, wornOut]) await enqueue(queue.pool, domain, [HOME], 'warm')
    await queue.claim({ node: 'dead' })
    await queue.pool.query('update job set faults = 2 where domain_id = $1', [wornOut])
    const count = 'update queue_running set running = running where domain_id = $1'
    const reaping = await transaction(queue.pool, async (client) => {
      await client.query(count, [again])
      const reaping = reap()
      await until('it waits', async () => (await waitingForLocks(queue.pool)) === 1)
      // The order of the domains.
      await client.query(count, [wornOut])
      return { reaping }
    })
    assert.equal(await reaping.reaping, 2)
    const states = async (domain: DomainId) => columns(await queue.jobs(domain), 'state').flat()
    assert.deepEqual([await states(again), await states(wornOut)], [['queued'], ['failed']])
  })

  it('the reaper gives up on a job that outlives its third node; the page for phones follows all the same', async () => {
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

const patience = () => AbortSignal.timeout(60_000)
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
  it('an end at this node is told once, with the page as it is read from the store', async () => {
    const waiter = new JobWaiter(DEAF, queue.pool, silentLog(), NO_POLL_MS)
    const complete = queue.completer({ ended: waiter.ended })
    const domain = await queue.domain()
    const [job, other] = [await queue.running(domain), await queue.running(domain, '/other')]
    const waits = [waiter.wait(job.id, patience()), waiter.wait(job.id, patience())]
    await complete(other, RENDERED)
    assert.equal(waiter.waiting, 1, 'nobody waits for that one')
    await complete(job, RENDERED)
    waiter.ended(job.id, { state: 'failed', outcome: 'blank' }, null)
    const page = { ...(await queue.page(domain)), bodyHtml: undefined }
    for (const end of await Promise.all(waits)) {
      assert(end !== 'late')
      assert.deepEqual({ ...end, page: { ...end.page, bodyHtml: undefined } }, { ...DONE, page })
    }
    assert.equal(waiter.waiting, 0)
  })

  it('nothing is told while a job has not ended', async () => {
    const ends: JobEnd[] = []
    const complete = queue.completer({ ended: (_job, end) => void ends.push(end) })
    const job = await queue.running(await queue.domain())
    await complete(job, { kind: 'aborted' })
    const [again] = await queue.claim()
    await complete(job, RENDERED)
    assert.deepEqual(ends, [], 'it is another run by now')
    await complete(again!, { kind: 'blank' })
    assert.deepEqual(ends, [{ state: 'failed', outcome: 'blank' }])
  })

  it('no end is missed, whenever it comes', async () => {
    const waiter = new JobWaiter(listener, queue.pool, silentLog(), NO_POLL_MS)
    for (let round = 0; round < 30; round++) {
      const id = await newJob()
      const [end] = await Promise.all([waiter.wait(id, patience()), finishAll()])
      assert.notEqual(end, 'late', `round ${round}`)
    }
  })

  it('an end is read after the listener connection was lost', async () => {
    const waiter = new JobWaiter(await queue.listener(), queue.pool, silentLog(), NO_POLL_MS)
    const waiting = newJob().then((id) => waiter.wait(id, patience()))
    await until('it waits', () => waiter.waiting === 1)
    await queue.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%' and datname = current_database()`,
    )
    await finishAll()
    assert.deepEqual(await waiting, DONE)
  })

  it('a wait ends as late when its signal comes first or the waiter is closed, and leaves nothing behind', async () => {
    const waiter = new JobWaiter(listener, queue.pool, silentLog())
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
    await until('it is told', () => waiter.waiting === 0)
    assert.equal(await last, 'late')
  })

  it('a job that is cancelled, or deleted with its domain, is told as cancelled', async () => {
    const waiter = new JobWaiter(listener, queue.pool, silentLog(), 20)
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

  it('a wait outlives a database that does not answer', async (t) => {
    const id = await newJob()
    await finishAll()
    const query = t.mock.method(queue.pool, 'query')
    for (const call of [0, 1])
      query.mock.mockImplementationOnce(() => Promise.reject(new Error('away')), call)
    const waiter = new JobWaiter(DEAF, queue.pool, silentLog(), 20)
    assert.deepEqual(await waiter.wait(id, patience()), DONE)
    assert(query.mock.callCount() > 2)
  })
})
