/** A page is judged while it is being compressed: what becomes known in between counts. */
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { RENDERED, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { effectOf } from './effect.ts'
import { createPageKeeper } from './judge-page.ts'
import { wordsOf } from './soft-404.ts'

const PATH = '/p' as PagePath

let queue: TestQueue
before(async () => {
  queue = await testQueue()
})
after(() => queue.close())

async function looked(domain: DomainId) {
  await enqueue(queue.pool, domain, [PATH], 'live')
  const [job] = await queue.claim()
  const effect = await effectOf(job!, RENDERED)
  assert(effect.do === 'store-page')
  const keeper = createPageKeeper({ pool: queue.pool, plans: DEFAULT_PLANS, clock: systemClock })
  const known = await keeper.judge(job!, effect.look)
  return { keep: () => keeper.keep(job!, effect, known) }
}

/** The site has been looked at, and shows `html` where it has no page. */
async function probed(domain: DomainId, html: string): Promise<void> {
  const finding = { kind: 'soft', application: null, words: wordsOf(html), spare: 0, echoes: false }
  await queue.pool.query(
    `insert into probe (domain_id, requested_at, renew_at, not_before, finding) values ($1, now(), now(), now(), $2)
     on conflict (domain_id) do update set renew_at = clock_timestamp(), finding = excluded.finding`,
    [domain, JSON.stringify(finding)],
  )
}

const pagesOf = async (domain: DomainId) =>
  (await queue.pool.query('select from page where domain_id = $1', [domain])).rowCount

it('what a probe found out after the look is what the page is judged by', async () => {
  const domain = await queue.domain()
  const { keep } = await looked(domain)
  assert(RENDERED.kind === 'rendered')
  await probed(domain, RENDERED.html)
  const kept = await keep()
  assert.equal(kept.kept === 'refused' && kept.outcome, 'soft-404')
  assert.equal(await pagesOf(domain), 0)
})

it('a probe that found the site as before holds nothing up', async () => {
  const domain = await queue.domain()
  await probed(domain, '<p>There is no such thing')
  const { keep } = await looked(domain)
  await probed(domain, '<p>There is no such thing')
  assert.equal((await keep()).kept, 'stored')
  assert.equal(await pagesOf(domain), 1)
})
