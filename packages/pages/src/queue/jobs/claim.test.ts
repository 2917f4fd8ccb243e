import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { AccountId, DomainId, JobId, PagePath } from '@prepaint/contract/ids.ts'
import { pageId } from '@prepaint/contract/page/page-id.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import {
  columns,
  HOME,
  openQueue,
  paths,
  pathsOf,
  RENDERED,
  testQueue,
} from '../../../../../test/support/queue.ts'
import { JobWaiter } from './await.ts'
import { BROUGHT, Claims, captureByMs } from './claim.ts'
import { enqueue, enqueueLive } from './enqueue.ts'

const queue = await openQueue()

describe('the order of claims', () => {
  // Proves interface 4.2/12
  it('live jobs are claimed before refreshes, and those before warms, whenever they came', async () => {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, paths(2, '/warm'), 'warm')
    await enqueue(queue.pool, domain, paths(2, '/refresh'), 'refresh')
    await enqueue(queue.pool, domain, paths(2, '/live'), 'live')
    const claimed: string[] = []
    for (let i = 0; i < 6; i++) claimed.push((await queue.claim({ slots: 1 }))[0]!.page.path)
    assert.deepEqual(claimed, ['/live0', '/live1', '/refresh0', '/refresh1', '/warm0', '/warm1'])
    assert.deepEqual(await queue.claim(), [])
  })

  it('an account that asks for one page again and again does not overtake an account with a line', async () => {
    const [line, nagger, capped] = [await queue.domain(), await queue.domain(), await queue.domain()]
    // A domain that is at its cap stands in front with the lowest turns, and the clock must not stand with it.
    await enqueue(queue.pool, capped, paths(20), 'warm')
    await queue.claim({ slots: 2, cap: 2 })
    await enqueue(queue.pool, line, paths(20), 'warm')
    const served: DomainId[] = []
    for (let i = 0; i < 20; i++) {
      if (served.at(-1) !== line) await enqueue(queue.pool, nagger, [`/n${i}` as PagePath], 'warm')
      const [job] = await queue.claim({ slots: 1, cap: 2 })
      served.push(job!.page.domain)
      await queue.complete(job!, RENDERED)
    }
    const ofLine = served.filter((domain) => domain === line).length
    assert(ofLine >= 8 && ofLine <= 12, `the line got ${ofLine} of 20`)
  })

  // Proves decided "Fair shares of render slots"
  it('accounts take turns, however many domains they have, and so do the domains of an account', async () => {
    const [first, other] = [await queue.domain(), await queue.domain()]
    const account = await queue.accountOf(first)
    const many = [first, await queue.domain({ account }), await queue.domain({ account })]
    for (const domain of many) await enqueue(queue.pool, domain, paths(20), 'warm')
    await enqueue(queue.pool, other, paths(20), 'warm')
    const served: DomainId[] = []
    for (let i = 0; i < 24; i++) {
      const [job] = await queue.claim({ slots: 1 })
      await queue.complete(job!, RENDERED)
      served.push(job!.page.domain)
    }
    assert.equal(served.filter((domain) => domain === other).length, 12)
    for (const domain of many) assert.equal(served.filter((one) => one === domain).length, 4)
  })

  it('a live job whose crawlers have left becomes a refresh', async () => {
    const domain = await queue.domain()
    const left = await enqueueLive(queue.pool, pageId(domain, '/left' as PagePath), 'one', 60_000)
    const late = await enqueueLive(queue.pool, pageId(domain, '/late' as PagePath), 'two', 0)
    await enqueueLive(queue.pool, pageId(domain, '/waits' as PagePath), 'three', 60_000)
    const waiter = new JobWaiter({ on() {}, onLost() {} }, queue.pool, silentLog())
    assert.equal(await waiter.wait(left, AbortSignal.abort()), 'late')
    const waiters = () => queue.column('select waiters from job where id = $1', left)
    await until('it is noted', async () => (await waiters())[0] === 0)
    const claimed = await queue.claim({ backgroundSlots: 0 })
    assert.deepEqual(pathsOf(claimed), ['/waits'])
    // One of them is asked for again.
    assert.equal(await enqueueLive(queue.pool, pageId(domain, '/late' as PagePath), 'four', 60_000), late)
    const rest = await queue.claim()
    assert.deepEqual(pathsOf(rest), ['/late', '/left'])
    assert.deepEqual(columns(rest, 'priority').flat(), ['live', 'refresh'])
  })
})

// Proves decided "Fair shares of render slots"
it('renders of an account on one node are capped, those of all its domains and priorities together; other nodes and accounts have their own', async () => {
  const [first, other] = [await queue.domain(), await queue.domain()]
  const second = await queue.domain({ account: await queue.accountOf(first) })
  await enqueue(queue.pool, first, paths(5), 'live')
  await enqueue(queue.pool, second, paths(5), 'warm')
  await enqueue(queue.pool, other, paths(1), 'warm')
  const account = await queue.accountOf(first)
  const domains = async (...occupied: AccountId[]) =>
    (await queue.claim({ slots: 4, accountCap: 3, occupied })).map(({ page }) => page.domain)
  assert.deepEqual(await domains(account, account, account), [other])
  await enqueue(queue.pool, other, paths(1, '/more'), 'warm')
  assert.deepEqual(await domains(account, account), [first, other])
  assert.deepEqual(await domains(), [first, first, first], 'of a node with no other renders')
  assert.deepEqual(await domains(), [first, second, second], 'live first')
})

// Proves decided "Fair shares of render slots"
it('renders of an account on one node are not capped while no other account has a domain', async (t) => {
  const alone = await testQueue()
  t.after(alone.close)
  await enqueue(alone.pool, await alone.domain(), paths(5), 'live')
  assert.equal((await alone.claim({ slots: 5, accountCap: 3 })).length, 5)
})

describe('the cap of renders at once', () => {
  it('eight claimers at once reach the cap exactly, and never pass it', async () => {
    const domains = [await queue.domain(), await queue.domain(), await queue.domain()]
    for (const domain of domains) await enqueue(queue.pool, domain, paths(60), 'warm')
    let most = 0
    const completed = new Set<JobId>()
    async function claimer(): Promise<void> {
      for (;;) {
        const jobs = await queue.claim({ slots: 2, cap: 2 })
        const { rows } = await queue.pool.query<{ n: string }>(
          `select count(*) as n from job where state = 'running' group by domain_id order by n desc limit 1`,
        )
        most = Math.max(most, Number(rows[0]?.n ?? 0))
        for (const job of jobs) {
          assert(!completed.has(job.id), 'claimed once')
          await queue.complete(job, RENDERED)
          completed.add(job.id)
        }
        if (completed.size === 180) return
      }
    }
    await Promise.all(Array.from({ length: 8 }, claimer))
    assert.equal(most, 2)
  })

  it('background work leaves a crawler room under the cap of the same domain', async () => {
    const domain = await queue.domain()
    await enqueue(queue.pool, domain, paths(5), 'warm')
    const claim = async () => {
      const sql = `select path from claim_jobs('node', 10, 10, '{}', 100, 3, 2, interval '1 minute', '2026-01-01', '{}', 0)`
      return columns((await queue.pool.query<{ path: string }>(sql)).rows, 'path').flat()
    }
    assert.deepEqual(await claim(), ['/p0', '/p1'])
    await enqueue(queue.pool, domain, paths(3, '/live'), 'live')
    assert.deepEqual(await claim(), ['/live0'])
  })

  it('a capped domain with a long line does not hide the others behind it', async () => {
    const [capped, other] = [await queue.domain(), await queue.domain()]
    await enqueue(queue.pool, capped, paths(1_000), 'warm')
    await queue.claim({ slots: 2, cap: 2 })
    await enqueue(queue.pool, other, paths(3, '/other'), 'warm')
    // The turns of the capped domain lie before all others.
    await queue.pool.query('update job set turn = turn + 5000 where domain_id <> $1', [capped])
    assert.deepEqual(pathsOf(await queue.claim({ slots: 10, cap: 2 })), ['/other0', '/other1'])
  })
})

it('a domain whose pages need no browser has so many more jobs of its line claimed beside the first, which take no slot and count for no cap', async () => {
  const [domain, other] = [await queue.domain(), await queue.domain()]
  await enqueue(queue.pool, domain, paths(BROUGHT + 2), 'warm')
  await enqueue(queue.pool, other, paths(3, '/other'), 'warm')
  const claimed = await queue.claim({ slots: 2, plain: [domain] })
  const leads = claimed.filter((job) => job.lead === job.id)
  assert.deepEqual(pathsOf(leads).sort(), ['/other0', '/p0'])
  const lead = leads.find(({ page }) => page.domain === domain)!.id
  const brought = claimed.filter((job) => job.lead === lead && job.id !== lead)
  assert.deepEqual(pathsOf(brought).sort(), paths(BROUGHT + 1).slice(1))
  // Each domain has one render that counts.
  assert.deepEqual(pathsOf(await queue.claim({ cap: 2 })).sort(), ['/other1', `/p${BROUGHT + 1}`])
  assert.deepEqual(await queue.claim({ cap: 2 }), [])
})

it('a domain whose pages need no browser has a job for a waiting crawler claimed alone', async () => {
  const domain = await queue.domain()
  await enqueue(queue.pool, domain, paths(3, '/live'), 'live')
  await enqueue(queue.pool, domain, paths(3), 'warm')
  assert.deepEqual(pathsOf(await queue.claim({ slots: 1, plain: [domain] })), ['/live0'])
})

it('a claim brings all that a render needs', async () => {
  const domain = await queue.domain({ plan: 'pro', active: false })
  await queue.useRenders(domain, 42)
  await enqueue(queue.pool, domain, [HOME], 'live')
  const [job] = await queue.claim({ node: 'me' })
  assert.match(job!.customDomain, /^d\d+\.example$/)
  assert.partialDeepStrictEqual(job, {
    ...{ node: 'me', attempts: 1, faults: 0, priority: 'live', page: pageId(domain, HOME), lead: job!.id },
    account: await queue.accountOf(domain),
    ...{ originUrl: 'http://127.0.0.1:1', isActive: false, plan: 'pro', rendersUsed: 42, query: 'keep' },
  })
})

describe('a miss at a node that renders: queued and claimed in one step', () => {
  /** One miss at a node with `slots` free ones, of which all but one take other work too. */
  function miss(domain: DomainId, path: PagePath = HOME, slots = 1, cap = 4) {
    const rules = {
      ...{ accountCap: 100, domainCap: cap, domainBackgroundCap: cap },
      ...{ leaseMs: 60_000, liveWaitMs: 10_000 },
    }
    const claims = new Claims(queue.pool, DEFAULT_PLANS, 'node', rules)
    const want = { slots, backgroundSlots: slots - 1, occupied: [] }
    return claims.claimLive({ page: pageId(domain, path), requestId: 'request' }, want, systemClock.nowMs())
  }

  it('a missed page is queued with the id of its request, and claimed with all that its render needs, to be captured a second before the crawler must be answered', async () => {
    const domain = await queue.domain()
    const beganMs = systemClock.nowMs()
    const { job, claimed } = await miss(domain)
    const { captureByMs = null } = claimed[0] ?? {}
    assert(captureByMs !== null && captureByMs > beganMs + 8_000)
    assert(captureByMs <= systemClock.nowMs() + 9_000)
    await queue.pool.query(`update job set state = 'queued'`)
    const [again] = await queue.claim({ node: 'node' })
    assert.deepEqual(claimed, [{ ...again, attempts: 1, captureByMs }], 'as any claim gives it')
    const { rows } = await queue.pool.query('select id, request_id from job')
    assert.deepEqual(rows, [{ id: job, request_id: 'request' }])
    assert.deepEqual(await miss(domain), { job, claimed: [], isMore: false }, 'a second one joins what runs')
  })

  it('a missed page takes its turn: the jobs that are first are claimed, as far as there is room', async () => {
    const [domain, other] = [await queue.domain(), await queue.domain()]
    await enqueue(queue.pool, domain, paths(2), 'live')
    const one = await miss(domain, '/a' as PagePath, 1)
    assert.deepEqual(pathsOf(one.claimed), ['/p0'])
    await enqueue(queue.pool, other, [HOME], 'warm')
    const more = await miss(domain, '/b' as PagePath, 3)
    assert.deepEqual(pathsOf(more.claimed), ['/p1', '/a', '/b'], 'a crawler before all that nobody waits for')
    // It waits while its domain is at its cap.
    assert.deepEqual(pathsOf((await miss(domain, '/c' as PagePath, 4, 4)).claimed), [HOME])
  })

  it('at 120 % of the quota a missed page is neither queued nor claimed; one render below it is', async () => {
    const [domain, other] = [await queue.domain({ plan: 'starter' }), await queue.domain()]
    await queue.useRenders(domain, 1_200)
    await enqueue(queue.pool, other, [HOME], 'live')
    assert.deepEqual(await miss(domain), { job: 'over-quota', claimed: [], isMore: false })
    assert.deepEqual(await queue.jobs(domain), [])
    assert.equal((await queue.jobs(other))[0]?.state, 'queued')
    await queue.useRenders(domain, 1_199)
    assert.notEqual((await miss(domain)).job, 'over-quota')
    assert.equal(
      (await miss(await queue.domain({ plan: 'gone' }))).job,
      'over-quota',
      'an unknown plan allows nothing',
    )
  })

  for (const [what, priority, queuedMs, waitLeftMs, leftMs] of [
    ['after a wait in the queue', 0, 4_000, 16_000, 5_000],
    ['with just enough time', 0, 7_500, 12_500, 1_500],
    ['with too little', 0, 7_501, 12_499, null],
    ['joined by a second crawler: the first counts', 0, 4_000, 20_000, 5_000],
    ['queued long ago, and joined now', 0, 3_600_000, 20_000, 9_000],
    ['a background job', 1, 0, null, null],
    ['without a crawler', 0, 0, null, null],
  ] as const)
    it(`${what}: ${leftMs ?? 'no'} ms are left`, () => {
      const row = { priority, queued_ms: queuedMs, wait_left_ms: waitLeftMs }
      assert.equal(captureByMs(row, 10_000, 100), leftMs === null ? null : 100 + leftMs)
    })
})
