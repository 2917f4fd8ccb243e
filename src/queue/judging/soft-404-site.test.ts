/** Pages that are none, on sites that answer 200 to everything: a real browser, the real queue, a toy site. */
import assert from 'node:assert/strict'
import { after, beforeEach, describe, it } from 'node:test'
import { openQueue, runNext } from '../../../test/support/queue.ts'
import { startTestRenderer } from '../../../test/support/renderer.ts'
import { systemClock } from '../../clock.ts'
import type { DomainId, PagePath } from '../../ids.ts'
import { pageId } from '../../store/page-id.ts'
import { readStored } from '../../store/stored-page.ts'
import { enqueue } from '../jobs/enqueue.ts'
import type { Priority } from '../jobs/job.ts'
import { createProber, SWEEP_LIMIT } from './prober.ts'

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

const queue = await openQueue()
const renderer = await startTestRenderer({ timeoutMs: 5_000 })
after(() => renderer.close())
const { asked, originUrl } = renderer
renderer.origin.removeAllListeners('request').on('request', (req, res) => {
  asked.push(req.url ?? '')
  if (req.url?.startsWith('/app')) return void res.setHeader('content-type', 'text/javascript').end(site.show)
  res.writeHead(req.url === '/' ? 200 : site.status, { 'content-type': 'text/html' })
  res.end(`<!doctype html><body><script src="/app-${site.build}.js"></script></body>`)
})
const clock = { atMs: systemClock.nowMs(), nowMs: () => clock.atMs }
let random: (bytes: number) => Uint8Array
beforeEach(() => {
  Object.assign(site, { build: site.build + 1, show: shows(SORRY), status: 200 })
  asked.length = 0
  let letter = 0
  random = (bytes) => new Uint8Array(bytes).map(() => letter++ * 7)
})

async function newDomain(settings = '{}'): Promise<DomainId> {
  const domain = await queue.domain()
  const sql = 'update domain set origin_url = $2, settings = $3 where id = $1'
  await queue.pool.query(sql, [domain, originUrl, settings])
  return domain
}

/** Runs one job; what it asks for waits. */
async function step(): Promise<string | null> {
  const job = await runNext(queue, renderer.render, { clock, prober: createProber(queue.pool, random) })
  const sql = 'select outcome from job where id = $1'
  return (await queue.pool.query<{ outcome: string }>(sql, [job?.id])).rows[0]?.outcome ?? null
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

describe('a new domain', () => {
  // Proves decided "Soft 404"
  it('its first page is stored without waiting; then the site is looked at, once, for nothing', async () => {
    const domain = await newDomain()
    assert.deepEqual(await render(domain, '/'), ['rendered', 'probed'])
    assert.equal(await queue.renders(domain), 1)
    const probes = asked.filter((path) => path.startsWith('/prepaint-probe-'))
    assert.equal(new Set(probes).size, 2)
    assert.equal(await stored(domain, probes[0]!), null)
    assert.deepEqual(await render(domain, '/bags'), ['rendered'])
    assert.deepEqual(await queue.stored(domain), ['/', '/bags'])
  })

  // Proves decided "Soft 404"
  it('a page that is none and came first is removed as soon as that is known', async () => {
    const domain = await newDomain()
    assert.deepEqual(await render(domain, '/gone'), ['rendered', 'probed'])
    assert.equal(await stored(domain, '/gone'), null)
    const [probe, first] = await queue.records(domain)
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
    assert.deepEqual(await queue.stored(domain), ['/', '/410-1', `/gone-${SWEEP_LIMIT}`])
  })

  // Proves decided "Soft 404"
  it('is not looked at while its owner wants such pages stored, nor judged', async () => {
    const domain = await newDomain('{"soft_404": "store"}')
    assert.deepEqual(await render(domain, '/gone'), ['rendered'])
    const judged = await newDomain()
    await render(judged, '/')
    await queue.set(judged, { soft_404: 'store' })
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
    assert.equal(await queue.renders(domain), 2)
    const [last] = await queue.records(domain)
    assert.deepEqual(
      [last?.outcome, last?.detail],
      ['soft-404', 'it reads like a page that does not exist, with status 200'],
    )
    assert.deepEqual(await render(domain, '/cups'), ['rendered'])
  })
})

describe('not judged', () => {
  const notJudged = async (why: RegExp, path = '/any') => {
    const domain = await newDomain()
    assert.deepEqual(await render(domain, '/'), ['rendered', 'probed'])
    assert.match((await queue.records(domain))[0]?.detail ?? '', why)
    assert.deepEqual(await render(domain, path), ['rendered'])
  }

  // Proves decided "Soft 404"
  it('a site with one text for every page', () => {
    site.show = shows(SORRY, 'null')
    return notJudged(/the home page reads the same/)
  })

  it('a site whose router leads from unknown addresses to a page', () => {
    site.show = `if (!['/', '/bags'].includes(location.pathname)) history.replaceState({}, '', '/bags'); ${shows(SORRY)}`
    return notJudged(/such addresses become \/bags/, '/bags')
  })

  it('a site that was broken when it was looked at; an hour later it is looked at again', async () => {
    site.show = `if (location.pathname === '/') { ${shows(SORRY)} } else document.body.textContent = 'Internal Server Error'`
    const domain = await newDomain()
    assert.deepEqual(await render(domain, '/'), ['rendered', 'probed'])
    assert.match((await queue.records(domain))[0]?.detail ?? '', /could not be judged: error-page/)
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

  it('not sooner than ten minutes; twice as long after a false alarm', async () => {
    const domain = await newDomain()
    await render(domain, '/')
    // Two builds are served by turns, as behind a balancer during a deploy that is stuck.
    const alarm = async () => {
      site.build++
      const outcomes = await render(domain, '/bags')
      site.build--
      return outcomes
    }
    for (const waitMs of [10 * MINUTE, 20 * MINUTE]) {
      clock.atMs += waitMs - 1
      assert.deepEqual(await alarm(), ['rendered'])
      clock.atMs += 1
      await enqueue(queue.pool, domain, ['/bags' as PagePath], 'live')
      site.build++
      assert.equal(await step(), 'rendered')
      site.build--
      assert.equal(await step(), 'probed')
    }
  })
})
