import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import type { WarmProgress } from '@prepaint/pages/queue/warm/warm-progress.ts'
import { warmStep } from '@prepaint/pages/queue/warm/warm-step.ts'
import { updateDomain } from '@prepaint/service/sites/domain-changes.ts'
import {
  assertAnswer,
  openApi,
  storePages,
  storeRedirectAndSitemap,
  valuesOf,
} from '../../../../test/support/api.ts'
import { invalidatedBy } from '../../../../test/support/database.ts'

const api = await openApi()
const owner = await api.account()
const shop = await api.domain(owner, 'shop.example.com')
const second = await api.domain(owner, 'second.example.com')
const stranger = await api.account()
const strangers = await api.domain(stranger, 'stranger.example.com')
beforeEach(() => api.pool.query('truncate page, redirect, sitemap, job, job_ended, unstored_page cascade'))

type Asked = { domain?: unknown; path?: unknown; paths?: unknown }
const post = (what: string, body?: unknown) => api.post(`/api/cache/${what}`, owner.key, body)
const purge = (body?: unknown) => post('purge', body)
const refresh = (more: Asked = {}) => post('refresh', { domain: shop.name, ...more })
/** What is stored of all domains: pages by their paths alone, of others than the shop behind their names. */
const stored = (table: string) =>
  api.database.column<string>(
    `select case custom_domain when 'shop.example.com' then path else custom_domain || path end
       from ${table} join domain d on d.id = domain_id order by d.id, path`,
  )
const update = ({ name }: typeof shop, change: Parameters<typeof updateDomain>[3]) =>
  updateDomain(api.pool, owner.id, name, change, { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() })

describe('purges', () => {
  beforeEach(async () => {
    await storePages(api, shop.id, ['/', '/a', '/a?x=1&y=2', '/blog/1', '/blog/2', '/blogs'])
    await storePages(api, second.id, ['/', '/a'])
    for (const { id } of [shop, second, strangers]) await storeRedirectAndSitemap(api, id)
  })

  const purged = async (path: string) => (await purge({ domain: shop.name, path })).body['keysDeleted']
  const left = async () => (await stored('page')).filter((path) => path.startsWith('/'))

  // Proves interface 1/5, interface 4.2/2, interface 4.2/9, interface 4.2/10
  it('200: without a path, the whole domain, with its redirects and sitemaps, and no other', async () => {
    const said = { message: 'Purged 8 cache entries of shop.example.com', keysDeleted: 8 }
    assertAnswer(await purge({ domain: 'SHOP.example.com' }), 200, said)
    assert.deepEqual(await stored('page'), ['second.example.com/', 'second.example.com/a'])
    assert.deepEqual(await stored('redirect'), ['second.example.com/old', 'stranger.example.com/old'])
    assert.equal((await stored('sitemap')).length, 2)
  })

  // Proves interface 4.2/8, interface 4.2/10, decided "`purge` with `path`"
  it('200: with a path, that page, normalised as live traffic is, or by prefix; and the whole sitemap and redirect caches', async () => {
    assert.equal(await purged('/a'), 3)
    assert.deepEqual(await left(), ['/', '/a?x=1&y=2', '/blog/1', '/blog/2', '/blogs'])
    assert.equal(await purged('/a?y=2&utm_source=mail&x=1'), 1)
    assert.equal(await purged('/blog/*'), 2)
    assert.deepEqual(await left(), ['/', '/blogs'])
    await update(shop, { settings: { query: 'ignore' } })
    assert.equal(await purged('/blogs?y=2'), 1)
    await update(shop, { settings: { query: 'keep' } })
  })

  // Proves interface 4.2/2, interface 7/17, decided "Missing or wrong fields in a body"
  // Proves decided "Null or empty required fields"
  it('404: a domain that nobody has, and what is no name; 400: a field that is wrong is named; nothing happens', async () => {
    for (const domain of ['unknown.example.com', '127.0.0.1', 'a\0b.com', 'x'.repeat(5_000)]) {
      assertAnswer(await purge({ domain }), 404, 'Domain not found')
    }
    const cases: [unknown, string][] = [
      [undefined, 'domain is required'],
      [[], 'body must be an object'],
      [{ domain: 5 }, 'domain must be a string'],
      [{ domain: shop.name, path: 'a' }, 'path must start with /'],
      [{ domain: shop.name, path: '/a\0' }, 'path is not the path of a page'],
      [{ domain: shop.name, path: `/${'a'.repeat(2_048)}` }, 'path is not the path of a page'],
      [{ domain: shop.name, path: `/${'a'.repeat(2_048)}*` }, 'path is not the path of a page'],
    ]
    for (const [body, error] of cases) assertAnswer(await purge(body), 400, error)
    assert.equal((await stored('page')).length, 8)
  })

  // Proves interface 4.2/4, interface 4.2/6, interface 4.2/15, interface 4.2/17, decided "Inactive domain"
  // Proves decided "`stats.totalKeys`"
  it('200: stats says what purge-all then deletes: all domains of the caller, inactive ones too, and of nobody else', async () => {
    const stats = async ({ key } = owner) => (await api.get('/api/cache/stats', key)).body
    await update(shop, { isActive: false })
    assert.deepEqual(await stats(), { totalKeys: 12, domainCount: 2 })
    const message = 'Purged 12 cache entries of 2 domains'
    assertAnswer(await post('purge-all'), 200, { message, keysDeleted: 12 })
    await update(shop, { isActive: true })
    assert.deepEqual(await stats(), { totalKeys: 0, domainCount: 2 })
    assert.deepEqual(await stats(stranger), { totalKeys: 2, domainCount: 1 })
  })
})

const list = (name: string) => api.get(`/api/cache/list/${name}`, owner.key)

// Proves interface 1/2, interface 1/5, interface 2/11, interface 2/12, interface 4.2/1
// Proves decided "List order"
it('list: 200: pages byte by byte in order, with their keys; no redirects, no sitemaps, no other domain', async () => {
  await storePages(api, shop.id, ['/b', '/', '/B', '/a?x=1', '/a/', '/a', '/%C3%A9', '/"quoted"'])
  await storePages(api, second.id, ['/second'])
  await storeRedirectAndSitemap(api, shop.id)
  const paths = ['/', '/"quoted"', '/%C3%A9', '/B', '/a', '/a/', '/a?x=1', '/b']
  assertAnswer(await list('unknown.example.com'), 404, 'Domain not found')
  assertAnswer(await list('Shop.Example.com'), 200, {
    domain: 'shop.example.com',
    cachedPages: 8,
    pages: paths.map((path) => ({ path, cacheKey: `render:shop.example.com:${path}` })),
  })
})

// Proves decided "List order"
it('list: a reader who goes away, or a database that fails, in the middle: the answer breaks off and is not taken for whole', async () => {
  await api.pool.query(
    `insert into page (domain_id, path, status, headers, body_br, html_bytes, etag, rendered_at)
       select $1, '/' || repeat('x', 500) || n, 200, '{}', '\\x00', 1, 'e', now() from generate_series(1, 30000) n`,
    [second.id],
  )
  const url = `${api.url}/api/cache/list/second.example.com`
  const headers = { 'x-api-key': owner.key }
  const gone = new AbortController()
  await (await fetch(url, { headers, signal: gone.signal })).body!.getReader().read()
  gone.abort()
  // Some 30 MB: more than the buffers between here and there hold while nobody reads.
  const response = await fetch(url, { headers })
  assert.equal(response.status, 200)
  await api.pool.query('alter table page rename to page_elsewhere')
  try {
    await assert.rejects(response.text(), /terminated/)
  } finally {
    await api.pool.query('alter table page_elsewhere rename to page')
  }
  assert.equal((await list('second.example.com')).body['cachedPages'], 30_000)
})

// Proves interface 1/5, interface 2/13, interface 2/14, interface 4.2/3, interface 4.2/11, interface 4.2/12
it('refresh: 200: deletes what is stored under the given paths, and only that, then queues them at `refresh`', async () => {
  await storePages(api, shop.id, ['/', '/a', '/b', '/c?x=1&y=2'])
  await storeRedirectAndSitemap(api, shop.id)
  const paths = ['/b', '/old', '/c?y=2&x=1', '/new']
  const told = await invalidatedBy(api.database, async () => {
    const answer = await refresh({ domain: 'SHOP.example.com', paths })
    const { rows } = await api.pool.query('select id, path, priority, state from every_job')
    assert(rows.every(({ priority, state }) => priority === 1 && state === 'queued'))
    const idOf = (path: string) => rows.find((job) => job.path === path)?.id
    assertAnswer(answer, 200, {
      message: 'Queued 4 pages of shop.example.com for refresh',
      domain: 'shop.example.com',
      jobs: ['/b', '/old', '/c?x=1&y=2', '/new'].map((path) => ({ path, jobId: idOf(path) })),
    })
  })
  assert(told.some((one) => isDeepStrictEqual(one, { domain: shop.id, path: '/c?x=1&y=2' })))
  const kept = [await stored('page'), await stored('redirect'), await stored('sitemap')]
  assert.deepEqual(kept, [['/', '/a'], [], ['/sitemap.xml']])
})

// Proves interface 2/15, interface 4.2/13, decided "`paths` of a refresh"
it('refresh: 200: without paths, the four of the contract; duplicates are joined, also with the open job', async () => {
  const jobs = async (asked: Asked = {}) => (await refresh(asked)).body['jobs']
  assert.deepEqual(valuesOf(await jobs(), 'path'), ['/', '/about', '/contact', '/shop'])
  const joined = await jobs({ paths: ['/a', '/a', '/a?utm_source=x', '/%61'] })
  assert.equal((joined as unknown[]).length, 1)
  assert.deepEqual(await jobs({ paths: ['/a'] }), joined)
})

// Proves decided "`paths` of a refresh", decided "Invalid paths"
it('refresh: 200: 1,000 paths are taken, 1,001 are not; the longest has 2,048 characters', async () => {
  const paths = Array.from({ length: 1_001 }, (_, n) => `/p/${n}`)
  const { body } = await refresh({ paths: paths.slice(0, 1_000) })
  assert.deepEqual(valuesOf(body['jobs'], 'path'), paths.slice(0, 1_000))
  assertAnswer(await refresh({ paths }), 400, 'paths must have at most 1000 entries')
  assert.equal((await refresh({ paths: [`/${'a'.repeat(2_047)}`] })).status, 200)
})

// Proves interface 4.2/3, interface 4.2/7, decided "`paths` of a refresh", decided "Invalid paths"
// Proves decided "Inactive domain"
it('refresh: 400: a field that is wrong is named; 403: an inactive domain; 404: unknown: nothing is deleted or queued', async () => {
  await storePages(api, shop.id, ['/'])
  const cases: [Asked, string][] = [
    [{ paths: [] }, 'paths must not be empty'],
    [{ paths: ['/', 'a'] }, 'paths[1] must start with /'],
    [{ paths: ['//evil.example'] }, 'paths[0] is not the path of a page'],
    [{ paths: [`/${'a'.repeat(2_048)}`] }, 'paths[0] is not the path of a page'],
  ]
  for (const [asked, error] of cases) assertAnswer(await refresh(asked), 400, error)
  await update(shop, { isActive: false })
  assertAnswer(await refresh(), 403, 'Domain is not active')
  await update(shop, { isActive: true })
  assertAnswer(await refresh({ domain: 'unknown.example.com' }), 404, 'Domain not found')
  assert.deepEqual([await stored('page'), await stored('job')], [['/'], []])
})

const pagesOf = (body: Record<string, unknown>) =>
  (body['jobs'] as { domain: string; path: string }[]).map(({ domain, path }) => domain + path)

// Proves interface 2/15, interface 4.2/5, interface 4.2/14, interface 4.2/16
it('refresh-all: 200: without a body, `/` of every domain of the caller and of nobody else', async () => {
  for (const { id } of [shop, second, strangers]) await storePages(api, id, ['/', '/kept'])
  const { status, body } = await post('refresh-all')
  assert.deepEqual([status, pagesOf(body)], [200, ['shop.example.com/', 'second.example.com/']])
  const { jobs, ...rest } = body
  const message = 'Queued 2 pages of 2 domains for refresh'
  assert.deepEqual(rest, { message, totalDomains: 2, totalJobs: 2 })
  const theirs = ['stranger.example.com/', 'stranger.example.com/kept']
  assert.deepEqual(await stored('page'), ['/kept', 'second.example.com/kept', ...theirs])
})

it("refresh-all: 200: the given paths of each domain, by each domain's own query rule; an account without domains", async () => {
  await update(second, { settings: { query: 'ignore' } })
  const { body } = await post('refresh-all', { paths: ['/a?x=1', '/a'] })
  await update(second, { settings: { query: 'keep' } })
  assert.deepEqual(pagesOf(body), ['shop.example.com/a?x=1', 'shop.example.com/a', 'second.example.com/a'])
  const none = await api.post('/api/cache/refresh-all', (await api.account()).key, {})
  assert.deepEqual([none.status, none.body['totalJobs']], [200, 0])
})

// Proves interface 4.2/16, decided "Refresh-all and inactive domains"
it('refresh-all: 200: an inactive domain is passed over', async () => {
  await storePages(api, second.id, ['/'])
  await update(second, { isActive: false })
  const { body } = await post('refresh-all')
  await update(second, { isActive: true })
  assert.deepEqual([body['totalDomains'], body['totalJobs']], [1, 1])
  assert.deepEqual(await stored('page'), ['second.example.com/'])
})

it('refresh-all: 400: paths that are wrong for any domain; every page stays where it was', async () => {
  for (const { id } of [shop, second]) await storePages(api, id, ['/'])
  const wrong = await post('refresh-all', { paths: ['/', '/a\0'] })
  assertAnswer(wrong, 400, 'paths[1] is not the path of a page')
  assert.deepEqual([await stored('page'), await stored('job')], [['/', 'second.example.com/'], []])
})

// Proves decided "Atomicity", decided "Full queue"
it('refresh-all: 503: a queue that fills up halfway; every page stays where it was', async () => {
  for (const { id } of [shop, second]) await storePages(api, id, ['/'])
  // The account has half of the queue: the three paths of one domain fit, those of two do not.
  await waiting(second.id, 499_995)
  const answer = await post('refresh-all', { paths: ['/', '/a', '/b'] })
  assertAnswer(answer, 503, 'Render queue is full, try again later')
  assert.deepEqual([await stored('page'), await stored('job')], [['/', 'second.example.com/'], []])
})

// Proves decided "Full queue"
it('refresh: 503 for an account that fills its half of the queue, while another one refreshes, and 200 when it has room', async () => {
  const theirs = { domain: strangers.name, paths: ['/', '/a'] }
  await waiting(second.id, 499_999)
  assertAnswer(await refresh({ paths: ['/', '/a'] }), 503, 'Render queue is full, try again later')
  assert.equal((await api.post('/api/cache/refresh', stranger.key, theirs)).status, 200)
  assert.equal((await refresh({ paths: ['/'] })).status, 200)
  assertAnswer(await refresh({ paths: ['/a'] }), 503, 'Render queue is full, try again later')
})

/** As if so many jobs of a domain waited, until the jobs of the next test. */
async function waiting(domain: number, jobs: number): Promise<void> {
  await api.pool.query(
    `insert into queue_waiting (priority, account_id, domain_id, waiting) select 1, account_id, id, $2 from domain where id = $1`,
    [domain, jobs],
  )
}

// Proves interface 2/14
it('GET /api/jobs/:jobId: 200: a job that waits; 404: no id at all', async () => {
  const [jobId] = valuesOf((await refresh({ paths: ['/a'] })).body['jobs'], 'jobId')
  const { created_at, ...rest } = (await api.get(`/api/jobs/${jobId}`, owner.key)).body
  assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(rest, {
    ...{ jobId, domain: 'shop.example.com', path: '/a', priority: 'refresh' },
    ...{ state: 'queued', outcome: null, finished_at: null },
  })
  for (const id of ['00000000-0000-0000-0000-000000000000', '1', "'%20or%201=1", '%00', `${jobId}x`])
    assertAnswer(await api.get(`/api/jobs/${id}`, owner.key), 404, 'Job not found')
})

describe('/api/domains/:domain/warm', () => {
  beforeEach(() =>
    api.pool.query('truncate known_path, warm, warm_count, warm_paused, warm_sitemap, render_count'),
  )

  const call = async (method: string, body?: unknown) => {
    const answer = await api.call(method, `/api/domains/${shop.name}/warm`, { key: owner.key, body })
    return { ...answer, warm: answer.body['warm'] as WarmProgress | null }
  }

  it('200: none was ever asked for; 400: what is none; 200: begun, with or without a body, and seen from then on', async () => {
    assertAnswer(await call('GET'), 200, { domain: shop.name, warm: null })
    assertAnswer(await call('POST', { which: 'some' }), 400, 'which must be "all" or "outdated"')
    for (const [body, which] of [
      [undefined, 'all'],
      [{ which: 'outdated' }, 'outdated'],
    ] as const) {
      const { status, warm } = await call('POST', body)
      assert.deepEqual([status, warm?.state, warm?.which, warm?.left], [200, 'reading', which, null])
      assert.deepEqual((await call('GET')).warm, warm)
    }
  })

  // Proves decided "Warm"
  it('200: paused and resumed, each as often as wanted; cancelled, once', async () => {
    await call('POST')
    // In the place of a node: its sitemaps are read, its pages queued.
    await storePages(api, shop.id, ['/', '/a', '/b'])
    await api.pool.query(`update warm set state = 'queueing', known = 3`)
    await warmStep(api.pool, DEFAULT_PLANS, api.clock, shop.id)
    assert.equal((await stored('job')).length, 3)
    for (let n = 0; n < 2; n++) {
      const { status, warm } = await call('PUT', { paused: true })
      assert.deepEqual([status, typeof warm?.paused_at, warm?.left], [200, 'string', 3])
      assert.deepEqual(await stored('job'), [])
    }
    for (let n = 0; n < 2; n++) {
      const { status, warm } = await call('PUT', { paused: false })
      assert.deepEqual([status, warm?.paused_at, warm?.state], [200, null, 'rendering'])
    }
    const { status, warm } = await call('DELETE')
    assert.deepEqual([status, warm?.state, warm?.left], [200, 'cancelled', 0])
    assertAnswer(await call('DELETE'), 409, 'No warm is under way')
    assertAnswer(await call('PUT', { paused: true }), 409, 'No warm is under way')
    assert.equal((await call('GET')).warm?.state, 'cancelled')
  })

  // Proves decided "Warm"
  it('403: a domain that is not active, or whose month is used up', async () => {
    await update(shop, { isActive: false })
    assertAnswer(await call('POST'), 403, 'Domain is not active')
    await update(shop, { isActive: true })
    const limit = DEFAULT_PLANS['agency_plus']!.monthly_render_limit
    const used = `insert into render_count values ($1, '2026-11-01', $2)`
    await api.pool.query(used, [shop.id, limit])
    assertAnswer(await call('POST'), 403, 'Monthly render limit reached')
    assert.equal((await call('GET')).warm, null)
  })
})
