/** Pages that are none, on sites that answer 200 to everything: a real browser, the real queue, a toy site. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { HOME, type TestQueue, testQueue } from '../../../test/support/queue.ts'
import { startTestRenderer, type TestRenderer } from '../../../test/support/renderer.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { systemClock } from '../../clock.ts'
import type { DomainId, DomainName, PagePath } from '../../ids.ts'
import { silentLog } from '../../log.ts'
import { pageId } from '../../store/page-id.ts'
import { readStored } from '../../store/stored-page.ts'
import { AfterRender } from '../jobs/after-render.ts'
import { createComplete } from '../jobs/complete.ts'
import { enqueue } from '../jobs/enqueue.ts'
import type { Priority } from '../jobs/job.ts'
import { runJob } from '../jobs/run-job.ts'
import type { Found } from './effect.ts'
import { createProber, SWEEP_LIMIT } from './prober.ts'
import { lastRenders } from './render-records.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

type Site = { build: number; show: string; status: number }
/** The pages that there are. */
const SHOP = `({ '/': 'Welcome to the shop, all about bags', '/bags': 'Bags of leather' })[location.pathname] ?? null`
const site: Site = { build: 1, show: '', status: 200 }
/** The words of a page that is none; `path` is there. */
const SORRY = `'Nothing here. Page not found.'`
const shows = (none: string, pages = SHOP) => `const path = location.pathname; const page = ${pages}
  document.body.innerHTML = '<header>Shop Bags Cups</header><main></main><footer>Imprint</footer>'
  document.querySelector('main').textContent = page ?? ${none}`

let queue: TestQueue
let renderer: TestRenderer
let origin: http.Server
const asked: string[] = []
before(async () => {
  queue = await testQueue()
  renderer = await startTestRenderer({ timeoutMs: 5_000 })
  origin = http.createServer((req, res) => {
    asked.push(req.url ?? '')
    if (req.url?.startsWith('/app')) {
      res.setHeader('content-type', 'text/javascript').end(site.show)
      return
    }
    res.writeHead(req.url === '/' ? 200 : site.status, { 'content-type': 'text/html' })
    res.end(`<!doctype html><body><script src="/app-${site.build}.js"></script></body>`)
  })
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
})
after(async () => {
  await renderer.close()
  await queue.close()
  origin.close()
  origin.closeAllConnections()
})
const clock = { atMs: systemClock.nowMs(), nowMs: () => clock.atMs }
beforeEach(async () => {
  await queue.pool.query('delete from job')
  Object.assign(site, { build: site.build + 1, show: shows(SORRY), status: 200 })
  asked.length = 0
  let letter = 0
  random = (bytes) => new Uint8Array(bytes).map(() => letter++ * 7)
})
let random: (bytes: number) => Uint8Array

async function newDomain(settings = '{}'): Promise<DomainId> {
  const domain = await queue.domain()
  const url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`
  await queue.pool.query('update domain set origin_url = $2, settings = $3 where id = $1', [
    domain,
    url,
    settings,
  ])
  return domain
}

/** Carries one job out, as a worker does; what it asks for waits. */
async function step(): Promise<string | null> {
  const [job] = await queue.claim({ slots: 1 })
  if (job === undefined) return null
  const deps = {
    render: renderer.render,
    complete: createComplete({ pool: queue.pool, plans: DEFAULT_PLANS, clock }),
    pool: queue.pool,
    prober: createProber(queue.pool, random),
    plans: DEFAULT_PLANS,
    clock,
    log: silentLog(),
    leaseMs: 1_000,
  }
  await new AfterRender(deps).follow(job, await runJob(deps, job, new AbortController()))
  const { rows } = await queue.pool.query<{ outcome: string }>('select outcome from job where id = $1', [
    job.id,
  ])
  return rows[0]?.outcome ?? null
}

/** Renders a page, and after it whatever else was asked for. */
async function render(domain: DomainId, path: string, priority: Priority = 'live'): Promise<string[]> {
  await enqueue(queue.pool, domain, [path as PagePath], priority)
  const outcomes: string[] = []
  for (;;) {
    const outcome = await step()
    if (outcome === null) return outcomes
    outcomes.push(outcome)
  }
}

const stored = (domain: DomainId, path: string) => readStored(queue.pool, pageId(domain, path as PagePath))

async function records(domain: DomainId) {
  const sql = 'select custom_domain from domain where id = $1'
  const { rows } = await queue.pool.query<{ custom_domain: DomainName }>(sql, [domain])
  return (await lastRenders(queue.pool, await queue.accountOf(domain), rows[0]!.custom_domain)) ?? []
}

async function used(domain: DomainId): Promise<number> {
  const sql = 'select renders from render_count where domain_id = $1'
  return (await queue.pool.query<{ renders: number }>(sql, [domain])).rows[0]?.renders ?? 0
}

describe('a new domain', () => {
  // Proves decided "Soft 404"
  it('its first page is stored without waiting; then the site is looked at, once, for nothing', async () => {
    const domain = await newDomain()
    assert.deepEqual(await render(domain, '/'), ['rendered', 'probed'])
    assert.equal(await used(domain), 1)
    const probes = asked.filter((path) => path.startsWith('/prepaint-probe-'))
    assert.equal(new Set(probes).size, 2)
    assert.equal(await stored(domain, probes[0]!), null)
    assert.deepEqual(await render(domain, '/bags'), ['rendered'])
    const { rows } = await queue.pool.query(`select path from page where domain_id = $1 order by path`, [
      domain,
    ])
    assert.deepEqual(rows, [{ path: '/' }, { path: '/bags' }])
  })

  // Proves decided "Soft 404"
  it('a page that is none and came first is removed as soon as that is known', async () => {
    const domain = await newDomain()
    assert.deepEqual(await render(domain, '/gone'), ['rendered', 'probed'])
    assert.equal(await stored(domain, '/gone'), null)
    const [probe, first] = await records(domain)
    assert.equal(first?.outcome, 'rendered')
    assert.equal(probe?.outcome, 'probed')
    assert.match(
      probe?.detail ?? '',
      /answered with 200 and \d+ words; stored pages that read the same and were removed: 1$/,
    )
  })

  it(`of more than ${SWEEP_LIMIT} such pages the newest are removed; / and other statuses stay`, async () => {
    const domain = await newDomain()
    await enqueue(queue.pool, domain, ['/gone' as PagePath], 'live')
    assert.equal(await step(), 'rendered')
    const copy = (path: string, status: number) =>
      `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at, stale_since, text_chars, refused_since)
         select domain_id, ${path}, ${status}, headers, body_br, html_bytes, etag,
         rendered_at - interval '1 minute' * n, stale_since, text_chars, refused_since
         from page, generate_series(1, ${SWEEP_LIMIT}) n where domain_id = $1 and path = '/gone'`
    await queue.pool.query(copy(`'/gone-' || n`, 200), [domain])
    await queue.pool.query(`${copy(`'/410-' || n`, 410)} and n = 1`, [domain])
    await queue.pool.query(`${copy(`'/'`, 200)} and n = 1`, [domain])
    assert.equal(await step(), 'probed')
    const { rows } = await queue.pool.query('select path from page where domain_id = $1 order by path', [
      domain,
    ])
    assert.deepEqual(rows, [{ path: '/' }, { path: '/410-1' }, { path: `/gone-${SWEEP_LIMIT}` }])
  })

  // Proves decided "Soft 404"
  it('is not looked at while its owner wants such pages stored, nor judged', async () => {
    const domain = await newDomain('{"soft_404": "store"}')
    assert.deepEqual(await render(domain, '/gone'), ['rendered'])
    const judged = await newDomain()
    await render(judged, '/')
    await queue.pool.query(`update domain set settings = '{"soft_404": "store"}' where id = $1`, [judged])
    assert.deepEqual(await render(judged, '/gone'), ['rendered'])
  })
})

describe('a page that reads like none', () => {
  // Proves decided "Soft 404"
  it('is refused, the reason is kept, the last good copy is served on, and nothing is counted', async () => {
    const domain = await newDomain()
    await render(domain, '/')
    await render(domain, '/bags')
    const before = await stored(domain, '/bags')
    // The bags are sold out, and the shop says so with 200.
    site.show = shows(SORRY, SHOP.replace('/bags', '/cups'))
    assert.deepEqual(await render(domain, '/bags', 'refresh'), ['soft-404'])
    assert.deepEqual(await stored(domain, '/bags'), before)
    assert.equal(await used(domain), 2)
    const [last] = await records(domain)
    assert.deepEqual(
      [last?.outcome, last?.detail],
      ['soft-404', 'it reads like a page that does not exist, with status 200'],
    )
    assert.deepEqual(await render(domain, '/cups'), ['rendered'])
  })

  it('nearly: its own address, the time, something random', async () => {
    site.show = shows(`'No page ' + path + ' found at ' + performance.timeOrigin + '. ' +
      ['Try the cups', 'Read our story', 'Ask our people'][path.includes('probe') ? Number(path[16] < 'n') : 2]`)
    const domain = await newDomain()
    await render(domain, '/')
    for (const path of ['/a', '/ab', '/abc/def'])
      assert.deepEqual(await render(domain, path), ['soft-404'], path)
  })

  it('says itself that it is none: its status is believed', async () => {
    const meta = `(document.head.innerHTML = '<meta name="prerender-status-code" content="404">', ${SORRY})`
    site.show = shows(meta)
    const domain = await newDomain()
    assert.deepEqual(await render(domain, '/'), ['rendered', 'probed'])
    assert.match((await records(domain))[0]?.detail ?? '', /no soft 404: status 404/)
    assert.deepEqual(await render(domain, '/gone'), ['rendered'])
    assert.equal((await stored(domain, '/gone'))?.status, 404)
  })
})

describe('not judged', () => {
  const notJudged = async (why: RegExp, path = '/any') => {
    const domain = await newDomain()
    assert.deepEqual(await render(domain, '/'), ['rendered', 'probed'])
    assert.match((await records(domain))[0]?.detail ?? '', why)
    assert.deepEqual(await render(domain, path), ['rendered'])
  }

  it('a site that answers 404', async () => {
    site.status = 404
    await notJudged(/no soft 404: status 404/)
  })

  // Proves decided "Soft 404"
  it('a site with one text for every page', async () => {
    site.show = shows(SORRY, 'null')
    await notJudged(/the home page reads the same/)
  })

  it('a site whose router leads from unknown addresses to a page', async () => {
    site.show = `if (!['/', '/bags'].includes(location.pathname)) history.replaceState({}, '', '/bags'); ${shows(SORRY)}`
    await notJudged(/such addresses become \/bags/, '/bags')
  })

  it('a site that sends unknown addresses elsewhere', async () => {
    site.show = `if (location.pathname === '/' || location.pathname === '/bags') { ${shows(SORRY)} } else location = '/bags'`
    await notJudged(/no soft 404: redirect/, '/bags')
  })

  it('a site that was broken when it was looked at; an hour later it is looked at again', async () => {
    site.show = `if (location.pathname === '/') { ${shows(SORRY)} } else document.body.textContent = 'Internal Server Error'`
    const domain = await newDomain()
    assert.deepEqual(await render(domain, '/'), ['rendered', 'probed'])
    assert.match((await records(domain))[0]?.detail ?? '', /could not be judged: error-page/)
    site.show = shows(SORRY)
    clock.atMs += HOUR - 1
    assert.deepEqual(await render(domain, '/'), ['rendered'])
    clock.atMs += 1
    assert.deepEqual(await render(domain, '/'), ['rendered', 'probed'])
    assert.deepEqual(await render(domain, '/gone'), ['soft-404'])
  })
})

describe('what is known grows old', () => {
  it('after a day it is looked at again', async () => {
    const domain = await newDomain()
    await render(domain, '/')
    clock.atMs += DAY - 1
    assert.deepEqual(await render(domain, '/bags'), ['rendered'])
    clock.atMs += 1
    assert.deepEqual(await render(domain, '/bags'), ['rendered', 'probed'])
    assert.deepEqual(await render(domain, '/bags'), ['rendered'])
  })

  // Proves decided "Soft 404"
  it('after a deploy: what is known of the old build judges no page of the new one, and is looked at anew', async () => {
    const domain = await newDomain()
    await render(domain, '/')
    clock.atMs += 10 * MINUTE
    site.build++
    site.show = shows(
      `'Sorry, we could not find that.'`,
      `({ '/': 'Welcome', '/news': ${SORRY} })[location.pathname] ?? null`,
    )
    // It reads as no page did before.
    assert.deepEqual(await render(domain, '/news'), ['rendered', 'probed'])
    assert.notEqual(await stored(domain, '/news'), null)
    assert.deepEqual(await render(domain, '/gone'), ['soft-404'])
  })

  it('not sooner than ten minutes; twice as long after each false alarm', async () => {
    const domain = await newDomain()
    await render(domain, '/')
    // Two builds are served by turns, as behind a balancer during a deploy that is stuck.
    const alarm = async () => {
      site.build++
      const outcomes = await render(domain, '/bags')
      site.build--
      return outcomes
    }
    let patience = 10 * MINUTE
    clock.atMs += patience - 1
    assert.deepEqual(await alarm(), ['rendered'])
    clock.atMs += 1
    for (let again = 0; again < 3; again++) {
      await enqueue(queue.pool, domain, ['/bags' as PagePath], 'live')
      site.build++
      assert.equal(await step(), 'rendered')
      site.build--
      assert.equal(await step(), 'probed')
      patience *= 2
      clock.atMs += patience - 1
      assert.deepEqual(await alarm(), ['rendered'])
      clock.atMs += 1
    }
  })
})

describe('a probe', () => {
  it('that was purged over runs again; what comes of a lost one is asked for after an hour', async () => {
    const domain = await newDomain()
    await enqueue(queue.pool, domain, [HOME], 'live')
    assert.equal(await step(), 'rendered')
    await queue.pool.query(`delete from job where state = 'queued'`)
    assert.deepEqual(await render(domain, '/bags'), ['rendered'])
    clock.atMs += HOUR
    assert.deepEqual(await render(domain, '/bags'), ['rendered', 'probed'])
  })

  it('is asked for by one of many renders that end at once', async () => {
    const domain = await newDomain()
    const prober = createProber(queue.pool, random)
    const found: Found = { kind: 'rendered', status: 200, headers: [], html: '' }
    const end = { state: 'done', outcome: 'rendered' } as const
    await Promise.all(
      Array.from({ length: 20 }, () => prober.after({ page: pageId(domain, HOME) }, found, end, clock.atMs)),
    )
    assert.equal((await queue.jobs(domain)).filter(({ state }) => state === 'queued').length, 1)
  })

  it('goes with its domain', async () => {
    const domain = await newDomain()
    await render(domain, '/')
    await queue.pool.query('delete from domain where id = $1', [domain])
    const { rowCount } = await queue.pool.query('select from probe where domain_id = $1', [domain])
    assert.equal(rowCount, 0)
  })
})
