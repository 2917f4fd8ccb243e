import assert from 'node:assert/strict'
import { after, afterEach, before, describe, it } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { startTestSite, type TestAnswer, type TestSite } from '../../../test/support/site.ts'
import { testWarm } from '../../../test/support/warm.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { type Stopwatch, systemClock, systemStopwatch } from '../../clock.ts'
import { createListener, type Listener } from '../../db/listener.ts'
import { silentLog } from '../../log.ts'
import { startWarm, WARM_CHANNEL } from './warm.ts'
import { TURN_LIMIT_SECONDS } from './warm-read.ts'
import { startWarmRuns } from './warm-runs.ts'

let queue: TestQueue
let warm: ReturnType<typeof testWarm>
let listener: Listener
let origin: TestSite
before(async () => {
  queue = await testQueue()
  warm = testWarm(queue)
  listener = await createListener(queue.connection, silentLog())
  origin = await startTestSite()
})
after(async () => {
  await origin.close()
  await listener.close()
  await queue.close()
})
afterEach(() => queue.pool.query('truncate warm, warm_count, job, unstored_page'))

const start = (stopwatch: Stopwatch = systemStopwatch) =>
  startWarmRuns({
    ...{ pool: queue.pool, listener, plans: DEFAULT_PLANS, get: origin.options },
    ...{ clock: systemClock, stopwatch, log: silentLog() },
    // Only a notification can wake it.
    idlePollMs: 600_000,
  })
async function domainOfSite(count: number) {
  const domain = await warm.domainWith(count)
  await queue.pool.query('update domain set origin_url = $2 where id = $1', [domain, origin.origin])
  return domain
}

describe('startWarm', () => {
  it('is a row from the moment it returns, and tells the nodes', async () => {
    const domain = await queue.domain()
    const own = await createListener(queue.connection, silentLog())
    try {
      const { promise, resolve } = Promise.withResolvers<string>()
      own.on(WARM_CHANNEL, resolve)
      await own.settled()
      await startWarm(queue.pool, domain)
      assert.equal(await promise, String(domain))
    } finally {
      await own.close()
    }
    assert.equal((await warm.progress(domain)).state, 'reading')
  })

  // Proves decided "Full warm"
  it('begins a run anew that is under way: what was done before may have changed', async () => {
    const domain = await warm.domainWith(700)
    await startWarm(queue.pool, domain)
    await warm.read(domain)
    await warm.step()
    await warm.end(domain, 10)
    await startWarm(queue.pool, domain, 'outdated')
    const { state, which, done, known } = await warm.progress(domain)
    assert.deepEqual([state, which, done, known], ['reading', 'outdated', 0, 0])
  })
})

describe('startWarmRuns', () => {
  // Proves interface 4.3/7, decided "Full warm"
  it('goes on with what an earlier node left, and is woken by what is asked for later', async () => {
    const left = await domainOfSite(700)
    await startWarm(queue.pool, left)
    await warm.read(left)
    await warm.step()
    const warmRuns = start()
    try {
      await until('the rest is queued', async () => (await warm.queued(left)) === 700)

      const later = await domainOfSite(600)
      await listener.settled()
      await startWarm(queue.pool, later)
      await until('what was asked for later is queued', async () => (await warm.queued(later)) === 600)
      await warm.end(left)
      await warm.end(later)
      await until('both are done', async () =>
        (await Promise.all([left, later].map(warm.progress))).every(({ state }) => state === 'done'),
      )
    } finally {
      await warmRuns.close()
    }
  })

  it('two sites that are slow do not hold up the sitemaps of a third', async (t) => {
    let seconds = 0
    const thirdIsQueued = Promise.withResolvers<void>()
    const started = async (answers: Record<string, TestAnswer>) => {
      const own = await startTestSite()
      t.after(own.close)
      Object.assign(own.answers, answers)
      const domain = await queue.domain()
      await queue.pool.query('update domain set origin_url = $2 where id = $1', [domain, own.origin])
      await startWarm(queue.pool, domain)
      return domain
    }
    const ofTheSlow = () =>
      started({
        '/robots.txt': 'Sitemap: /1.xml\nSitemap: /2.xml',
        '/1.xml': (res) => {
          seconds += TURN_LIMIT_SECONDS + 1
          res.end('<urlset><url><loc>/a</loc></url></urlset>')
        },
        '/2.xml': async (res) => {
          await thirdIsQueued.promise
          res.end('<urlset><url><loc>/b</loc></url></urlset>')
        },
      })
    const slow = [await ofTheSlow(), await ofTheSlow()]
    const third = await started({ '/sitemap.xml': '<urlset><url><loc>/c</loc></url></urlset>' })
    const warmRuns = start(() => seconds)
    try {
      await until('the third is queued', async () => (await warm.queued(third)) === 1)
      thirdIsQueued.resolve()
      await until('the slow ones are queued', async () =>
        (await Promise.all(slow.map(warm.queued))).every((count) => count === 2),
      )
    } finally {
      thirdIsQueued.resolve()
      await warmRuns.close()
    }
  })

  it('close() ends it at once, also while an origin is silent', async () => {
    const asked = Promise.withResolvers<void>()
    origin.answers['/robots.txt'] = () => asked.resolve()
    const domain = await domainOfSite(1)
    await startWarm(queue.pool, domain)
    const warmRuns = start()
    await asked.promise
    await warmRuns.close()
    const { rows } = await queue.pool.query('select lease, state from warm where domain_id = $1', [domain])
    assert.deepEqual(rows, [{ lease: null, state: 'reading' }])
  })
})
