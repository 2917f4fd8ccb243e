import assert from 'node:assert/strict'
import type http from 'node:http'
import { after, afterEach, describe, it, type TestContext } from 'node:test'
import zlib from 'node:zlib'
import type { DomainId } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { TaskRunner } from '@prepaint/postgres/tasks'
import { systemClock, systemStopwatch } from '@prepaint/runtime/clock.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../../../../test/support/condition.ts'
import { startTestSite, type TestAnswer } from '../../../../../test/support/site.ts'
import { runDueTasks } from '../../../../../test/support/tasks.ts'
import { openWarm } from '../../../../../test/support/warm.ts'
import { startWarm } from './warm.ts'
import { DEPTH_LIMIT, TURN_LIMIT_SECONDS, WarmReading } from './warm-read.ts'
import { WarmSteps } from './warm-step.ts'

const warm = await openWarm()
const { queue } = warm
const listener = await queue.listener()
const origin = await startTestSite()

after(() => origin.close())
afterEach(() => {
  for (const one of Object.keys(origin.answers)) delete origin.answers[one]
  origin.asked.length = 0
})

const urlset = (...paths: string[]) =>
  `<urlset>${paths.map((one) => `<url><loc>${one}</loc></url>`).join('')}</urlset>`
const index = (...paths: string[]) =>
  `<sitemapindex>${paths.map((one) => `<sitemap><loc>${one}</loc></sitemap>`).join('')}</sitemapindex>`

/** The domain of the toy site. */
async function atOrigin(domain: DomainId, url = origin.origin): Promise<DomainId> {
  await queue.pool.query('update domain set origin_url = $2 where id = $1', [domain, url])
  await startWarm(queue.pool, domain)
  return domain
}
async function site(answers: Record<string, TestAnswer>): Promise<DomainId> {
  Object.assign(origin.answers, answers)
  return atOrigin(await queue.domain())
}
const newReading = (stopwatch = systemStopwatch) =>
  new WarmReading(queue.pool, origin.options, null, systemClock, silentLog(), stopwatch)
/** A turn of the run that is next. False: there is none. */
const read = async (stopwatch = systemStopwatch) =>
  (await runDueTasks(queue.pool, newReading(stopwatch), 1)) === 1
const NONE = { left: 0, failed: 0, failures: [] }
/** The state of a run, behind the lease of the node that reads, if there is one. */
const leased = (domain: DomainId) =>
  queue.column(
    `select concat_ws(' ', t.lease, w.state)
       from warm w left join task t on t.kind = 'warm-read' and t.key = w.domain_id::text where w.domain_id = $1`,
    domain,
  )
const known = (domain: DomainId) =>
  queue.column(
    `select path from known_path where domain_id = $1 and source = 'sitemap' order by path`,
    domain,
  )

describe('what a warm reads', () => {
  // Proves decided "Warm"
  it('robots.txt, the sitemaps that it names, and what those name; then it queues', async () => {
    const domain = await site({
      '/robots.txt': 'User-agent: *\nDisallow: /b\nSitemap: /one.xml\nSitemap: /index.xml.gz',
      '/one.xml': '<urlset><url><loc>/a</loc><lastmod>2026-01-02</lastmod></url></urlset>',
      '/index.xml.gz': zlib.gzipSync(index('/two.xml', 'https://else.example/three.xml', '/one.xml')),
      '/two.xml': urlset('/b', '/c', 'https://else.example/d'),
    })
    assert.equal(await read(), true)
    assert.deepEqual(await known(domain), ['/a', '/b', '/c'])
    assert.deepEqual(origin.asked, ['/robots.txt', '/index.xml.gz', '/one.xml', '/two.xml'])
    const { state, known: count, sitemaps } = await warm.progress(domain)
    assert.deepEqual([state, count, sitemaps], ['queueing', 3, { read: 3, ...NONE }])
    const changes = await queue.column(`select lastmod from known_path where path = '/a'`)
    assert.deepEqual(changes, [new Date('2026-01-02')])
    assert.equal(await read(), false)
    await warm.settle()
    assert.deepEqual(await queue.column('select path from job order by path'), ['/a', '/c'])
  })

  it('where nobody names one: /sitemap.xml, and nothing is said when there is none', async () => {
    const domain = await site({ '/sitemap.xml': urlset('/a') })
    await read()
    assert.deepEqual(await known(domain), ['/a'])
    // Those that crawlers have asked for come first.
    Object.assign(origin.answers, { '/post-sitemap.xml': urlset('/post') })
    await startWarm(queue.pool, domain)
    await queue.pool.query(
      `insert into sitemap (domain_id, path, headers, body, fetched_at) values ($1, '/post-sitemap.xml', '{}', '', now())`,
      [domain],
    )
    await read()
    assert.deepEqual(await known(domain), ['/a', '/post'])
    const without = await site({ '/sitemap.xml': { status: 404 } })
    await read()
    const { state, sitemaps } = await warm.progress(without)
    assert.deepEqual([state, sitemaps], ['queueing', { read: 0, ...NONE }])
  })

  it('one that cannot be read holds up none of the others, and is named', async () => {
    const domain = await site({
      '/robots.txt': 'Sitemap: /shell.xml\nSitemap: /gone.xml\nSitemap: /good.xml',
      '/shell.xml': '<!doctype html><div id="app"></div>',
      '/good.xml': urlset('/a'),
    })
    await read()
    assert.deepEqual(await known(domain), ['/a'])
    const { sitemaps } = await warm.progress(domain)
    assert.deepEqual(sitemaps, {
      ...{ read: 1, left: 0, failed: 2 },
      failures: [
        { path: '/gone.xml', reason: 'the origin answered 404' },
        { path: '/shell.xml', reason: 'no urlset or sitemapindex' },
      ],
    })
  })

  it('indexes in indexes, so deep and no deeper, and never in circles', async () => {
    const answers: Record<string, TestAnswer> = { '/robots.txt': 'Sitemap: /i0' }
    for (let depth = 0; depth <= DEPTH_LIMIT; depth++)
      answers[`/i${depth}`] = index(`/i${depth + 1}`, '/i0', '/')
    const domain = await site({ ...answers, [`/i${DEPTH_LIMIT}`]: urlset('/deep') })
    await read()
    assert.deepEqual(await known(domain), ['/deep'])

    const deeper = await site({ ...answers, [`/i${DEPTH_LIMIT + 1}`]: urlset('/deeper') })
    await read()
    assert.deepEqual(await known(deeper), [])
    assert.deepEqual((await warm.progress(deeper)).sitemaps.failures, [
      { path: `/i${DEPTH_LIMIT}`, reason: `an index inside ${DEPTH_LIMIT} others` },
    ])
  })

  it('pages that no sitemap names any more are forgotten, where all could be read', async () => {
    const robots = 'Sitemap: /one.xml\nSitemap: /two.xml'
    const domain = await site({
      '/robots.txt': robots,
      '/one.xml': urlset('/a', '/b'),
      '/two.xml': urlset('/c'),
    })
    await read()
    const older = (interval: string) =>
      queue.pool.query('update known_path set seen_at = now() - $1::interval', [interval])
    const again = async () => {
      await startWarm(queue.pool, domain)
      await read()
      return known(domain)
    }
    origin.answers['/one.xml'] = urlset('/a')
    await older('24 hours')
    assert.deepEqual(await again(), ['/a', '/b', '/c'], 'it may have been named a moment ago')
    await older('26 hours')
    origin.answers['/two.xml'] = { status: 500 }
    assert.deepEqual(await again(), ['/a', '/b', '/c'], 'the other sitemap may name it')
    await older('26 hours')
    origin.answers['/two.xml'] = urlset('/c')
    assert.deepEqual(await again(), ['/a', '/c'])
  })

  it('nothing, where robots.txt cannot be read: then nothing is allowed', async () => {
    const domain = await site({ '/robots.txt': { status: 503 }, '/sitemap.xml': urlset('/a') })
    await read()
    const { state, reason } = await warm.progress(domain)
    assert.deepEqual([state, reason], ['failed', 'robots.txt could not be read: the origin answered 503'])
    assert.equal(await warm.step(), 'idle')
    assert.equal(origin.asked.filter((one) => one === '/robots.txt').length, 3)
  })
})

it('a run is read by one node at a time; once its lease ends, the next goes on with the sitemap that it was at', async () => {
  const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const domain = await site({
    '/robots.txt': 'Sitemap: /1.xml\nSitemap: /2.xml',
    '/1.xml': urlset('/a'),
    '/2.xml': async (res) => {
      asked.resolve()
      await go.promise
      res.end(urlset('/b'))
    },
  })
  const first = read()
  await asked.promise
  assert.equal(await read(), false)
  await queue.pool.query(`update task set lease_until = clock_timestamp() - interval '1 second'`)
  go.resolve()
  origin.asked.length = 0
  assert.deepEqual([await read(), await first], [true, true])
  assert.deepEqual(origin.asked, ['/2.xml'])
  assert.deepEqual(await known(domain), ['/a', '/b'])
  assert.equal((await warm.progress(domain)).state, 'queueing')
})

describe('a turn at reading', () => {
  /** Its seconds pass as the sitemaps of `slow` are answered, and not otherwise. */
  const time = { seconds: 1_000 }
  const turn = () => read(() => time.seconds)
  const slow = (seconds: number, paths: readonly string[]) => (res: http.ServerResponse) => {
    time.seconds += seconds
    res.end(urlset(...paths))
  }
  /** Three sitemaps, the first of which takes so long; an index leads to two of them. */
  const slowSite = (seconds: number) =>
    site({
      '/robots.txt': 'Sitemap: /1.xml\nSitemap: /index.xml',
      '/1.xml': slow(seconds, ['/a', '/b']),
      '/index.xml': index('/2.xml', '/3.xml'),
      '/2.xml': slow(TURN_LIMIT_SECONDS + 1, ['/b', '/c']),
      '/3.xml': slow(TURN_LIMIT_SECONDS + 1, ['/d']),
    })
  const counted = (domain: DomainId) => {
    const sql = `select path || ' ' || coalesce(entries::text, 'null') from warm_sitemap where domain_id = $1 order by depth, path`
    return queue.column(sql, domain)
  }

  it('ends between two sitemaps once its time is over; the others go first, and the next turn goes on', async (t) => {
    const domain = await slowSite(TURN_LIMIT_SECONDS + 0.001)
    const quick = await startTestSite()
    t.after(quick.close)
    quick.answers['/sitemap.xml'] = urlset('/quick')
    const other = await atOrigin(await queue.domain(), quick.origin)

    assert.equal(await turn(), true)
    assert.deepEqual(origin.asked, ['/robots.txt', '/1.xml'])
    assert.deepEqual(await counted(domain), ['/1.xml 2', '/index.xml null'])
    assert.deepEqual(await leased(domain), ['reading'])

    assert.equal(await turn(), true)
    assert.deepEqual(await known(other), ['/quick'])

    // Its last sitemap takes long as well: then nothing is left for another turn.
    assert.deepEqual([await turn(), await turn(), await turn()], [true, true, false])
    assert.deepEqual(await counted(domain), ['/1.xml 2', '/index.xml 2', '/2.xml 2', '/3.xml 1'])
    assert.deepEqual(await known(domain), ['/a', '/b', '/c', '/d'])
    assert.equal((await warm.progress(domain)).state, 'queueing')
  })

  it('goes on up to its limit', async () => {
    await slowSite(TURN_LIMIT_SECONDS)
    await turn()
    assert.deepEqual(origin.asked, ['/robots.txt', '/1.xml', '/index.xml', '/2.xml'])
  })
})

function start(t: TestContext) {
  // Only a notification can wake it.
  const runs = new TaskRunner(queue.pool, listener, silentLog(), { pollMs: 600_000 })
  runs.add(newReading())
  runs.add(new WarmSteps(queue.pool, DEFAULT_PLANS, systemClock))
  runs.start()
  t.after(() => runs.close())
  return runs
}
// Proves interface 4.3/7, decided "Full warm"
it('runs go on with what an earlier node left, and are woken by what is asked for later', async (t) => {
  const left = await atOrigin(await warm.domainWith(700))
  await warm.read(left)
  await warm.step()
  start(t)
  await until('the rest is queued', async () => (await warm.queued(left)) === 700)
  const later = await atOrigin(await warm.domainWith(600))
  await until('what was asked for later is queued', async () => (await warm.queued(later)) === 600)
  for (const domain of [left, later]) await warm.end(domain)
  await until('both are done', async () =>
    (await Promise.all([left, later].map(warm.progress))).every(({ state }) => state === 'done'),
  )
})

it('closing ends the runs at once, also while an origin is silent', async (t) => {
  const asked = Promise.withResolvers<void>()
  origin.answers['/robots.txt'] = () => asked.resolve()
  const domain = await atOrigin(await warm.domainWith(1))
  const warmRuns = start(t)
  await asked.promise
  await warmRuns.close()
  assert.deepEqual(await leased(domain), ['reading'])
})
