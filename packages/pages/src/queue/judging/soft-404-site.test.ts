/** Pages that are none, on sites that answer 200 to everything: a real browser, the real queue, a toy site. */
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { DomainId, PagePath } from '@prepaint/contract/ids.ts'
import type { Priority } from '@prepaint/contract/outcome/job.ts'
import { systemClock } from '@prepaint/runtime/clock.ts'
import { openQueue, runNext } from '../../../../../test/support/queue.ts'
import { openRenderer } from '../../../../../test/support/renderer.ts'
import { enqueue } from '../jobs/enqueue.ts'
import { Prober, SWEEP_LIMIT } from './prober.ts'

const MINUTE = 60_000
const DAY = 86_400_000

/** The pages that there are. */
const SHOP = `({ '/': 'Welcome to the shop, all about bags', '/bags': 'Bags of leather' })[location.pathname] ?? null`
/** The words of a page that is none. */
const SORRY = `'Nothing here. Page not found.'`
const shows = (none: string, pages = SHOP) => `const page = ${pages}
  document.body.innerHTML = '<header>Shop Bags Cups</header><main></main><footer>Imprint</footer>'
  document.querySelector('main').textContent = page ?? ${none}`
const site = { build: 1, show: '' }

const queue = await openQueue()
const { asked, originUrl, origin, render: renderPage } = await openRenderer({ timeoutMs: 30_000 })
origin.removeAllListeners('request').on('request', (req, res) => {
  asked.push(req.url ?? '')
  if (req.url?.startsWith('/app')) return void res.setHeader('content-type', 'text/javascript').end(site.show)
  res.setHeader('content-type', 'text/html')
  res.end(`<!doctype html><body><script src="/app-${site.build}.js"></script></body>`)
})
const clock = { atMs: systemClock.nowMs(), nowMs: () => clock.atMs }
let letter = 0
const prober = new Prober(queue.pool, queue.bodies, (bytes) => new Uint8Array(bytes).map(() => letter++ * 7))
beforeEach(() => {
  Object.assign(site, { build: site.build + 1, show: shows(SORRY) })
  asked.length = 0
})

async function newDomain(settings = {}): Promise<DomainId> {
  const domain = await queue.domain()
  await queue.pool.query('update domain set origin_url = $2 where id = $1', [domain, originUrl])
  await queue.set(domain, settings)
  return domain
}

/** Runs one job; what it asks for waits. */
async function step(): Promise<unknown> {
  const job = await runNext(queue, renderPage, { clock, prober })
  return (await queue.column('select outcome from every_job where id = $1', job?.id))[0] ?? null
}

/** Renders a page, and after it whatever else was asked for. */
async function render(domain: DomainId, path: string, priority: Priority = 'live'): Promise<unknown[]> {
  await enqueue(queue.pool, domain, [path as PagePath], priority)
  const outcomes: unknown[] = []
  for (let outcome = await step(); outcome !== null; outcome = await step()) outcomes.push(outcome)
  return outcomes
}

describe('a new domain', () => {
  // Proves decided "Soft 404"
  it('its first page is stored without waiting; then the site is looked at, once a day, for nothing', async () => {
    const domain = await newDomain()
    assert.deepEqual(await render(domain, '/'), ['rendered', 'probed'])
    assert.equal(await queue.renders(domain), 1)
    const probes = asked.filter((path) => path.startsWith('/prepaint-probe-'))
    assert.equal(new Set(probes).size, 2)
    assert.deepEqual(await render(domain, '/bags'), ['rendered'])
    assert.deepEqual(await queue.stored(domain), ['/', '/bags'])
    clock.atMs += DAY - 1
    assert.deepEqual(await render(domain, '/bags'), ['rendered'])
    clock.atMs += 1
    assert.deepEqual(await render(domain, '/bags'), ['rendered', 'probed'])
    assert.deepEqual(await render(domain, '/bags'), ['rendered'])
  })

  // Proves decided "Soft 404"
  it('a page that is none and came first is removed as soon as that is known', async () => {
    const domain = await newDomain()
    assert.deepEqual(await render(domain, '/gone'), ['rendered', 'probed'])
    assert.equal(await queue.page(domain, '/gone'), null)
    const told = /answered with 200 and \d+ words; stored pages that read the same and were removed: 1$/
    assert.match((await queue.records(domain))[0]?.detail ?? '', told)
  })

  it('such pages are removed although the body of another cannot be read', async () => {
    const domain = await newDomain()
    await enqueue(queue.pool, domain, ['/gone' as PagePath], 'live')
    assert.equal(await step(), 'rendered')
    await queue.pool.query(
      `insert into page (domain_id, path, status, headers, body_key, body_bytes, body_sum, html_bytes, etag, rendered_at, text_chars)
       select domain_id, '/in-store', status, headers, domain_id || '/a', 5000, '12345678', html_bytes, etag,
         rendered_at + interval '1 second', text_chars from page where domain_id = $1`,
      [domain],
    )
    assert.equal(await step(), 'probed')
    assert.deepEqual(await queue.stored(domain), ['/in-store'])
  })

  it(`of more than ${SWEEP_LIMIT} such pages the newest are removed; / and other statuses stay`, async () => {
    const domain = await newDomain()
    await enqueue(queue.pool, domain, ['/gone' as PagePath], 'live')
    assert.equal(await step(), 'rendered')
    const copy = (path: string, status: number, count: number) =>
      queue.pool.query(
        `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at, stale_since, text_chars, refused_since)
         select domain_id, ${path}, $2::integer, headers, body_br, html_bytes, etag,
         rendered_at - interval '1 minute' * n, stale_since, text_chars, refused_since
         from page, generate_series(1, $3::integer) n where domain_id = $1 and path = '/gone'`,
        [domain, status, count],
      )
    await copy(`'/gone-' || n`, 200, SWEEP_LIMIT)
    await copy(`'/410'`, 410, 1)
    await copy(`'/'`, 200, 1)
    assert.equal(await step(), 'probed')
    assert.deepEqual(await queue.stored(domain), ['/', '/410', `/gone-${SWEEP_LIMIT}`])
  })

  // Proves decided "Soft 404"
  it('pages that are none become 404 once the site was looked at, also if the owner asked for that before the first render', async () => {
    for (const settings of [{}, { soft_404: 'answer' }]) {
      const domain = await newDomain(settings)
      assert.deepEqual(await render(domain, '/gone'), ['rendered', 'probed'], 'judged after it was stored')
      assert.equal(await queue.page(domain, '/gone'), null)
      assert.deepEqual(await render(domain, '/gone'), ['rendered'])
      const status = 'select status from page where domain_id = $1 and path = $2'
      assert.deepEqual(await queue.column(status, domain, '/gone'), [404])
      await render(domain, '/bags')
      assert.deepEqual(await queue.column(status, domain, '/bags'), [200])
    }
  })

  // Proves decided "Soft 404"
  it('a domain whose owner wants such pages stored is neither probed nor judged', async () => {
    const domain = await newDomain({ soft_404: 'store' })
    assert.deepEqual(await render(domain, '/gone'), ['rendered'])
    const judged = await newDomain()
    await render(judged, '/')
    await queue.set(judged, { soft_404: 'store' })
    assert.deepEqual(await render(judged, '/gone'), ['rendered'])
  })
})

// Proves decided "Soft 404"
it('a page that reads like none is refused, the reason is kept, the last good copy is served on, and nothing is counted', async () => {
  const domain = await newDomain({ soft_404: 'refuse' })
  await render(domain, '/')
  await render(domain, '/bags')
  const before = await queue.page(domain, '/bags')
  // The bags are sold out, and the shop says so with 200.
  site.show = shows(SORRY, SHOP.replace('/bags', '/cups'))
  assert.deepEqual(await render(domain, '/bags', 'refresh'), ['soft-404'])
  assert.deepEqual(await queue.page(domain, '/bags'), before)
  assert.equal(await queue.renders(domain), 2)
  const [last] = await queue.records(domain)
  assert.equal(last?.detail, 'it reads like a page that does not exist, with status 200')
  assert.deepEqual(await render(domain, '/cups'), ['rendered'])
})

it('a site whose router leads from unknown addresses to a page is not judged', async () => {
  site.show = `if (!['/', '/bags'].includes(location.pathname)) history.replaceState({}, '', '/bags'); ${shows(SORRY)}`
  const domain = await newDomain()
  assert.deepEqual(await render(domain, '/'), ['rendered', 'probed'])
  assert.match((await queue.records(domain))[0]?.detail ?? '', /such addresses become \/bags/)
  assert.deepEqual(await render(domain, '/bags'), ['rendered'])
})

it('after a deploy: what is known of the old build judges no page of the new one, and is looked at anew', async () => {
  const domain = await newDomain({ soft_404: 'refuse' })
  await render(domain, '/')
  clock.atMs += 10 * MINUTE
  site.build++
  const news = `({ '/': 'Welcome', '/news': ${SORRY} })[location.pathname] ?? null`
  site.show = shows(`'Sorry, we could not find that.'`, news)
  // It reads as no page did before.
  assert.deepEqual(await render(domain, '/news'), ['rendered', 'probed'])
  assert.notEqual(await queue.page(domain, '/news'), null)
  assert.deepEqual(await render(domain, '/gone'), ['soft-404'])
})
