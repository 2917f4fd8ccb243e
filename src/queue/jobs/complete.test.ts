import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import type pg from 'pg'
import { until } from '../../../test/support/condition.ts'
import { waitingForLocks } from '../../../test/support/database.ts'
import { HOME, openQueue, paths, RENDERED } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import { transaction } from '../../db/transaction.ts'
import type { DomainId, DomainName, JobId, PagePath } from '../../ids.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { pageId } from '../../store/page-id.ts'
import type { QueryRule } from '../../store/path.ts'
import { purgePages } from '../../store/purge.ts'
import { htmlOf, readStored, type StoredPage } from '../../store/stored-page.ts'
import type { Found } from '../judging/effect.ts'
import type { Ended } from './await.ts'
import type { ClaimedJob } from './claim.ts'
import { createComplete } from './complete.ts'
import { enqueue } from './enqueue.ts'
import type { JobEnd } from './job.ts'
import { renderSpelling, SPELLINGS_LIMIT } from './run-job.ts'

const queue = await openQueue()
const listener = await queue.listener()
const heard: [string, string][] = []
for (const channel of ['invalidate', 'job_done', 'job_queued']) {
  listener.on(channel, (payload) => heard.push([channel, payload]))
}
await listener.settled()
const DONE = { state: 'done', outcome: 'rendered' } as const
const home = (domain: DomainId) => readStored(queue.pool, pageId(domain, HOME))

describe('what an outcome does', () => {
  it('rendered: stored as it is served, counted, told', async () => {
    const domain = await queue.domain()
    await queue.pool.query(
      `insert into redirect (domain_id, path, status, location, stored_at) values ($1, '/', 301, '/new', now())`,
      [domain],
    )
    const job = await queue.running(domain)
    await allHeard()
    heard.length = 0
    const html = `<!doctype html><p>${'grüße '.repeat(1_000)}\0</p>`
    const headers: [string, string][] = ['1', 'b\0c\ud800'].map((value) => ['x-a', value])
    assert.deepEqual(await queue.complete(job, { kind: 'rendered', status: 404, headers, html }), DONE)
    const page = await home(domain)
    assert(page?.kind === 'page', 'the redirect gave way to the page')
    assert.equal(page.status, 404)
    assert.deepEqual(page.headers.map(String), ['x-a,1', 'x-a,bc\ufffd'])
    assert.equal(brotliDecompressSync(page.bodyBr).toString(), html)
    assert.equal(page.htmlBytes, Buffer.byteLength(html))
    assert.match(page.etag, /^[\w-]{22}$/)
    assert.equal(await queue.renders(domain), 1)
    await allHeard()
    assert.deepEqual(heard.map(([channel]) => channel).join(), 'invalidate,job_done')
    const stored = page.renderedAtMs
    assert.deepEqual(JSON.parse(heard[0]![1]), { domain, path: '/', variant: 'desktop', stored })
    assert.equal(heard[1]![1], job.id)
  })

  it('redirect: into the redirect cache, free, and the page that is stored stays', async () => {
    const domain = await queue.domain()
    await queue.complete(await queue.running(domain), RENDERED)
    const job = await queue.running(domain)
    const found = { kind: 'redirect', status: 302, location: 'https://e.example/x' } as const
    assert.deepEqual(await queue.complete(job, found), { state: 'done', outcome: 'redirect' })
    const entry = await home(domain)
    assert(entry?.kind === 'redirect')
    assert.deepEqual([entry.status, entry.location], [found.status, found.location])
    assert.equal(await queue.renders(domain), 1)
    assert.deepEqual(await queue.stored(domain), ['/'])
  })

  it('crashed: once more after a back-off, then failed', async () => {
    const domain = await queue.domain()
    const crash = { kind: 'crashed', reason: 'the tab died' } as const
    assert.deepEqual(await queue.complete(await queue.running(domain), crash), { state: 'queued' })
    assert.deepEqual(await queue.claim(), [], 'not at once')
    await queue.pool.query('update job set run_at = now()')
    const [again] = await queue.claim()
    assert.deepEqual(await queue.complete(again!, crash), { state: 'failed', outcome: 'crashed' })
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
    assert.equal(await queue.renders(domain), 12)
    assert.equal((await queue.stored(domain)).length, 12)
  })

  it('counts in the month of the clock that was handed in', async () => {
    const nowMs = Date.UTC(2031, 0, 31, 23, 59, 59, 999)
    const complete = createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock: { nowMs: () => nowMs } })
    const domain = await queue.domain()
    await complete(await queue.running(domain), RENDERED)
    const months = await queue.column('select month from render_count where domain_id = $1', domain)
    assert.deepEqual(months, ['2031-01-01'])
    assert.equal((await home(domain))?.renderedAtMs, nowMs)
  })
})

describe('pages of a domain that end together', () => {
  /** Warm jobs of `count` pages, claimed by one node. */
  async function running(count: number) {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, paths(count), 'warm')
    return { domain, jobs: await queue.claim() }
  }
  const end = (jobs: readonly ClaimedJob[]) =>
    Promise.all(jobs.map((job) => queue.complete(job, { ...RENDERED, html: `<p>${job.page.path}` } as Found)))

  it('are each stored as they are alone', async () => {
    const { domain, jobs } = await running(9)
    assert.deepEqual(new Set((await end(jobs)).map(({ state }) => state)), new Set(['done']))
    for (const { page } of jobs) {
      const stored = await readStored(queue.pool, page)
      assert(stored?.kind === 'page')
      assert.equal(await htmlOf(stored), `<p>${page.path}`)
    }
    assert.equal(await queue.renders(domain), 9)
  })

  it('are not stored where a purge came before, or the job is another node’s', async () => {
    const { domain, jobs } = await running(5)
    await transaction(queue.pool, (client) =>
      purgePages(client, domain, { kind: 'path', path: '/p1' as PagePath }),
    )
    await queue.pool.query(`update job set node = 'other' where path = '/p2'`)
    const ends = await end(jobs)
    const found = jobs.map(({ page }, at) => `${page.path} ${ends[at]!.state}`).sort()
    assert.deepEqual(found, ['/p0 done', '/p1 queued', '/p2 taken-away', '/p3 done', '/p4 done'])
    assert.deepEqual(await queue.stored(domain), ['/p0', '/p3', '/p4'])
  })
})

describe('the fence', () => {
  it('a job that was claimed again refuses the first result and takes the second', async () => {
    const domain = await queue.domain()
    const late = await queue.running(domain)
    await queue.pool.query(`update job set state = 'queued'`)
    const [again] = await queue.claim({ node: late.node })
    assert.deepEqual(await queue.complete(late, RENDERED), { state: 'taken-away' })
    assert.deepEqual(await queue.stored(domain), [])
    assert.equal(await queue.renders(domain), 0)
    assert.equal((await queue.complete(again!, RENDERED)).state, 'done')
    assert.deepEqual(await queue.complete(again!, RENDERED), { state: 'taken-away' }, 'nor twice')
    assert.equal(await queue.renders(domain), 1)
  })
})

describe('a purge wins over a render that began before it', () => {
  const purge = (domain: DomainId) =>
    transaction(queue.pool, (client) => purgePages(client, domain, { kind: 'path', path: HOME }))

  it('purged before the render ends: nothing is stored, it runs again at once', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    await purge(domain)
    assert.deepEqual(await queue.complete(job, RENDERED), { state: 'queued' })
    assert.deepEqual(await queue.stored(domain), [])
    assert.equal(await queue.renders(domain), 0)
    const [again] = await queue.claim()
    assert.equal(again?.id, job.id)
    assert.equal((await queue.complete(again!, RENDERED)).state, 'done')
    assert.deepEqual(await queue.stored(domain), ['/'])
  })

  it('a purge that waits holds the result up, and the result then sees it', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    const completing = await heldUp(job, (client) => purgePages(client, domain, { kind: 'all' }))
    assert.deepEqual(await completing, { state: 'queued' })
    assert.deepEqual(await queue.stored(domain), [])
    assert.equal(await queue.renders(domain), 0)
  })

  it('a lease that is renewed holds the result up, and does it no harm', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    const completing = await heldUp(job, (client) =>
      client.query(`update job set lease_until = now() + interval '1 minute' where id = $1`, [job.id]),
    )
    assert.deepEqual(await completing, DONE)
    assert.deepEqual(await queue.stored(domain), ['/'])
    assert.equal(await queue.renders(domain), 1)
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
    const job = await queue.running(domain)
    await complete(job, RENDERED)
    const [[id, end, page] = []] = told
    assert.deepEqual([told.length, id, end], [1, job.id, DONE])
    const bodyHtml = undefined
    assert.deepEqual({ ...page, bodyHtml }, { ...(await home(domain)), bodyHtml })
  })

  it('nothing of a page that only lives longer: its bytes are those of before', async () => {
    const domain = await queue.domain()
    await queue.complete(await queue.running(domain), RENDERED)
    const completion = await complete(await queue.running(domain), RENDERED)
    assert.deepEqual(completion, { state: 'done', outcome: 'rendered', detail: 'unchanged' })
    assert.deepEqual(told[0]?.[2], null)
  })

  it('how a job ended that brought no page, and nothing while it has not ended', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    await complete(job, { kind: 'aborted' })
    assert.deepEqual(told, [])
    const [again] = await queue.claim()
    await complete(job, RENDERED)
    assert.deepEqual(told, [], 'it is another run by now')
    await complete(again!, { kind: 'blank' })
    assert.deepEqual(told, [[job.id, { state: 'failed', outcome: 'blank' }, null]])
    const full = await queue.domain({ plan: 'starter' })
    const last = await queue.running(full)
    await queue.useRenders(full, 1_200)
    await complete(last, RENDERED)
    assert.deepEqual(told, [[last.id, { state: 'failed', outcome: 'over-quota' }, null]])
    assert.deepEqual(await queue.stored(full), [])
  })
})

/** Notifications come in the order of commits: with a last one of our own, all are there. */
async function allHeard(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  listener.on('last', () => resolve())
  await listener.settled()
  await queue.pool.query(`select pg_notify('last', '')`)
  await promise
}

const SITE = 'https://shop.example'
const PAGE: RenderOutcome = { kind: 'rendered', status: 200, headers: [], html: '<p>a' }
const to = (location: string): RenderOutcome => ({ kind: 'redirect', status: 302, location })

/** `ends`: what comes of each render in turn, the last for all that follow. */
async function play(path: string, ends: RenderOutcome[], query: QueryRule = 'keep') {
  const asked: string[] = []
  const found = await renderSpelling(
    { customDomain: 'shop.example' as DomainName, page: pageId(1 as DomainId, path as PagePath), query },
    async (spelling) => {
      asked.push(spelling)
      return ends[Math.min(asked.length, ends.length) - 1]!
    },
  )
  return { asked, found }
}

describe('a redirect to another spelling of the page', () => {
  const FOLLOWED: [name: string, path: string, location: string, next: string, query?: QueryRule][] = [
    // Proves decided "Redirects to the page itself"
    ['parameters in the order that the site likes', '/a?x=1&y=2', `${SITE}/a?y=2&x=1`, '/a?y=2&x=1'],
    ['a click-tracking parameter', '/a', `${SITE}/a?utm_source=self`, '/a?utm_source=self'],
    ['a query that the domain ignores', '/a', `${SITE}/a?session=1`, '/a?session=1', 'ignore'],
    ['a parameter that names no page', '/a?id=1', `${SITE}/a?id=1&v=2`, '/a?id=1&v=2', ['id']],
    ['the other spelling of a letter', '/caf%C3%A9', `${SITE}/caf%c3%a9`, '/caf%c3%a9'],
    ['the other scheme', '/a', 'http://shop.example/a', '/a'],
    ['itself, once, as after a cookie', '/a', `${SITE}/a`, '/a'],
  ]
  for (const [name, path, location, next, query] of FOLLOWED) {
    it(name, async () => {
      const { asked, found } = await play(path, [to(location), PAGE], query)
      assert.deepEqual(asked, [path, next])
      assert.equal(found, PAGE)
    })
  }

  // Proves decided "Redirects to the page itself"
  it('round in circles: an end, and no redirect', async () => {
    const { asked, found } = await play('/a', [to(`${SITE}/a?utm_source=1`)])
    assert.equal(asked.length, SPELLINGS_LIMIT)
    assert.deepEqual(found, { kind: 'redirect-loop', location: `${SITE}/a?utm_source=1` })
  })

  it('just before that is a circle', async () => {
    const hops = Array.from({ length: SPELLINGS_LIMIT - 1 }, (_, at) => to(`${SITE}/a?utm_source=${at}`))
    assert.equal((await play('/a', [...hops, PAGE])).found, PAGE)
  })

  it('and from there to another page: that is the answer', async () => {
    const { found } = await play('/a', [to(`${SITE}/a?utm_source=1`), to(`${SITE}/b`)])
    assert.deepEqual(found, to(`${SITE}/b`))
  })
})

describe('a redirect to another page is the answer', () => {
  const GIVEN: [name: string, location: string, query?: QueryRule][] = [
    ['another path', `${SITE}/b`],
    ['a slash at its end', `${SITE}/a/`],
    ['a parameter that counts', `${SITE}/a?x=1`],
    ['another host', 'https://www.shop.example/a'],
    ['another port', 'https://shop.example:8443/a'],
    ['no address', 'mailto:a@shop.example'],
  ]
  for (const [name, location, query] of GIVEN) {
    it(name, async () => {
      const { asked, found } = await play('/a', [to(location), PAGE], query)
      assert.deepEqual([asked, found], [['/a'], to(location)])
    })
  }
})
