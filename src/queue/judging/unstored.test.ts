/** A page that says itself that it is an error of the moment reaches whoever waits for it, and nobody after him. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import { brotliDecompressSync } from 'node:zlib'
import { columns, HOME, openQueue, RENDERED } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import type { DomainId } from '../../ids.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { pageId } from '../../store/page-id.ts'
import {
  readStored,
  readUnstored,
  removeOldUnstored,
  UNSTORED_A_DOMAIN,
  UNSTORED_LIMIT_BYTES,
  UNSTORED_MS,
} from '../../store/stored-page.ts'
import type { ClaimedJob } from '../jobs/claim.ts'
import { createComplete } from '../jobs/complete.ts'
import { enqueue } from '../jobs/enqueue.ts'

const SORRY: RenderOutcome = {
  ...{ kind: 'site-error', status: 503, headers: [['retry-after', '120']] },
  html: '<!doctype html><h1>Back soon</h1>',
}
const FAILED = { state: 'failed', outcome: 'site-error' }

const queue = await openQueue()
const homeOf = (domain: DomainId) => readStored(queue.pool, pageId(domain, HOME))

async function rows(domain: DomainId): Promise<number> {
  const { rowCount } = await queue.pool.query('select from unstored_page where domain_id = $1', [domain])
  return rowCount ?? 0
}

describe('a page that is given once', () => {
  it('is there for who waited, with its status and headers; not stored; counted, for it was served', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain)
    assert.deepEqual(await queue.complete(job, SORRY), FAILED)
    const page = await readUnstored(queue.pool, domain, job.id)
    assert.deepEqual([page?.status, page?.headers], [503, [['retry-after', '120']]])
    assert.equal(String(brotliDecompressSync(page!.bodyBr)), SORRY.html)
    assert.equal(await homeOf(domain), null)
    assert.equal(await queue.renders(domain), 1)
    const { rows: jobs } = await queue.pool.query('select detail from job where id = $1', [job.id])
    assert.deepEqual(jobs, [{ detail: 'status 503' }])
  })

  it('is not read with the id of another domain', async () => {
    const [domain, other] = [await queue.domain(), await queue.domain()]
    const job = await queue.running(domain)
    await queue.complete(job, SORRY)
    assert.equal(await readUnstored(queue.pool, other, job.id), null)
  })

  it('not where nobody waits; also not counted', async () => {
    for (const priority of ['refresh', 'warm'] as const) {
      const domain = await queue.domain()
      await queue.complete(await queue.running(domain, HOME, priority), SORRY)
      assert.deepEqual([await rows(domain), await queue.renders(domain)], [0, 0])
    }
  })

  it('also for who joined a refresh while it ran', async () => {
    const domain = await queue.domain()
    const job = await queue.running(domain, HOME, 'refresh')
    await enqueue(queue.pool, domain, [HOME], 'live')
    await queue.complete(job, SORRY)
    assert.equal(await rows(domain), 1)
  })

  // Proves decided "Temporary errors set by a page"
  it('not beside a good copy, which is served on until the end of its keep time', async () => {
    const domain = await queue.domain()
    const clock = { atMs: systemClock.nowMs(), nowMs: () => clock.atMs }
    const complete = createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock })
    await complete(await queue.running(domain), RENDERED)
    const before = await homeOf(domain)
    await complete(await queue.running(domain), SORRY)
    assert.deepEqual([await rows(domain), await queue.renders(domain)], [0, 1])
    assert.deepEqual(await homeOf(domain), before)
    clock.atMs += 30 * 86_400_000 - 1
    await complete(await queue.running(domain), SORRY)
    assert.equal(await rows(domain), 0)
    clock.atMs += 1
    await complete(await queue.running(domain), SORRY)
    assert.equal(await rows(domain), 1)
  })

  it('an incomplete page: given and counted, rendered again behind it; a background render is not', async () => {
    const html = '<!doctype html><h1>half</h1>'
    const half: RenderOutcome = {
      ...{ kind: 'incomplete', reason: 'no answer to GET /data' },
      page: { status: 200, headers: [], html },
    }
    const domain = await queue.domain()
    const job = await queue.running(domain)
    assert.deepEqual(await queue.complete(job, half), { state: 'failed', outcome: 'incomplete' })
    assert.equal(String(brotliDecompressSync((await readUnstored(queue.pool, domain, job.id))!.bodyBr)), html)
    assert.equal(await queue.renders(domain), 1)
    const jobs = async () => columns(await queue.jobs(domain), 'state', 'priority').map(String)
    assert.deepEqual(await jobs(), ['failed,0', 'queued,1'])
    await queue.complete((await queue.claim())[0]!, half)
    assert.deepEqual(await jobs(), ['failed,0', 'failed,1'])
    assert.deepEqual([await rows(domain), await queue.renders(domain)], [1, 1])
    assert.equal(await homeOf(domain), null)
  })

  it('not past 120 % of the month', async () => {
    const plans = { ...DEFAULT_PLANS, small: { ...DEFAULT_PLANS['pro']!, monthly_render_limit: 5 } }
    const complete = createComplete({ pool: queue.pool, plans, clock: systemClock })
    const domain = await queue.domain({ plan: 'small' })
    for (let served = 0; served < 6; served++)
      assert.deepEqual(await complete(await queue.running(domain), SORRY), FAILED)
    const end = await complete(await queue.running(domain), SORRY)
    assert.deepEqual(end, { state: 'failed', outcome: 'over-quota' })
    assert.equal(await queue.renders(domain), 6)
  })

  it('not when it is larger than an error page ever is', async () => {
    // Random text packs to three quarters of its length.
    const letters = randomBytes(UNSTORED_LIMIT_BYTES).toString('base64')
    const sized = async (chars: number) => {
      const domain = await queue.domain()
      await queue.complete(await queue.running(domain), { ...SORRY, html: letters.slice(0, chars) })
      return rows(domain)
    }
    assert.equal(await sized(Math.floor(UNSTORED_LIMIT_BYTES * 1.2)), 1)
    assert.equal(await sized(letters.length), 0)
  })

  it(`at most ${UNSTORED_A_DOMAIN} of a domain: the oldest goes for a new one`, async () => {
    const domain = await queue.domain()
    const clock = { atMs: 1_000, nowMs: () => clock.atMs++ }
    const complete = createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock })
    const jobs: ClaimedJob[] = []
    for (let at = 0; at < UNSTORED_A_DOMAIN + 1; at++) {
      jobs.push(await queue.running(domain))
      await complete(jobs[at]!, SORRY)
      assert.equal(await rows(domain), Math.min(at + 1, UNSTORED_A_DOMAIN))
    }
    assert.equal(await readUnstored(queue.pool, domain, jobs[0]!.id), null)
    assert.notEqual(await readUnstored(queue.pool, domain, jobs.at(-1)!.id), null)
  })

  it('goes after a minute, by the next one of any domain and by the tidying', async () => {
    const clock = { atMs: systemClock.nowMs(), nowMs: () => clock.atMs }
    const complete = createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock })
    const [first, second] = [await queue.domain(), await queue.domain()]
    await complete(await queue.running(first), SORRY)
    clock.atMs += UNSTORED_MS
    await complete(await queue.running(second), SORRY)
    assert.deepEqual([await rows(first), await rows(second)], [1, 1])
    clock.atMs += 1
    await complete(await queue.running(second), SORRY)
    assert.deepEqual([await rows(first), await rows(second)], [0, 2])
    assert.equal(await removeOldUnstored(queue.pool, clock.atMs + UNSTORED_MS), 1)
    assert.equal(await removeOldUnstored(queue.pool, clock.atMs + UNSTORED_MS + 1), 1)
  })
})
