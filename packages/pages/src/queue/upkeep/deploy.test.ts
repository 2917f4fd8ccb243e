import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { invalidatedBy } from '../../../../../test/support/database.ts'
import { readOutcome } from '../../../../../test/support/outcome.ts'
import { openQueue, paths } from '../../../../../test/support/queue.ts'
import { askForSubjects, runDueTasks } from '../../../../../test/support/tasks.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { AGREEING_PAGES, DEPLOYS_A_DAY, DeployWatch } from './deploy.ts'
import { AHEAD_AT_ONCE, RefreshAhead } from './refresh-ahead.ts'

const queue = await openQueue()

const clock = { atMs: Date.now() - 86_400_000, nowMs: () => clock.atMs }
const watch = new DeployWatch(queue.pool, clock, silentLog())
const complete = queue.completer({ clock })

const found = (application: string | null, html = '') =>
  readOutcome({ kind: 'rendered', status: 200, headers: [], html, application })

/** A render of that page has been stored, a second after the one before. */
async function stored(domain: DomainId, path: string, application: string | null): Promise<void> {
  clock.atMs += 1_000
  const job = await queue.running(domain, path)
  const rendered = found(application, `<p>${clock.atMs}`)
  assert.equal((await complete(job, rendered)).state, 'done')
  const done = { state: 'done', outcome: 'rendered' } as const
  await watch.after(pageId(domain, path as PagePath), found(application), done)
}
async function site(pages: number, application = 'one'): Promise<DomainId> {
  const domain = await queue.domain()
  for (let n = 0; n < pages; n++) await stored(domain, `/p${n}`, application)
  return domain
}
const stale = (domain: DomainId) =>
  queue.column('select path from page where domain_id = $1 and stale_since is not null order by path', domain)
const later = (domain: DomainId, interval: string) =>
  queue.pool.query(
    `update rate set moments = array(select at - $2::interval from unnest(moments) at) where subject = 'domain ' || $1::integer`,
    [domain, interval],
  )

describe('a deploy', () => {
  // Proves decided "Deploy detection"
  it('three pages of a new build are a deploy: pages of the old build are stale, and every node hears of it', async () => {
    const [domain, other] = [await site(6), await site(6)]
    // A part of the site with an application of its own stays as it is.
    for (let n = 0; n < 4; n++) await stored(domain, `/blog${n}`, 'blog')
    const heard = await invalidatedBy(queue, async () => {
      for (let n = 0; n < AGREEING_PAGES; n++) {
        assert.deepEqual(await stale(domain), [], `after ${n} pages`)
        await stored(domain, `/p${n}`, 'two')
      }
    })
    assert.deepEqual(await stale(domain), ['/p3', '/p4', '/p5'])
    // Stored pages are told in batches, maybe later.
    const deploys = heard.filter((told) => !Object.hasOwn(told as object, 'stored_pages'))
    assert.deepEqual(deploys, [{ domain }])
    // Rendered anew, a page is fresh, and the deploy is over.
    await stored(domain, '/p3', 'two')
    assert.deepEqual([await stale(domain), await stale(other)], [['/p4', '/p5'], []])
  })

  it('a render that began before the deploy was seen stores nothing and runs again', async () => {
    const domain = await site(6)
    const [before, other] = [await queue.running(domain, '/p5'), await queue.running(await site(1))]
    for (let n = 0; n < AGREEING_PAGES; n++) await stored(domain, `/p${n}`, 'two')
    assert.deepEqual(await stale(domain), ['/p3', '/p4', '/p5'])
    assert.equal((await complete(before, found('one', 'old'))).state, 'queued')
    assert.equal((await complete(other, found('one', 'old'))).state, 'done')
    assert.deepEqual(await stale(domain), ['/p3', '/p4', '/p5'])
  })

  it('one page rendered often is one page, and new pages prove nothing, however many', async () => {
    const domain = await site(5)
    for (let n = 0; n < 4; n++) await stored(domain, '/p0', 'two')
    for (let n = 0; n < 4; n++) await stored(domain, `/new${n}`, 'two')
    assert.deepEqual(await stale(domain), [])
  })
})

describe('no deploy', () => {
  it('documents that are never the same twice are no deploy', async () => {
    const domain = await site(0)
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 6; n++) await stored(domain, `/p${n}`, `nonce-${round}-${n}`)
    }
    assert.deepEqual(await stale(domain), [])
  })

  it('two variants of an A/B test are no deploy', async () => {
    const domain = await site(40)
    for (let n = 0; n < 60; n++) await stored(domain, `/p${n % 20}`, n % 2 === 0 ? 'variant' : 'one')
    assert.deepEqual(await stale(domain), [])
  })

  // Proves decided "Deploy detection"
  it('a new build is no deploy if the owner disabled detection', async () => {
    const domain = await site(5)
    await queue.set(domain, { refresh_on_deploy: false })
    for (let n = 0; n < 4; n++) await stored(domain, `/p${n}`, 'two')
    assert.deepEqual(await stale(domain), [])
    await queue.set(domain, { refresh_on_deploy: true })
    await stored(domain, '/p0', 'two')
    assert.deepEqual(await stale(domain), ['/p4'])
  })

  // Proves decided "Deploy detection"
  it('a deploy past the limit of a day is ignored, and pages grow old as without it', async () => {
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

describe('refreshing ahead', () => {
  const clock = { atMs: Date.now(), nowMs: () => clock.atMs }
  beforeEach(() => queue.pool.query('delete from domain; truncate task'))

  /** Page `n` is `ages[n]` hours old and was asked for `n` hours ago. */
  async function site(ages: readonly number[], plan = 'enterprise'): Promise<DomainId> {
    const domain = await queue.domain({ plan })
    for (const [n, age] of ages.entries()) await queue.store(domain, [`/p${n}`], age)
    await queue.visited(domain, ages.length)
    return domain
  }
  const refresh = () => runDueTasks(queue.pool, new RefreshAhead(queue.pool, DEFAULT_PLANS, clock))
  async function look(): Promise<string[]> {
    await askForSubjects(queue.pool, new RefreshAhead(queue.pool, DEFAULT_PLANS, clock))
    while ((await refresh()) > 0) {}
    return queue.column<string>(`select path from job where state = 'queued' and priority = 1 order by turn`)
  }
  const again = () => queue.pool.query(`update task set due_at = now()`)
  const end = () =>
    queue.pool.query(`update job set state = 'done', finished_at = now() where state = 'queued'`)
  const thirty = (count: number) => Array<number>(count).fill(30)

  // Proves decided "Refresh ahead"
  it('stale pages are refreshed, last visited first, but none that no crawler asks for', async () => {
    await site([30, 2, 40, 1])
    await queue.pool.query(`update page set stale_since = now() - interval '1 minute' where path = '/p3'`)
    await queue.pool.query(`delete from last_visit where path = '/p2'`)
    assert.deepEqual(await look(), ['/p0', '/p3'])
    await again()
    // What waits is not asked for twice.
    assert.deepEqual(await look(), ['/p0', '/p3'])
    await queue.pool.query(`update page set rendered_at = now(), stale_since = null`)
    await end()
    await again()
    assert.deepEqual(await look(), [])
  })

  it('nothing is refreshed while the queue is full, until there is room again', async () => {
    const domain = await site([30])
    await queue.countWaiting(domain, 500_000)
    assert.deepEqual(await look(), [])
    await queue.countWaiting(domain, -500_000)
    await again()
    assert.deepEqual(await look(), ['/p0'])
  })

  it('pages are refreshed at the age that the owner has set, for both devices where they are told apart, and not for an inactive domain', async () => {
    const [domain, inactive] = [await site([3, 1]), await site([30])]
    await queue.set(domain, { fresh_seconds: 7_200, devices: 'both' })
    await queue.pool.query('update domain set is_active = false where id = $1', [inactive])
    assert.deepEqual(await look(), ['/p0'])
    assert.deepEqual(await queue.column('select is_both from job'), [true])
  })

  it('only so many refreshes are queued at a time, and those that crawlers asked for count', async () => {
    const domain = await site(thirty(AHEAD_AT_ONCE + 5))
    await enqueue(queue.pool, domain, paths(3, '/own'), 'refresh')
    for (let looks = 0; looks < 2; looks++) {
      assert.equal((await look()).length, AHEAD_AT_ONCE)
      await again()
    }
  })

  // Proves decided "Refresh ahead"
  it("a day takes a thirtieth of the owner's share of the month, and the next day as much again", async () => {
    // 1,000 a month: 10 % of it is 3 a day.
    await site(thirty(10), 'starter')
    assert.equal((await look()).length, 3)
    await end()
    await again()
    assert.deepEqual(await look(), [])
    clock.atMs += 86_400_000
    await again()
    assert.equal((await look()).length, 3)
    clock.atMs -= 86_400_000
  })

  it('the owner sets the share of the quota, and 0 turns refreshing ahead off', async () => {
    await queue.set(await site(thirty(30), 'starter'), { refresh_ahead_percent: 0 })
    assert.deepEqual(await look(), [])
    await queue.set(await site(thirty(30), 'starter'), { refresh_ahead_percent: 50 })
    assert.equal((await look()).length, 16)
  })

  // Proves decided "Refresh ahead"
  it('never past 100 % of the month, which is for crawlers', async () => {
    await queue.useRenders(await site([30, 30, 30], 'starter'), 999)
    assert.deepEqual(await look(), ['/p0'])
  })

  it('what came to nothing is not tried again within an hour', async () => {
    const domain = await site([30, 30])
    const ended = (outcome: string, age: string) =>
      queue.pool.query(
        `insert into last_render values ($1, '/p0', $2, now() - $3::interval)
           on conflict (domain_id, path) do update set outcome = excluded.outcome, ended_at = excluded.ended_at`,
        [domain, outcome, age],
      )
    await ended('timed-out', '59 minutes')
    assert.deepEqual(await look(), ['/p1'])
    await end()
    await ended('timed-out', '61 minutes')
    await again()
    assert.deepEqual((await look()).sort(), ['/p0', '/p1'])
  })

  it('several nodes queue each page once, and count it once', async () => {
    await site(thirty(10))
    await site([30, 30])
    await askForSubjects(queue.pool, new RefreshAhead(queue.pool, DEFAULT_PLANS, clock))
    await Promise.all(Array.from({ length: 6 }, refresh))
    assert.equal((await look()).length, 12)
    assert.deepEqual(await queue.column('select ahead from freshness order by ahead'), [2, 10])
  })
})
