import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { columns, paths, RENDERED } from '../../../../../test/support/queue.ts'
import { openWarm } from '../../../../../test/support/warm.ts'
import { cancelJobs } from '../jobs/cancel.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { cancelWarm, pauseWarm, resumeWarm, startWarm } from './warm.ts'

const warm = await openWarm()
const { queue, started, settle } = warm
/** State, known, done, unchanged, failed, left. */
const counts = async (domain: DomainId) =>
  columns([await warm.progress(domain)], 'state', 'known', 'done', 'unchanged', 'failed', 'left')[0]

describe('warmStep', () => {
  // Proves interface 4.3/7
  it('moves a run by one batch of 500, at `warm`, until all is queued, and ends it when all is rendered', async () => {
    const domain = await started(1_200)
    for (const [step, jobs, state] of [
      ['moved', 500, 'queueing'],
      ['moved', 1_000, 'queueing'],
      ['moved', 1_200, 'rendering'],
      ['waiting', 1_200, 'rendering'],
    ] as const) {
      assert.equal(await warm.step(), step)
      assert.deepEqual([await warm.queued(domain), (await warm.progress(domain)).state], [jobs, state])
    }
    assert.deepEqual(new Set(columns(await queue.jobs(domain), 'priority').flat()), new Set([2]))
    await warm.end(domain)
    assert.equal(await warm.step(), 'idle')
    assert.deepEqual(await counts(domain), ['done', 1_200, 1_200, 0, 0, 0])
  })

  it('renders both devices, where they are told apart', async () => {
    const domain = await started(2)
    await queue.set(domain, { devices: 'both' })
    await warm.step()
    assert.deepEqual(await queue.column('select is_both from job'), [true, true])
    for (const done of [0, 2]) {
      for (const job of await queue.claim()) await queue.complete(job, RENDERED)
      assert.equal((await warm.progress(domain)).done, done)
    }
  })

  it('waits while 2,000 of its jobs wait, and goes on when renderers have caught up; others go on meanwhile', async () => {
    const domain = await started(2_600)
    for (let n = 0; n < 4; n++) assert.equal(await warm.step(), 'moved')
    assert.equal(await warm.step(), 'waiting')
    assert.equal(await warm.queued(domain), 2_000)

    const other = await started(10)
    assert.equal(await warm.step(), 'moved')
    assert.equal(await warm.queued(other), 10)

    await warm.end(domain)
    await settle()
    await warm.end(domain)
    await settle()
    assert.deepEqual(await counts(domain), ['done', 2_600, 2_600, 0, 0, 0])
  })

  it('several nodes never queue a path twice, nor leave one out; domains take turns', async () => {
    const domains = [await started(900), await started(900)]
    for (let n = 0; n < 2; n++) await warm.step()
    assert.deepEqual(await Promise.all(domains.map(warm.queued)), [500, 500])
    await Promise.all(Array.from({ length: 8 }, () => warm.step()))
    await settle()
    assert.deepEqual(await Promise.all(domains.map(warm.queued)), [900, 900])
  })

  it('a run of a domain that was deactivated is cancelled; one that was deleted is gone', async () => {
    const domain = await started(10)
    await queue.pool.query('update domain set is_active = false where id = $1', [domain])
    assert.equal(await warm.step(), 'moved')
    const { state, reason } = await warm.progress(domain)
    assert.deepEqual([await warm.queued(domain), state, reason], [0, 'cancelled', 'domain-inactive'])

    const deleted = await started(10)
    await queue.pool.query('delete from domain where id = $1', [deleted])
    assert.equal(await warm.step(), 'idle')
  })
})

it('pages that the owner redirects are skipped, and counted as such', async () => {
  const domain = await started(3)
  const redirects = [{ from: '/p000001', to: '/p000002', status: 301 }]
  await queue.pool.query(
    `insert into site_version (domain_id, kind, content, author) values ($1, 'redirects', $2, 'owner')`,
    [domain, JSON.stringify(redirects)],
  )
  await settle()
  await warm.end(domain)
  await settle()
  const { state, passed, redirected, done } = await warm.progress(domain)
  assert.deepEqual([state, passed, redirected, done], ['done', 0, 1, 2])
})

it("what the site's robots.txt or a rule of the domain excludes is left out, and counted", async () => {
  const domain = await started(10, {
    robots: 'User-agent: Prepaint\nDisallow: /p00000[1-3]$\nDisallow: /p000002',
  })
  const rules = ['/*5', '/*6'].map((path) => ({ path, action: 'pass' }))
  await queue.set(domain, { rules })
  await settle()
  await warm.end(domain)
  await settle()
  const { state, forbidden, passed, done } = await warm.progress(domain)
  assert.deepEqual([state, forbidden, passed, done], ['done', 1, 2, 7])
})

it('`outdated` leaves out what is fresh, unless its sitemap says that it has changed', async () => {
  const domain = await warm.domainWith(4)
  await queue.store(domain, ['/p000001', '/p000003'], 1)
  await queue.store(domain, ['/p000002'], 25)
  await queue.store(domain, ['/p000004'], 2)
  await queue.pool.query(
    `update page set stale_since = now() where path = '/p000003';
     update known_path set lastmod = now() - interval '1 hour' where path = '/p000004';
     update known_path set lastmod = now() - interval '2 hours' where path = '/p000001'`,
  )
  await startWarm(queue.pool, domain, 'outdated')
  await warm.read(domain)
  await settle()
  assert.deepEqual(columns(await queue.jobs(domain), 'path').flat(), ['/p000002', '/p000003', '/p000004'])
  assert.equal((await warm.progress(domain)).fresh, 1)
})

describe('progress', () => {
  it('counts what was rendered, what was the same as before and what failed, and says how long it takes', async () => {
    const domain = await started(10)
    await warm.step()
    await warm.end(domain, 4)
    await warm.end(domain, 2, 'done', 'unchanged')
    await warm.end(domain, 1, 'failed')
    assert.deepEqual(await counts(domain), ['rendering', 10, 6, 2, 1, 3])
    const { pages_per_second: speed, seconds_left: left } = await warm.progress(domain)
    assert(speed !== null && speed > 0.1, `${speed} pages/s`)
    assert(left !== null && left >= 0 && left < 60, `${left} s`)
    await startWarm(queue.pool, domain)
    await warm.end(domain)
    assert.equal((await warm.progress(domain)).done, 0, 'jobs of an earlier run count for nobody')
  })

  it('two workers that end jobs of a run at once both count', async () => {
    const domain = await started(100)
    await warm.step()
    const workers = [queue.completer(), queue.completer()]
    const jobs = await queue.claim()
    await Promise.all(jobs.map((job, at) => workers[at % 2]!(job, RENDERED)))
    assert.deepEqual(await counts(domain), ['rendering', 100, 100, 0, 0, 0])
  })

  it('a deactivation cancels what waits, and nothing is left over', async () => {
    const domain = await started(10)
    await warm.step()
    await cancelJobs(queue.pool, domain)
    await warm.step()
    assert.deepEqual(await counts(domain), ['done', 10, 0, 0, 10, 0])
  })
})

describe('pause, resume, cancel', () => {
  // Proves decided "Warm"
  it('a pause takes back what waits; resumed, every page is rendered once', async () => {
    const domain = await started(700)
    await warm.step()
    await warm.end(domain, 100)
    const [running] = await queue.claim({ slots: 1 })
    assert.equal(await pauseWarm(queue.pool, domain), true)
    assert.equal(await pauseWarm(queue.pool, domain), false)
    assert.equal(await warm.queued(domain), 0)
    assert.equal(await warm.step(), 'idle')
    await queue.complete(running!, RENDERED)
    const paused = await warm.progress(domain)
    assert.notEqual(paused.paused_at, null)
    assert.deepEqual([paused.done, paused.left, paused.seconds_left], [101, 599, null])

    assert.equal(await resumeWarm(queue.pool, domain), true)
    assert.equal(await resumeWarm(queue.pool, domain), false)
    await settle()
    assert.equal(await warm.queued(domain), 599)
    await warm.end(domain)
    await settle()
    assert.deepEqual(await counts(domain), ['done', 700, 700, 0, 0, 0])
  })

  it('a pause takes nothing back that a crawler has asked for', async () => {
    const domain = await started(5)
    await warm.step()
    await enqueue(queue.pool, domain, ['/p000003' as PagePath], 'live')
    await pauseWarm(queue.pool, domain)
    assert.deepEqual(columns(await queue.jobs(domain), 'path', 'priority'), [['/p000003', 0]])
    await resumeWarm(queue.pool, domain)
    assert.deepEqual([await warm.step(), await warm.queued(domain)], ['moved', 5])
  })

  it('cancelled, nothing waits any more, and what runs is kept', async () => {
    const domain = await started(700)
    await warm.step()
    const [running] = await queue.claim({ slots: 1 })
    assert.equal(await cancelWarm(queue.pool, domain), true)
    assert.equal(await cancelWarm(queue.pool, domain), false)
    assert.equal(await pauseWarm(queue.pool, domain), false)
    assert.equal(await resumeWarm(queue.pool, domain), false)
    assert.deepEqual(await queue.complete(running!, RENDERED), { state: 'done', outcome: 'rendered' })
    assert.equal(await warm.step(), 'idle')
    const { state, done, left } = await warm.progress(domain)
    assert.deepEqual([await warm.queued(domain), state, done, left], [0, 'cancelled', 1, 0])
  })
})

// Proves decided "Warm"
it('a warm ends at 100 % of the month, so that crawlers have what is left, and says what was not rendered; with room again it goes on', async () => {
  const limit = DEFAULT_PLANS['starter']!.monthly_render_limit
  const domain = await started(600, { plan: 'starter' })
  await queue.useRenders(domain, limit - 20)
  assert.equal(await warm.step(), 'moved')
  assert.equal(await warm.queued(domain), 20)
  assert.equal(await warm.step(), 'waiting')
  await warm.end(domain)
  await queue.useRenders(domain, limit)
  await settle()
  const { state, paused_at: pausedAt, reason, done, left } = await warm.progress(domain)
  assert.deepEqual([state, pausedAt, reason, done, left], ['done', null, 'over-quota', 20, 580])
  const told = () =>
    queue.column(`select body::jsonb -> 'data' from event where domain_id = $1 order by created_at`, domain)
  const [name] = await queue.column('select custom_domain from domain where id = $1', domain)
  const counts = { domain: name, rendered: 20, failed: 0, unchanged: 0, not_rendered: 580 }
  assert.deepEqual(await told(), [counts])

  await queue.useRenders(domain, 0)
  assert.equal(await resumeWarm(queue.pool, domain), true)
  await settle()
  assert.equal(await warm.queued(domain), 580)
  await warm.end(domain)
  await settle()
  const ended = await warm.progress(domain)
  assert.deepEqual([ended.state, ended.reason, ended.done, ended.left], ['done', null, 600, 0])
  assert.deepEqual((await told())[1], { ...counts, rendered: 600, not_rendered: 0 })
})

it('a warm whose last page takes the last render of the month ends as any other', async () => {
  const limit = DEFAULT_PLANS['starter']!.monthly_render_limit
  const domain = await started(20, { plan: 'starter' })
  await queue.useRenders(domain, limit - 20)
  await warm.step()
  await warm.end(domain)
  await queue.useRenders(domain, limit)
  await settle()
  const { state, reason, done, left } = await warm.progress(domain)
  assert.deepEqual([state, reason, done, left], ['done', null, 20, 0])
  assert.deepEqual(await queue.column('select type from event where domain_id = $1', domain), [
    'warm.finished',
  ])
})

it('what robots.txt forbids is not counted among the pages that were not rendered', async () => {
  const limit = DEFAULT_PLANS['starter']!.monthly_render_limit
  const domain = await started(30, { plan: 'starter' })
  await queue.pool.query(`update warm set robots = 'User-agent: *\nDisallow: /p00001' where domain_id = $1`, [
    domain,
  ])
  await queue.useRenders(domain, limit)
  await settle()
  const { state, reason, forbidden, left } = await warm.progress(domain)
  // /p000010 to /p000019.
  assert.deepEqual([state, reason, forbidden, left], ['done', 'over-quota', 10, 20])
})

it('a run for which the queue has no room holds up none for which it has', async () => {
  const greedy = await started(500)
  await enqueue(queue.pool, greedy, paths(2_000, '/own'), 'refresh')
  const other = await started(500)
  // Its account has half of the queue.
  await queue.countWaiting(greedy, 497_501)
  assert.equal(await warm.step(), 'moved')
  assert.deepEqual([await warm.queued(greedy), await warm.queued(other)], [2_000, 500])
})
