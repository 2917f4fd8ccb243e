import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import type pg from 'pg'
import { until } from '../../../test/support/condition.ts'
import { waitingForLocks } from '../../../test/support/database.ts'
import { HOME, paths, RENDERED, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import { createListener, type Listener } from '../../db/listener.ts'
import { transaction } from '../../db/transaction.ts'
import type { DomainId, JobId, PagePath } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { pageId } from '../../store/page-id.ts'
import { purgePages } from '../../store/purge.ts'
import { readStored, type StoredPage } from '../../store/stored-page.ts'
import type { Found } from '../judging/effect.ts'
import type { Ended } from './await.ts'
import type { ClaimedJob } from './claim.ts'
import { createComplete } from './complete.ts'
import { enqueue } from './enqueue.ts'
import type { JobEnd } from './job.ts'

let queue: TestQueue
let listener: Listener
const heard: [string, string][] = []
before(async () => {
  queue = await testQueue()
  listener = await createListener(queue.connection, silentLog())
  for (const channel of ['invalidate', 'job_done', 'job_queued']) {
    listener.on(channel, (payload) => heard.push([channel, payload]))
  }
  await listener.settled()
})
after(async () => {
  await listener.close()
  await queue.close()
})
beforeEach(async () => {
  await queue.pool.query('delete from job')
})

describe('what an outcome does', () => {
  it('rendered: stored as it is served, counted, told', async () => {
    const domain = await queue.domain()
    await queue.pool.query(
      `insert into redirect (domain_id, path, status, location, stored_at) values ($1, '/', 301, '/new', now())`,
      [domain],
    )
    const job = await running(domain)
    await allHeard()
    heard.length = 0
    const html = `<!doctype html><p>${'grüße '.repeat(1_000)}\0</p>`
    const completion = await queue.complete(job, {
      kind: 'rendered',
      status: 404,
      headers: [
        ['x-a', '1'],
        ['x-a', 'b\0c\ud800'],
      ],
      html,
    })
    assert.deepEqual(completion, { state: 'done', outcome: 'rendered' })

    const page = await readStored(queue.pool, pageId(domain, HOME))
    assert(page?.kind === 'page', 'the redirect gave way to the page')
    assert.equal(page.status, 404)
    assert.deepEqual(page.headers, [
      ['x-a', '1'],
      ['x-a', 'bc\ufffd'],
    ])
    assert.equal(brotliDecompressSync(page.bodyBr).toString(), html)
    assert.equal(page.htmlBytes, Buffer.byteLength(html))
    assert.match(page.etag, /^[\w-]{22}$/)
    assert.equal(await rendersOf(domain), 1)
    const stored = page.renderedAtMs
    await told(
      ['invalidate', JSON.stringify({ domain, path: '/', variant: 'desktop', stored })],
      ['job_done', job.id],
    )
  })

  it('equal content has an equal ETag, other content another', async () => {
    const domain = await queue.domain()
    const etags: string[] = []
    for (const html of ['<p>a', '<p>b', '<p>a']) {
      await queue.complete(await running(domain), { ...RENDERED, html } as RenderOutcome)
      const page = await readStored(queue.pool, pageId(domain, HOME))
      etags.push(page?.kind === 'page' ? page.etag : '')
    }
    assert.equal(etags[0], etags[2])
    assert.notEqual(etags[0], etags[1])
  })

  it('redirect: into the redirect cache, free, and the page that is stored stays', async () => {
    const domain = await queue.domain()
    await queue.complete(await running(domain), RENDERED)
    const job = await running(domain)
    const completion = await queue.complete(job, {
      kind: 'redirect',
      status: 302,
      location: 'https://e.example/x',
    })
    assert.deepEqual(completion, { state: 'done', outcome: 'redirect' })
    const entry = await readStored(queue.pool, pageId(domain, HOME))
    assert.deepEqual([entry?.kind, entry?.status], ['redirect', 302])
    assert.equal(entry?.kind === 'redirect' && entry.location, 'https://e.example/x')
    assert.equal(await rendersOf(domain), 1)
    assert.equal(await pagesOf(domain), 1)
  })

  const failures: [found: Found, state: string, detail: string | null][] = [
    [{ kind: 'not-html', contentType: 'application/pdf' }, 'failed', 'application/pdf'],
    [{ kind: 'origin-error', status: 503 }, 'failed', 'status 503'],
    [
      { kind: 'origin-unreachable', reason: 'refused\0'.repeat(100) },
      'failed',
      'refused'.repeat(100).slice(0, 500),
    ],
    [{ kind: 'timed-out', afterMs: 20_000 }, 'failed', 'after 20000 ms'],
    [{ kind: 'blank' }, 'failed', 'no text, image or field'],
    [{ kind: 'too-large', what: 'memory' }, 'failed', 'memory'],
    [{ kind: 'over-quota' }, 'failed', null],
    [{ kind: 'domain-inactive' }, 'cancelled', null],
  ]
  for (const [found, state, detail] of failures) {
    it(`${found.kind}: ${state}, the reason recorded, the last good copy untouched, free`, async () => {
      const domain = await queue.domain()
      await queue.complete(await running(domain), RENDERED)
      const before = await readStored(queue.pool, pageId(domain, HOME))
      const job = await running(domain)
      assert.deepEqual(await queue.complete(job, found), { state, outcome: found.kind })
      assert.deepEqual(await readStored(queue.pool, pageId(domain, HOME)), before)
      assert.equal(await rendersOf(domain), 1)
      const { rows } = await queue.pool.query(
        'select state, outcome, detail, finished_at is not null as ended from job where id = $1',
        [job.id],
      )
      assert.deepEqual(rows, [{ state, outcome: found.kind, detail, ended: true }])
    })
  }

  it('crashed: once more after a back-off, then failed', async () => {
    const domain = await queue.domain()
    const crash = { kind: 'crashed', reason: 'the tab died' } as const
    assert.deepEqual(await queue.complete(await running(domain), crash), { state: 'queued' })
    assert.deepEqual(await queue.claim(), [], 'not at once')
    await queue.pool.query('update job set run_at = now()')
    const [again] = await queue.claim()
    assert.deepEqual(await queue.complete(again!, crash), { state: 'failed', outcome: 'crashed' })
  })

  it('aborted: back to the queue at once, however often', async () => {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, [HOME], 'live')
    for (let i = 0; i < 4; i++) {
      const [job] = await queue.claim()
      assert.deepEqual(await queue.complete(job!, { kind: 'aborted' }), { state: 'queued' })
    }
  })
})

describe('the quota', () => {
  // Proves interface 4.3/8, interface 8/7
  it('50 renders that end at once never get past 120 %', async () => {
    const plans = { ...DEFAULT_PLANS, small: { ...DEFAULT_PLANS['pro']!, monthly_render_limit: 10 } }
    const complete = createComplete({ pool: queue.pool, plans, clock: systemClock })
    const domain = await queue.domain({ plan: 'small' })
    await enqueue(queue.pool, domain, paths(50), 'refresh')
    const jobs = await queue.claim()
    const ends = await Promise.all(jobs.map((job) => complete(job, RENDERED)))
    const outcomes = ends.map((end) => ('outcome' in end ? end.outcome : end.state)).sort()
    assert.deepEqual(outcomes, [...Array(38).fill('over-quota'), ...Array(12).fill('rendered')])
    assert.equal(await rendersOf(domain), 12)
    assert.equal(await pagesOf(domain), 12)
  })

  it('counts in the month of the clock that was handed in', async () => {
    const nowMs = Date.UTC(2031, 0, 31, 23, 59, 59, 999)
    const complete = createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock: { nowMs: () => nowMs } })
    const domain = await queue.domain()
    await complete(await running(domain), RENDERED)
    const { rows } = await queue.pool.query('select month from render_count where domain_id = $1', [domain])
    assert.deepEqual(rows, [{ month: '2031-01-01' }])
    assert.equal((await readStored(queue.pool, pageId(domain, HOME)))?.renderedAtMs, nowMs)
  })
})

describe('the fence', () => {
  it('a job that was claimed again refuses the first result and takes the second', async () => {
    const domain = await queue.domain()
    const late = await running(domain)
    await queue.pool.query(`update job set state = 'queued'`)
    const [again] = await queue.claim({ node: late.node })
    assert.deepEqual(await queue.complete(late, RENDERED), { state: 'taken-away' })
    assert.equal(await pagesOf(domain), 0)
    assert.equal(await rendersOf(domain), 0)
    assert.equal((await queue.complete(again!, RENDERED)).state, 'done')
    assert.deepEqual(await queue.complete(again!, RENDERED), { state: 'taken-away' }, 'nor twice')
    assert.equal(await rendersOf(domain), 1)
  })

  it('a domain that was deleted meanwhile has no job any more', async () => {
    const domain = await queue.domain()
    const job = await running(domain)
    await queue.pool.query('delete from domain where id = $1', [domain])
    assert.deepEqual(await queue.complete(job, RENDERED), { state: 'taken-away' })
  })
})

describe('a purge wins over a render that began before it', () => {
  const purge = (domain: DomainId) =>
    transaction(queue.pool, (client) => purgePages(client, domain, { kind: 'path', path: HOME }))

  it('purged before the render ends: nothing is stored, it runs again at once', async () => {
    const domain = await queue.domain()
    const job = await running(domain)
    await purge(domain)
    assert.deepEqual(await queue.complete(job, RENDERED), { state: 'queued' })
    assert.equal(await pagesOf(domain), 0)
    assert.equal(await rendersOf(domain), 0)
    const [again] = await queue.claim()
    assert.equal(again?.id, job.id)
    assert.equal((await queue.complete(again!, RENDERED)).state, 'done')
    assert.equal(await pagesOf(domain), 1)
  })

  it('purged after the render ended: what was stored is deleted', async () => {
    const domain = await queue.domain()
    await queue.complete(await running(domain), RENDERED)
    assert.equal(await purge(domain), 1)
    assert.equal(await pagesOf(domain), 0)
  })

  it('purged at the same moment: whichever is first, the page of before is gone', async () => {
    for (let round = 0; round < 40; round++) {
      const domain = await queue.domain()
      const job = await running(domain)
      const [completion] = await Promise.all([queue.complete(job, RENDERED), purge(domain)])
      assert.equal(await pagesOf(domain), 0, `round ${round}, ${completion.state}`)
      const [after] = await queue.jobs(domain)
      assert.equal(after?.state, completion.state)
      await queue.pool.query('delete from job')
    }
  })

  it('a purge that waits holds the result up, and the result then sees it', async () => {
    const domain = await queue.domain()
    const job = await running(domain)
    const completing = await heldUp(job, (client) => purgePages(client, domain, { kind: 'all' }))
    assert.deepEqual(await completing, { state: 'queued' })
    assert.equal(await pagesOf(domain), 0)
    assert.equal(await rendersOf(domain), 0)
  })

  it('a lease that is renewed holds the result up, and does it no harm', async () => {
    const domain = await queue.domain()
    const job = await running(domain)
    const completing = await heldUp(job, (client) =>
      client.query(`update job set lease_until = now() + interval '1 minute' where id = $1`, [job.id]),
    )
    assert.deepEqual(await completing, { state: 'done', outcome: 'rendered' })
    assert.equal(await pagesOf(domain), 1)
    assert.equal(await rendersOf(domain), 1)
    assert.equal((await queue.jobs(domain))[0]?.state, 'done')
  })

  /** A result that comes while `work` has the row of its job, and waits until that is committed. */
  async function heldUp(job: ClaimedJob, work: (client: pg.PoolClient) => Promise<unknown>) {
    let completing: ReturnType<typeof queue.complete> | undefined
    await transaction(queue.pool, async (client) => {
      await work(client)
      completing = queue.complete(job, RENDERED)
      await until('the result waits for the row', async () => (await waitingForLocks(queue.pool)) === 1)
    })
    return completing
  }
})

describe('who waits at the same node is told', () => {
  const told: [JobId, JobEnd, StoredPage | null][] = []
  const complete = (job: ClaimedJob, found: Found) => {
    told.length = 0
    const ended: Ended = ({ id }, end, page) => void told.push([id, end, page])
    return createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock: systemClock, ended })(job, found)
  }

  it('what was stored, as it is read from there', async () => {
    const domain = await queue.domain()
    const job = await running(domain)
    await complete(job, RENDERED)
    const [[id, end, page] = []] = told
    assert.deepEqual([told.length, id, end], [1, job.id, { state: 'done', outcome: 'rendered' }])
    assert.deepEqual(
      { ...page, bodyHtml: undefined },
      { ...(await readStored(queue.pool, pageId(domain, HOME))), bodyHtml: undefined },
    )
  })

  it('nothing of a page that only lives longer: its bytes are those of before', async () => {
    const domain = await queue.domain()
    await queue.complete(await running(domain), RENDERED)
    const completion = await complete(await running(domain), RENDERED)
    assert.deepEqual(completion, { state: 'done', outcome: 'rendered', detail: 'unchanged' })
    assert.deepEqual(
      told.map(([, , page]) => page),
      [null],
    )
  })

  it('how a job ended that brought no page, and nothing while it has not ended', async () => {
    const domain = await queue.domain()
    const job = await running(domain)
    await complete(job, { kind: 'aborted' })
    assert.deepEqual(told, [])
    const [again] = await queue.claim()
    await complete(job, RENDERED)
    assert.deepEqual(told, [], 'it is another run by now')
    await complete(again!, { kind: 'blank' })
    assert.deepEqual(told, [[job.id, { state: 'failed', outcome: 'blank' }, null]])
  })

  it('not of a page for which the month has no room', async () => {
    const domain = await queue.domain({ plan: 'starter' })
    const job = await running(domain)
    await queue.pool.query(
      `insert into render_count (domain_id, month, renders) values ($1, date_trunc('month', now() at time zone 'utc'), 1200)`,
      [domain],
    )
    await complete(job, RENDERED)
    assert.deepEqual(told, [[job.id, { state: 'failed', outcome: 'over-quota' }, null]])
    assert.equal(await pagesOf(domain), 0)
  })
})

async function running(domain: DomainId, path: PagePath = HOME): Promise<ClaimedJob> {
  await enqueue(queue.pool, domain, [path], 'live')
  const [job] = await queue.claim()
  return job!
}

async function pagesOf(domain: DomainId): Promise<number> {
  const { rowCount } = await queue.pool.query('select from page where domain_id = $1', [domain])
  return rowCount ?? 0
}

async function rendersOf(domain: DomainId): Promise<number> {
  const { rows } = await queue.pool.query<{ n: number }>(
    'select coalesce(sum(renders), 0)::integer as n from render_count where domain_id = $1',
    [domain],
  )
  return rows[0]!.n
}

/** Notifications come in the order of commits: with a last one of our own, all are there. */
async function allHeard(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  listener.on('last', () => resolve())
  await listener.settled()
  await queue.pool.query(`select pg_notify('last', '')`)
  await promise
}

async function told(...expected: [string, string][]): Promise<void> {
  await allHeard()
  const canonical = heard.map(([channel, payload]) => [
    channel,
    channel === 'invalidate' ? JSON.stringify(JSON.parse(payload)) : payload,
  ])
  assert.deepEqual(canonical, expected)
}
