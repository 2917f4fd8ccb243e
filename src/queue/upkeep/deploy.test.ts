import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { until } from '../../../test/support/condition.ts'
import { openQueue } from '../../../test/support/queue.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import { INVALIDATE_CHANNEL } from '../../store/invalidation.ts'
import { pageId } from '../../store/page-id.ts'
import { createComplete } from '../jobs/complete.ts'
import { AGREEING_PAGES, createDeployWatch, DEPLOYS_A_DAY } from './deploy.ts'

const queue = await openQueue()
const clock = { atMs: Date.now() - 86_400_000, nowMs: () => clock.atMs }
const watch = createDeployWatch({ pool: queue.pool, clock, log: silentLog() })
const complete = createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock })

const found = (application: string | null): RenderOutcome => ({
  ...{ kind: 'rendered', status: 200, headers: [], html: '', application },
})
const DONE = { state: 'done', outcome: 'rendered' } as const

/** A render of that page has been stored, a second after the one before. */
async function stored(domain: DomainId, path: string, application: string | null): Promise<void> {
  clock.atMs += 1_000
  const job = await queue.running(domain, path)
  const rendered = { ...found(application), html: `<p>${clock.atMs}` } as RenderOutcome
  assert.equal((await complete(job, rendered)).state, 'done')
  await watch.after({ page: pageId(domain, path as PagePath) }, found(application), DONE)
}
async function site(pages: number, application = 'one'): Promise<DomainId> {
  const domain = await queue.domain()
  for (let n = 0; n < pages; n++) await stored(domain, `/p${n}`, application)
  return domain
}
async function stale(domain: DomainId): Promise<string[]> {
  const sql = 'select path from page where domain_id = $1 and stale_since is not null order by path'
  return (await queue.pool.query<{ path: string }>(sql, [domain])).rows.map(({ path }) => path)
}
const later = (domain: DomainId, interval: string) =>
  queue.pool.query(
    `update freshness set deploys = array(select at - $2::interval from unnest(deploys) at) where domain_id = $1`,
    [domain, interval],
  )

describe('a deploy', () => {
  // Proves decided "Deploy detection"
  it('is seen when three pages have the new build; then those of the old one are stale, and every node hears of it', async () => {
    const domain = await site(6)
    const heard: string[] = []
    const listener = await queue.listener()
    listener.on(INVALIDATE_CHANNEL, (payload) => heard.push(payload))
    await listener.settled()
    for (let n = 0; n < AGREEING_PAGES; n++) {
      assert.deepEqual(await stale(domain), [], `after ${n} pages`)
      await stored(domain, `/p${n}`, 'two')
    }
    assert.deepEqual(await stale(domain), ['/p3', '/p4', '/p5'])
    await until('it is heard', () => isDeepStrictEqual(JSON.parse(heard.at(-1) ?? '{}'), { domain }))
    // Rendered anew, a page is fresh, and the deploy is over.
    await stored(domain, '/p3', 'two')
    assert.deepEqual(await stale(domain), ['/p4', '/p5'])
  })

  it('one page rendered three times is one page', async () => {
    const domain = await site(5)
    for (const application of ['two', 'two', 'two', 'two']) await stored(domain, '/p0', application)
    assert.deepEqual(await stale(domain), [])
  })

  it('new pages prove nothing, however many', async () => {
    const domain = await site(5)
    for (let n = 0; n < 10; n++) await stored(domain, `/new${n}`, 'two')
    assert.deepEqual(await stale(domain), [])
  })

  it('a part of the site with an application of its own stays as it is', async () => {
    const domain = await site(6)
    for (let n = 0; n < 4; n++) await stored(domain, `/blog${n}`, 'blog')
    await stored(domain, '/plain', null)
    for (let n = 0; n < 3; n++) await stored(domain, `/p${n}`, 'two')
    assert.deepEqual(await stale(domain), ['/p3', '/p4', '/p5'])
  })

  it('a rollback is a deploy too', async () => {
    const domain = await site(8)
    for (let n = 0; n < 6; n++) await stored(domain, `/p${n}`, 'two')
    assert.deepEqual(await stale(domain), ['/p6', '/p7'])
    await later(domain, '10 minutes')
    for (let n = 0; n < 3; n++) await stored(domain, `/p${n}`, 'one')
    assert.deepEqual(await stale(domain), ['/p3', '/p4', '/p5', '/p6', '/p7'])
  })

  it('server by server: the more of the old one comes between, the more must agree', async () => {
    const domain = await site(30)
    await stored(domain, '/p0', 'two')
    await stored(domain, '/p29', 'one')
    for (let n = 1; n < 6; n++) await stored(domain, `/p${n}`, 'two')
    assert.deepEqual(await stale(domain), [])
    await stored(domain, '/p6', 'two')
    assert.equal((await stale(domain)).length, 23)
  })
})

describe('no deploy', () => {
  // Proves decided "Deploy detection"
  it('documents that are never the same twice', async () => {
    const domain = await site(0)
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 6; n++) await stored(domain, `/p${n}`, `nonce-${round}-${n}`)
    }
    assert.deepEqual(await stale(domain), [])
  })

  // Proves decided "Deploy detection"
  it('two variants, one here and one there', async () => {
    const domain = await site(40)
    for (let n = 0; n < 60; n++) await stored(domain, `/p${n % 20}`, n % 2 === 0 ? 'variant' : 'one')
    assert.deepEqual(await stale(domain), [])
  })

  it('what was not stored, is no page, or has no application', async () => {
    const domain = await site(5)
    for (let n = 0; n < 4; n++) await stored(domain, `/p${n}`, null)
    const other = await site(5)
    const page = pageId(other, '/p0' as PagePath)
    await watch.after({ page }, found('two'), { state: 'failed', outcome: 'blank' })
    await watch.after({ page }, { kind: 'blank' }, DONE)
    assert.deepEqual([await stale(domain), await stale(other)], [[], []])
  })

  it("another domain's", async () => {
    const [domain, other] = [await site(5), await site(5)]
    for (let n = 0; n < 3; n++) await stored(domain, `/p${n}`, 'two')
    assert.deepEqual(await stale(other), [])
  })

  // Proves decided "Deploy detection"
  it('where the owner does not want it', async () => {
    const domain = await site(5)
    await queue.set(domain, { refresh_on_deploy: false })
    for (let n = 0; n < 4; n++) await stored(domain, `/p${n}`, 'two')
    assert.deepEqual(await stale(domain), [])
    await queue.set(domain, { refresh_on_deploy: true })
    await stored(domain, '/p0', 'two')
    assert.deepEqual(await stale(domain), ['/p4'])
  })

  // Proves decided "Deploy detection"
  it('more than so many a day: then pages grow old as without', async () => {
    const domain = await site(6, 'build-0')
    for (let deploy = 1; deploy <= DEPLOYS_A_DAY + 1; deploy++) {
      for (let n = 0; n < 6; n++) await stored(domain, `/p${n}`, `build-${deploy - 1}`)
      for (let n = 0; n < 3; n++) await stored(domain, `/p${n}`, `build-${deploy}`)
      const isActedOn = deploy <= DEPLOYS_A_DAY
      assert.deepEqual(await stale(domain), isActedOn ? ['/p3', '/p4', '/p5'] : [], `deploy ${deploy}`)
      await later(domain, '5 minutes')
    }
    await later(domain, '1 day')
    await stored(domain, '/p0', `build-${DEPLOYS_A_DAY + 1}`)
    assert.deepEqual(await stale(domain), ['/p3', '/p4', '/p5'])
  })
})
