import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DEFAULT_DOMAIN_SETTINGS } from '@prepaint/contract/settings/domain-settings.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { setPlan } from '@prepaint/service/accounts/accounts.ts'
import { createToken } from '@prepaint/service/accounts/keys.ts'
import {
  assertAnswer,
  openApi,
  storePages,
  storeRedirectAndSitemap,
  valuesOf,
} from '../../../../test/support/api.ts'
import { invalidatedBy } from '../../../../test/support/database.ts'
import { troubledRecord } from '../../../../test/support/render-record.ts'

const api = await openApi()
const owner = await api.account()
const ORIGIN = 'https://origin.example.com'
const SITE_LIMIT = 'Site limit reached for your subscription plan'

const create = (custom_domain: unknown, origin_url: unknown = ORIGIN, key = owner.key) =>
  api.post('/api/domains', key, { custom_domain, origin_url })
const get = (name: string) => api.get(`/api/domains/${name}`, owner.key)
const remove = (name: string) => api.call('DELETE', `/api/domains/${name}`, { key: owner.key })
const many = async (count: number, ask: (n: number) => Promise<{ status: number }>) =>
  (await Promise.all(Array.from({ length: count }, (_, n) => ask(n)))).map(({ status }) => status).sort()
const NOT_FOUND = 'Domain not found'

// Proves interface 1/4, interface 2/1, interface 2/2, interface 2/3, interface 2/4, interface 2/5
// Proves interface 2/6, interface 2/7, interface 2/8, interface 2/9, interface 3/4, interface 4.1/2
// Proves decided "`origin_url` in answers"
it('POST: 201: the new domain with the fields and the defaults of the contract', async () => {
  const { status, body } = await create('Shop.Example.com', 'HTTPS://Origin.example.com/')
  assert.equal((await create('bücher.example')).status, 201)
  assert.equal(status, 201)
  const { id, created_at, updated_at, ...rest } = body['domain'] as Record<string, unknown>
  assert(Number.isInteger(id))
  assert.match(String(created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.equal(updated_at, created_at)
  assert.deepEqual(rest, {
    ...{ custom_domain: 'shop.example.com', origin_url: ORIGIN, ssl_enabled: false },
    ...{ renders_used: 0, monthly_render_limit: 200_000, is_active: true },
  })
})

// Proves interface 4.1/2, interface 7/3, decided "Null or empty required fields"
it('POST: 400: required fields are missing', async () => {
  const missing = 'Missing required fields: custom_domain, origin_url'
  for (const body of [undefined, [], 'null', { custom_domain: 'a.example.com' }]) {
    assertAnswer(await api.post('/api/domains', owner.key, body), 400, missing)
  }
  for (const name of [undefined, '', null]) assertAnswer(await create(name), 400, missing)
  assertAnswer(await create('a.example.com', 5), 400, 'origin_url must be a string')
})

// Proves interface 2/3, interface 4.1/6, interface 4.1/7, interface 7/4
it('POST: 400: an origin that could forge requests', async () => {
  for (const origin of [
    ...['http://127.0.0.1', 'http://[::ffff:10.0.0.1]', 'https://internal.attacker.com'],
    ...['https://mixed.attacker.com', 'javascript:alert(1)', 'https://user:secret@origin.example.com'],
  ]) {
    assertAnswer(await create('new.example.com', origin), 400, /^Invalid origin URL: (?!.*secret)\S/)
  }
})

// Proves interface 4.1/8, interface 4.1/11, interface 7/6
it('POST: 409: already registered, by oneself or by another account', async () => {
  const other = await api.account()
  assert.equal((await create('taken.example.com')).status, 201)
  const taken = 'Domain already exists. Use PUT to update a domain you own.'
  for (const { key } of [owner, other]) {
    assertAnswer(await create('TAKEN.example.com.', ORIGIN, key), 409, taken)
  }
})

// Proves interface 4.1/4, interface 4.1/5, interface 5/13, interface 7/2, interface 7/5, interface 8/9
it('POST: 403: at the site limit, with what is and what may be, before anything of the body is read', async () => {
  const { id, key } = await api.account('agency')
  const add = (n: number) => create(`n${n}.limit.example.com`, ORIGIN, key)
  await api.pool.query(
    `insert into domain (account_id, custom_domain, origin_url)
       select $1, 'limit-' || n || '.example.com', 'https://origin.example.com' from generate_series(1, 24) n`,
    [id],
  )
  assert.equal((await add(24)).status, 201)
  const full = { error: SITE_LIMIT, current: 25, allowed: 25 }
  assertAnswer(await add(25), 403, full)
  assertAnswer(await api.post('/api/domains', key, '{broken'), 403, full)
  await setPlan(api.pool, DEFAULT_PLANS, id, 'agency_plus')
  assert.equal((await add(25)).status, 201)
  await setPlan(api.pool, DEFAULT_PLANS, id, 'agency')
  assertAnswer(await add(26), 403, { ...full, current: 26 })
})

// Proves decided "Order of checks, `POST /api/domains`"
it('POST: the order of checks: each is told before all that come after it', async () => {
  const { id, key } = await api.account('agency')
  const broken = (withKey = key) => api.post('/api/domains', withKey, '{')
  await api.domain(owner, 'order.example.com')
  await setPlan(api.pool, DEFAULT_PLANS, id, 'pro')
  assertAnswer(await broken('pp_live_wrong'), 401, 'Invalid API key')
  assertAnswer(await broken(), 403, 'API access requires Agency plan or above')
  await setPlan(api.pool, DEFAULT_PLANS, id, 'agency')
  assertAnswer(await broken(), 400, 'Invalid JSON body')
  assertAnswer(await create('localhost', '', key), 400, /^Missing required fields/)
  assertAnswer(await create('localhost', 'http://10.0.0.1', key), 400, /^Invalid custom domain: /)
  assertAnswer(await create('order.example.com', 'http://10.0.0.1', key), 400, /^Invalid origin URL: /)
  assertAnswer(await create('order.example.com', ORIGIN, key), 409, /^Domain already exists/)
})

// Proves interface 4.1/5, interface 4.1/8, interface 8/9
it('POST: of 50 that come at once, as many get in as the plan allows; of 50 that want one name, one', async () => {
  const { key } = await api.account('agency')
  const statuses = await many(50, (n) => create(`p${n}.burst.example.com`, ORIGIN, key))
  assert.deepEqual(statuses, [...Array(25).fill(201), ...Array(25).fill(403)])
  const accounts = await Promise.all(Array.from({ length: 50 }, () => api.account()))
  const wanted = await many(50, (n) => create('wanted.example.com', ORIGIN, accounts[n]!.key))
  assert.deepEqual(wanted, [201, ...Array(49).fill(409)])
})

// Proves decided "Domain check"
it('POST /api/domains/check: what would be wrong with a new domain, of the fields that are given', async () => {
  const { key } = await api.account()
  const check = (fields: object) => api.post('/api/domains/check', key, fields)
  const name = (name: string | null, problem: string | null) => ({
    ...{ custom_domain: { name, problem }, origin_url: null, target: null },
  })
  assertAnswer(await check({ custom_domain: 'Neu.Example.com' }), 200, name('neu.example.com', null))
  const taken = name('shop.example.com', 'is already registered')
  assertAnswer(await check({ custom_domain: 'shop.example.com' }), 200, taken)
  assert.deepEqual((await check({ origin_url: 'https://Shop.example.com/' })).body['origin_url'], {
    ...{ url: 'https://shop.example.com', problem: null, status: 200, warning: null },
  })
  const problem =
    'must not be an internal address, unless the operator allows it (PREPAINT_ALLOW_PRIVATE_ORIGINS)'
  assert.deepEqual((await check({ origin_url: 'http://127.0.0.1' })).body['origin_url'], {
    ...{ url: null, problem, status: null, warning: null },
  })
  assertAnswer(await api.get('/api/domains', key), 200, { domains: [] })
})

// Proves interface 4.1/1, interface 4/3, interface 1/7, interface 2/5
it('GET: 200: all domains of the caller, by name, with exactly the fields of the contract; query parameters do nothing', async () => {
  const account = await api.account()
  assertAnswer(await api.get('/api/domains?page=2&limit=%00&api_key=x', account.key), 200, { domains: [] })
  const { id } = await api.domain(account, 'b.example.com')
  await api.domain(account, 'a.example.com')
  await api.pool.query(`insert into render_count values ($1, '2026-10-01', 5), ($1, '2026-11-01', 3)`, [id])
  const { domains } = (await api.get('/api/domains', account.key)).body as { domains: object[] }
  assert.deepEqual(valuesOf(domains, 'custom_domain'), ['a.example.com', 'b.example.com'])
  assert.deepEqual(valuesOf(domains, 'renders_used'), [0, 3])
  const fields = 'id custom_domain origin_url ssl_enabled renders_used monthly_render_limit is_active'
  assert.deepEqual(Object.keys(domains[0]!), [...fields.split(' '), 'created_at', 'updated_at'])
})

// Proves decided "Update"
it('GET: 200: the domain of the list, and its settings', async () => {
  const { settings, indexnow_key, ...domain } = (await get('shop.example.com')).body['domain'] as {
    [field: string]: unknown
  }
  assert.deepEqual([settings, indexnow_key], [DEFAULT_DOMAIN_SETTINGS, null])
  const list = (await api.get('/api/domains', owner.key)).body['domains'] as (typeof domain)[]
  const listed = list.find(({ custom_domain }) => custom_domain === 'shop.example.com')
  assert.deepEqual(domain, listed)
})

// Proves interface 2/2
it('GET: 200: in any case, and an IDN in either spelling; 404: unknown, or no name at all', async () => {
  const names = 'SHOP.Example.Com b%C3%BCcher.example B%C3%9CCHER.example xn--bcher-kva.example'
  for (const name of names.split(' ')) assert.equal((await get(name)).status, 200, name)
  for (const name of ['unknown.example.com', '127.0.0.1', '%00', 'a%2Fb', 'a'.repeat(5_000)]) {
    assertAnswer(await get(name), 404, NOT_FOUND)
  }
})

// Proves decided "DNS state"
it('/dns: where the name of a domain leads', async () => {
  assertAnswer(await get('SHOP.example.com/dns'), 200, {
    ...{ domain: 'shop.example.com', state: 'elsewhere', addresses: ['93.184.216.34'], aliases: [] },
    ...{ checked_at: '2026-11-15T12:30:00.000Z', target: null, edge_port: null },
  })
})

// Proves decided "Render log"
it('/renders: how renders went', async () => {
  assertAnswer(await get('shop.example.com/renders'), 200, {
    ...{ domain: 'shop.example.com', renders: [] },
    complete: { stored: 0, complete: 0, folders: [] },
    next: null,
  })
  const phases = { slot: 0, tab: 1, navigate: 2, firstResponse: 31, settled: null, snapshot: 40 }
  const record = troubledRecord({ phases, capture: null, htmlBytes: null })
  const { rows } = await api.pool.query<{ job_id: string }>(
    `insert into render_record (domain_id, path, job_id, outcome, detail, queued_ms, stored_ms, record, request_id, ended_at)
       select id, '/a', gen_random_uuid(), 'timed-out', 'after 3000 ms', 12, 3010, $1, 'request-1', '2026-11-15T12:00:00Z'
         from domain where custom_domain = 'shop.example.com' returning job_id`,
    [record],
  )
  const render = {
    ...{ jobId: rows[0]!.job_id, requestId: 'request-1', path: '/a', variant: 'desktop' },
    ...{ outcome: 'timed-out', detail: 'after 3000 ms', ended_at: '2026-11-15T12:00:00.000Z' },
    ...{ queued_ms: 12, stored_ms: 3010, record, priority: null },
  }
  await api.pool.query(
    `insert into last_render (domain_id, path, outcome, ended_at)
       select d.id, folder || n, case when n <= 3 then 'rendered' else 'static' end, now()
         from domain d, unnest('{/news/,/shop/}'::text[]) folder, generate_series(1, 13) n
        where d.custom_domain = 'shop.example.com' and (folder = '/news/' or n <= 3)`,
  )
  const complete = { stored: 16, complete: 10, folders: ['/news/*'] }
  const renders = { domain: 'shop.example.com', renders: [render], complete, next: null }
  assertAnswer(await get('SHOP.example.com/renders'), 200, renders)
})

// Proves interface 1/4, interface 2/10, interface 3/5, interface 4.1/3, interface 4.1/9
it('DELETE: 200: tells what it removed, all that hung on it is gone, and every node forgets it', async () => {
  const domain = await api.domain(owner, 'gone.example.com')
  const kept = await api.domain(owner, 'kept.example.com')
  for (const { id, name } of [domain, kept]) {
    await storePages(api, id, ['/', '/a'])
    await storeRedirectAndSitemap(api, id)
    await api.post('/api/cache/refresh', owner.key, { domain: name, paths: ['/b'] })
  }
  const { token } = await createToken(api.pool, owner.id, domain.name, 'cms', DEFAULT_PLANS)

  const { id } = domain
  const told = await invalidatedBy(api.database, async () =>
    assertAnswer(await remove('GONE.example.com'), 200, {
      deleted: { id, custom_domain: 'gone.example.com', origin_url: ORIGIN, is_active: true },
    }),
  )
  assert.deepEqual(told, [{ domain: id }, { host: 'gone.example.com' }, { account: owner.id }])

  for (const table of ['page', 'redirect', 'sitemap', 'job', 'webhook_token']) {
    const { rowCount } = await api.pool.query(`select from ${table} where domain_id = $1`, [id])
    assert.equal(rowCount, 0, table)
  }
  const hook = await api.call('POST', '/api/webhook/refresh', { token, body: { urls: ['/'] } })
  assertAnswer(hook, 401, 'Invalid token')
  assert.equal((await api.get('/api/cache/stats', owner.key)).body['totalKeys'], 4)
  assertAnswer(await get('gone.example.com'), 404, NOT_FOUND)
  // The name is free again, also for another account, which gets none of its pages.
  const other = await api.account()
  await api.domain(other, 'gone.example.com')
  assert.equal((await api.get('/api/cache/list/gone.example.com', other.key)).body['cachedPages'], 0)
})

// Proves interface 4.1/9, interface 4.1/10, interface 7/7
it('DELETE: 404: unknown, or deleted before; of 50 that delete at once, one does it', async () => {
  for (const name of ['unknown', 'gone']) {
    assertAnswer(await remove(`${name}.example.com`), 404, NOT_FOUND)
  }
  await api.domain(owner, 'once.example.com')
  const statuses = await many(50, () => remove('once.example.com'))
  assert.deepEqual(statuses, [200, ...Array(49).fill(404)])
})
