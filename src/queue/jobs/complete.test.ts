import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { until } from '../../../test/support/condition.ts'
import { notifiedBy, waitingForLocks } from '../../../test/support/database.ts'
import { HOME, openQueue, paths, RENDERED } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { transaction } from '../../db/transaction.ts'
import type { DomainId, DomainName, JobId, PagePath } from '../../ids.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { pageId } from '../../store/page-id.ts'
import type { QueryRule } from '../../store/path.ts'
import { purgePages } from '../../store/purge.ts'
import { htmlOf, type StoredPage } from '../../store/stored-page.ts'
import type { Found } from '../judging/effect.ts'
import type { ClaimedJob } from './claim.ts'
import { enqueue } from './enqueue.ts'
import type { JobEnd } from './job.ts'
import { renderSpelling, SPELLINGS_LIMIT } from './run-job.ts'

const queue = await openQueue()
const DONE = { state: 'done', outcome: 'rendered' } as const

describe('what an outcome does', () => {
  it('rendered: stored as it is served, counted, told', async () => {
    const domain = await queue.domain()
    await queue.pool.query(
      `insert into redirect (domain_id, path, status, location, stored_at) values ($1, '/', 301, '/new', now())`,
      [domain],
    )
    const job = await queue.running(domain)
    const html = `<!doctype html><p>${'grüße '.repeat(1_000)}\0</p>`
    const headers: [string, string][] = ['1', 'b\0c\ud800'].map((value) => ['x-a', value])
    const heard = await notifiedBy(queue, ['invalidate', 'job_done', 'job_queued'], async () => {
      assert.deepEqual(await queue.complete(job, { kind: 'rendered', status: 404, headers, html }), DONE)
    })
    const page = await queue.page(domain)
    assert(page?.kind === 'page', 'the redirect gave way to the page')
    assert.equal(page.status, 404)
    assert.deepEqual(page.headers.map(String), ['x-a,1', 'x-a,bc\ufffd'])
    assert.equal(brotliDecompressSync(page.bodyBr).toString(), html)
    assert.equal(page.htmlBytes, Buffer.byteLength(html))
    assert.match(page.etag, /^[\w-]{22}$/)
    assert.equal(await queue.renders(domain), 1)
    const [told = '', ...ends] = heard
    const stored = page.renderedAtMs
    assert.deepEqual(JSON.parse(told), { domain, path: '/', stored })
    assert.deepEqual(ends, [job.id])
  })

  it('redirect: into the redirect cache, free, and the page that is stored stays', async () => {
    const domain = await queue.domain()
    await queue.complete(await queue.running(domain), RENDERED)
    const job = await queue.running(domain)
    const found = { kind: 'redirect', status: 302, location: 'https://e.example/x' } as const
    assert.deepEqual(await queue.complete(job, found), { state: 'done', outcome: 'redirect' })
    assert.partialDeepStrictEqual(await queue.page(domain), found)
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

it('the quota: counts in the month of the clock that was handed in', async () => {
  const nowMs = Date.UTC(2031, 0, 31, 23, 59, 59, 999)
  const domain = await queue.domain()
  await queue.completer({ clock: { nowMs: () => nowMs } })(await queue.running(domain), RENDERED)
  const months = await queue.column('select month from render_count where domain_id = $1', domain)
  assert.deepEqual(months, ['2031-01-01'])
  assert.equal((await queue.page(domain))?.renderedAtMs, nowMs)
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
  const domain = await queue.domain()
  const job = await queue.running(domain)
  await queue.purge(domain, { kind: 'path', path: HOME })
  assert.deepEqual(await queue.complete(job, RENDERED), { state: 'queued' })
  assert.deepEqual(await queue.stored(domain), [])
  assert.equal(await queue.renders(domain), 0)
  const [again] = await queue.claim()
  assert.equal(again?.id, job.id)
  assert.equal((await queue.complete(again!, RENDERED)).state, 'done')
  assert.deepEqual(await queue.stored(domain), ['/'])
})

it('a purge that waits to commit holds up the result of a render, which then sees it', async () => {
  const domain = await queue.domain()
  const job = await queue.running(domain)
  let completing: ReturnType<typeof queue.complete> | undefined
  await transaction(queue.pool, async (client) => {
    await purgePages(client, domain, { kind: 'all' })
    completing = queue.complete(job, RENDERED)
    await until('the result waits for the row', async () => (await waitingForLocks(queue.pool)) === 1)
  })
  assert.deepEqual(await completing, { state: 'queued' })
  assert.deepEqual(await queue.stored(domain), [])
  assert.equal(await queue.renders(domain), 0)
})

describe('who waits at the same node is told', () => {
  const told: [JobId, JobEnd, StoredPage | null][] = []
  const ending = queue.completer({ ended: (id, end, page) => void told.push([id, end, page]) })
  const complete = (job: ClaimedJob, found: Found) => {
    told.length = 0
    return ending(job, found)
  }

  it('what was stored, as it is read from there', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    await complete(job, RENDERED)
    const [[id, end, page] = []] = told
    assert.deepEqual([told.length, id, end], [1, job.id, DONE])
    const bodyHtml = undefined
    assert.deepEqual({ ...page, bodyHtml }, { ...(await queue.page(domain)), bodyHtml })
  })

  it('nothing of a page that only lives longer: its bytes are those of before', async () => {
    const domain = await queue.domain()
    await queue.complete(await queue.running(domain), RENDERED)
    const completion = await complete(await queue.running(domain), RENDERED)
    assert.deepEqual(completion, { state: 'done', outcome: 'rendered', detail: 'unchanged' })
    assert.deepEqual(told[0]?.[2], null)
  })

  it('how a job ended that brought no page, and nothing while it has not ended', async () => {
    const job = await queue.running(await queue.domain())
    await complete(job, { kind: 'aborted' })
    assert.deepEqual(told, [])
    const [again] = await queue.claim()
    await complete(job, RENDERED)
    assert.deepEqual(told, [], 'it is another run by now')
    await complete(again!, { kind: 'blank' })
    assert.deepEqual(told, [[job.id, { state: 'failed', outcome: 'blank' }, null]])
  })
})

describe('a redirect to another spelling of the page', () => {
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
  it('round in circles: an end, and no redirect', async () => {
    const { asked, found } = await play('/a', [to(`${SITE}/a?utm_source=1`)])
    assert.equal(asked.length, SPELLINGS_LIMIT)
    assert.deepEqual(found, { kind: 'redirect-loop', location: `${SITE}/a?utm_source=1` })
  })

  it('one hop fewer than a circle, or another page from there: that is the answer', async () => {
    const hops = Array.from({ length: SPELLINGS_LIMIT - 1 }, (_, at) => to(`${SITE}/a?utm_source=${at}`))
    assert.equal((await play('/a', [...hops, PAGE])).found, PAGE)
    const { found } = await play('/a', [to(`${SITE}/a?utm_source=1`), to(`${SITE}/b`)])
    assert.deepEqual(found, to(`${SITE}/b`))
  })
})
