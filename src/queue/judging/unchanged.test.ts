/** A render that brings the same as before lengthens the page's life, and is nothing new to crawlers. */
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { HOME, RENDERED, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { DomainId } from '../../ids.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { pageId } from '../../store/page-id.ts'
import { readStored } from '../../store/stored-page.ts'
import { createComplete } from '../jobs/complete.ts'
import { enqueue } from '../jobs/enqueue.ts'

let queue: TestQueue
const clock = { atMs: Date.parse('2026-11-15T12:00:00Z'), nowMs: () => clock.atMs }
before(async () => {
  queue = await testQueue()
})
after(() => queue.close())

const HOUR = 3_600_000

async function render(domain: DomainId, found: RenderOutcome = RENDERED) {
  const complete = createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock })
  const [asked] = await enqueue(queue.pool, domain, [HOME], 'refresh')
  const [job] = await queue.claim()
  await complete(job!, found)
  const { rows } = await queue.pool.query('select outcome, detail from job where id = $1', [asked!.jobId])
  const page = await readStored(queue.pool, pageId(domain, HOME))
  assert(page?.kind === 'page')
  return { ...rows[0], page }
}

// Proves decided "Unchanged snapshot"
it('the same snapshot: rendered now, unchanged since, with the bytes that it had', async () => {
  const domain = await queue.domain()
  const firstMs = clock.atMs
  const first = await render(domain)
  assert.deepEqual([first.outcome, first.detail, first.page.changedAtMs], ['rendered', null, firstMs])
  // Bytes that are written again are told by a mark.
  await queue.pool.query(`update page set body_br = '\\x1234', stale_since = now() where domain_id = $1`, [
    domain,
  ])

  clock.atMs += HOUR
  const second = await render(domain)
  assert.deepEqual([second.outcome, second.detail], ['rendered', 'unchanged'])
  const { renderedAtMs, changedAtMs, staleSinceMs, bodyBr } = second.page
  assert.deepEqual([renderedAtMs, changedAtMs, staleSinceMs], [clock.atMs, firstMs, null])
  assert.equal(bodyBr.toString('hex'), '1234')

  clock.atMs += HOUR
  const other = await render(domain, { ...RENDERED, html: '<p>other' } as RenderOutcome)
  assert.deepEqual([other.detail, other.page.changedAtMs], [null, clock.atMs])
  assert.notEqual(other.page.bodyBr.toString('hex'), '1234')
})

it('another status is a change', async () => {
  const domain = await queue.domain()
  await render(domain)
  clock.atMs += HOUR
  const gone = await render(domain, { ...RENDERED, status: 404 } as RenderOutcome)
  assert.deepEqual([gone.detail, gone.page.changedAtMs], [null, clock.atMs])
})

it('a page of an older version changed when it was rendered', async () => {
  const domain = await queue.domain()
  const firstMs = clock.atMs
  await render(domain)
  await queue.pool.query('update page set changed_at = null where domain_id = $1', [domain])
  clock.atMs += HOUR
  assert.equal((await render(domain)).page.changedAtMs, firstMs)
})

// Proves decided "Unchanged snapshot"
it('it counts as a render: the browser was at work', async () => {
  const domain = await queue.domain()
  for (let n = 0; n < 3; n++) await render(domain)
  const { rows } = await queue.pool.query('select renders from render_count where domain_id = $1', [domain])
  assert.deepEqual(rows, [{ renders: 3 }])
})
