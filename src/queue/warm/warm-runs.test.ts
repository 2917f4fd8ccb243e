import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { until } from '../../../test/support/condition.ts'
import { startTestSite, type TestAnswer } from '../../../test/support/site.ts'
import { openWarm } from '../../../test/support/warm.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { type Stopwatch, systemClock, systemStopwatch } from '../../clock.ts'
import { silentLog } from '../../log.ts'
import { startWarm } from './warm.ts'
import { TURN_LIMIT_SECONDS } from './warm-read.ts'
import { startWarmRuns } from './warm-runs.ts'

const warm = await openWarm()
const { queue } = warm
const listener = await queue.listener()
const origin = await startTestSite()
after(() => origin.close())

function start(t: TestContext, stopwatch: Stopwatch = systemStopwatch) {
  const runs = startWarmRuns({
    ...{ pool: queue.pool, listener, plans: DEFAULT_PLANS, get: origin.options },
    ...{ clock: systemClock, stopwatch, log: silentLog() },
    // Only a notification can wake it.
    idlePollMs: 600_000,
  })
  t.after(() => runs.close())
  return runs
}
async function domainOfSite(count: number) {
  const domain = await warm.domainWith(count)
  await queue.pool.query('update domain set origin_url = $2 where id = $1', [domain, origin.origin])
  return domain
}

describe('startWarmRuns', () => {
  // Proves interface 4.3/7, decided "Full warm"
  it('goes on with what an earlier node left, and is woken by what is asked for later', async (t) => {
    const left = await domainOfSite(700)
    await startWarm(queue.pool, left)
    await warm.read(left)
    await warm.step()
    start(t)
    await until('the rest is queued', async () => (await warm.queued(left)) === 700)
    const later = await domainOfSite(600)
    await startWarm(queue.pool, later)
    await until('what was asked for later is queued', async () => (await warm.queued(later)) === 600)
    for (const domain of [left, later]) await warm.end(domain)
    await until('both are done', async () =>
      (await Promise.all([left, later].map(warm.progress))).every(({ state }) => state === 'done'),
    )
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
    t.after(() => thirdIsQueued.resolve())
    start(t, () => seconds)
    await until('the third is queued', async () => (await warm.queued(third)) === 1)
    thirdIsQueued.resolve()
    await until('the slow ones are queued', async () =>
      (await Promise.all(slow.map(warm.queued))).every((count) => count === 2),
    )
  })

  it('close() ends it at once, also while an origin is silent', async (t) => {
    const asked = Promise.withResolvers<void>()
    origin.answers['/robots.txt'] = () => asked.resolve()
    const domain = await domainOfSite(1)
    await startWarm(queue.pool, domain)
    const warmRuns = start(t)
    await asked.promise
    await warmRuns.close()
    const { rows } = await queue.pool.query('select lease, state from warm where domain_id = $1', [domain])
    assert.deepEqual(rows, [{ lease: null, state: 'reading' }])
  })
})
