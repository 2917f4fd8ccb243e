import assert from 'node:assert/strict'
import { beforeEach, it } from 'node:test'
import { wholeAccount } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { setPlan } from '@prepaint/service/accounts/accounts.ts'
import { createToken, listTokens, revokeToken } from '@prepaint/service/accounts/keys.ts'
import {
  assertAnswer,
  openApi,
  storePages,
  TEST_START_MS,
  type TestAccount,
} from '../../../../test/support/api.ts'

const PLANS = { ...DEFAULT_PLANS, agency_plus: { ...DEFAULT_PLANS['agency_plus']!, monthly_render_limit: 7 } }
const NO_BODY = 'Provide "urls" array or "all": true'
const NO_PATHS = 'No valid URL paths (must start with /)'
const NO_HEADER = 'Missing or invalid Authorization header'
const RATE = 'Rate limit exceeded (10 requests/hour)'
const USED_UP = 'Monthly render limit reached'
const HOUR_MS = 3_600_000
const HOME = { urls: ['/'] }

const api = await openApi({ plans: PLANS })
let owner: TestAccount
let domain: Awaited<ReturnType<typeof api.domain>>
let token: string
let count = 0
// Each test has a domain, and so a window, of its own.
beforeEach(async () => {
  api.clock.atMs = TEST_START_MS
  owner = await api.account()
  domain = await api.domain(owner, `d${++count}.example.com`)
  token = await newToken()
})

const newToken = async () => (await createToken(api.pool, owner.id, domain.name, 'cms', PLANS)).token
const hook = (body?: unknown, withToken = token) =>
  api.call('POST', '/api/webhook/refresh', { token: withToken, body })
const column = (sql: string) => api.database.column(sql, domain.id)
const queued = () => column('select path from job where domain_id = $1 and priority = 1 order by path')
const activate = (isActive: boolean) =>
  api.pool.query('update domain set is_active = $2 where id = $1', [domain.id, isActive])
const plan = (name: string) => setPlan(api.pool, PLANS, owner.id, name)
const use = (renders: number) =>
  api.pool.query(
    `insert into render_count (domain_id, month, renders) values ($1, '2026-11-01', $2)
     on conflict (domain_id, month) do update set renders = $2`,
    [domain.id, renders],
  )

// Proves interface 1/6, interface 2/27, interface 4.3/1, interface 4.3/2, interface 4.3/3
it('200: deletes the pages and queues them at `refresh`; the domain is that of the token', async () => {
  await storePages(api, domain.id, ['/', '/a', '/kept'])
  const body = { urls: ['/', '/a?utm_campaign=x'], domain: 'other.example.com' }
  assertAnswer(await hook(body), 200, {
    message: `Queued 2 pages of ${domain.name} for refresh`,
    domain: domain.name,
    pagesQueued: 2,
  })
  assert.deepEqual(await queued(), ['/', '/a'])
  assert.deepEqual(await column('select path from page where domain_id = $1'), ['/kept'])
})

// Proves interface 4.3/1, decided "Full warm"
it('200: all: true answers at once, and what it promised outlives this node', async () => {
  const said = { message: `Started a full cache warm of ${domain.name}`, domain: domain.name }
  assertAnswer(await hook({ all: true }), 200, said)
  assert.deepEqual(await column(`select state || ' ' || which from warm where domain_id = $1`), [
    'reading all',
  ])
})

// Proves interface 4.3/5, interface 4.3/10, decided "Webhook, mixed paths"
// Proves decided "Invalid paths"
it('200: of mixed paths the valid ones are queued and the others listed', async () => {
  const urls = ['/a', 'b', '/a', '', 5, null, { '/': 1 }, '/c\0', '//evil.example']
  const { body } = await hook({ urls })
  assert.equal(body['pagesQueued'], 1)
  assert.deepEqual(body['ignored'], ['b', '', '5', 'null', '{"/":1}', '/c\0', '//evil.example'])
  assert.deepEqual(await queued(), ['/a'])
})

// Proves interface 4.3/6, interface 4.3/10, interface 8/5, decided "Webhook, more than 20"
it('200: 20 paths are taken, 21 are not', async () => {
  const urls = Array.from({ length: 21 }, (_, n) => `/p${n}`)
  assert.equal((await hook({ urls: urls.slice(0, 20) })).body['pagesQueued'], 20)
  for (const many of [urls, Array(21).fill('/'), Array(21).fill('x')]) {
    assertAnswer(await hook({ urls: many }), 400, 'Too many URLs (maximum 20 per request)')
  }
})

// Proves interface 7/8, interface 4.3/10, decided "Webhook, `urls` and `all` both", interface 4.3/4
// Proves decided "Empty `urls`", interface 4.3/5, interface 7/9
it('400: neither paths nor all, or both', async () => {
  const cases: [unknown, string][] = [
    [{}, NO_BODY],
    [['/'], NO_BODY],
    [{ urls: ['/'], all: true }, NO_BODY],
    [{ urls: '/a' }, NO_BODY],
    [{ urls: [] }, NO_PATHS],
    [{ urls: ['a', 'https://x.example/', 5] }, NO_PATHS],
  ]
  for (const [body, error] of cases) assertAnswer(await hook(body), 400, error)
  assert.deepEqual(await queued(), [])
})

// Proves interface 4/2, interface 5/6, interface 7/10
it('401 for a webhook without a Bearer token', async () => {
  const send = (headers: Record<string, string>) =>
    api.call('POST', '/api/webhook/refresh', { headers, body: HOME })
  for (const authorization of ['', 'Bearer ', token, `Basic ${token}`, `Bearer ${token} ${token}`]) {
    assertAnswer(await send({ authorization }), 401, NO_HEADER)
  }
  assertAnswer(await send({ 'x-api-key': owner.key }), 401, NO_HEADER)
  assert.equal((await send({ authorization: `bearer ${token}` })).status, 200)
})

// Proves interface 3/2, interface 5/10, interface 7/11
it('401: a token that is unknown or revoked, from the next request on; an API key is no token', async () => {
  assert.equal((await hook(HOME)).status, 200)
  const [{ id } = { id: 0 }] = await listTokens(api.pool, owner.id, domain.name)
  await revokeToken(api.pool, wholeAccount(owner.id), id, api.clock.nowMs())
  for (const wrong of [token, `${token}x`, 'pp_wh_', 'x', owner.key]) {
    assertAnswer(await hook(HOME, wrong), 401, 'Invalid token')
  }
})

// Proves interface 7/14, interface 8/8
it('403: the month is used up at 100 %, and begins anew', async () => {
  await use(6)
  assert.equal((await hook(HOME)).status, 200)
  await use(7)
  for (const body of [HOME, { all: true }]) assertAnswer(await hook(body), 403, USED_UP)
  assert.deepEqual(await column('select state from warm where domain_id = $1'), [])
  api.clock.atMs = Date.parse('2026-11-30T23:59:59.999Z')
  assert.equal((await hook(HOME)).status, 403)
  api.clock.atMs = Date.parse('2026-12-01T00:00:00.000Z')
  assert.equal((await hook(HOME)).status, 200)
})

// Proves interface 7/15, interface 8/3, interface 8/4, decided "429"
it('429: an eleventh request within the hour, whatever its token, and when to come again; then the next hour begins', async () => {
  const second = await newToken()
  for (let n = 0; n < 10; n++) {
    assert.equal((await hook(HOME, n % 2 ? token : second)).status, 200)
    api.clock.atMs += 1_000
  }
  for (const each of [token, second]) {
    const answer = await hook(HOME, each)
    assertAnswer(answer, 429, RATE)
    assert.equal(answer.headers.get('retry-after'), '3590')
  }
  // The next window begins with the next request, whatever was refused meanwhile.
  const next = TEST_START_MS + HOUR_MS + 5_000
  api.clock.atMs = next
  for (let n = 0; n < 10; n++) assert.equal((await hook(HOME)).status, 200)
  api.clock.atMs = next + HOUR_MS - 1
  assert.equal((await hook(HOME)).status, 429)
  api.clock.atMs = next + HOUR_MS
  assert.equal((await hook(HOME)).status, 200)
})

// Proves interface 4.3/9
it('429: requests that fail validation count, whatever is wrong with them', async () => {
  await use(7)
  const many = { urls: Array(21).fill('/') }
  for (const body of [undefined, '{', { urls: [] }, { urls: ['x'] }, many, HOME, { all: false }]) {
    assert.notEqual((await hook(body)).status, 429)
  }
  const text = { headers: { 'content-type': 'text/plain' }, body: 'x', token }
  for (let n = 0; n < 2; n++) {
    assert.equal((await api.call('POST', '/api/webhook/refresh', text)).status, 415)
  }
  assert.equal((await hook('x'.repeat(1_048_577))).status, 413)
  assert.equal((await hook(HOME)).status, 429)
})

// Proves interface 8/3, interface 8/4
it('429: of 50 at once, 10 get through, also when they open the next window; another domain has its own', async () => {
  for (const atMs of [TEST_START_MS, TEST_START_MS + HOUR_MS]) {
    api.clock.atMs = atMs
    const answers = await Promise.all(Array.from({ length: 50 }, () => hook(HOME)))
    assert.equal(answers.filter(({ status }) => status === 200).length, 10)
    assert.equal(answers.filter(({ status }) => status === 429).length, 40)
  }
  domain = await api.domain(owner, 'another.example.com')
  assert.equal((await hook(HOME, await newToken())).status, 200)
})

// Proves interface 3/6, interface 5/7, interface 7/12, interface 7/13, decided "Inactive domain"
// Proves decided "Webhook, order of checks"
it('the order of checks: each is told before all that come after it', async () => {
  // Everything is wrong at first; then the earliest mistake is mended, one after the other.
  await use(7)
  await plan('pro')
  await activate(false)
  await api.pool.query(
    `insert into rate values ('domain ' || $1::integer, 'webhook', array_fill($2::timestamptz, array[10]), $2)`,
    [domain.id, new Date(api.clock.nowMs())],
  )
  assertAnswer(await api.call('POST', '/api/webhook/refresh', { body: '{' }), 401, NO_HEADER)
  assertAnswer(await hook('{', 'pp_wh_wrong'), 401, 'Invalid token')
  assertAnswer(await hook('{'), 403, 'Webhook refresh requires Agency+ plan')
  await plan('agency_plus')
  assertAnswer(await hook('{'), 403, 'Domain is not active')
  await activate(true)
  assertAnswer(await hook('{'), 429, RATE)
  await api.pool.query('delete from rate')
  assertAnswer(await hook('{'), 400, 'Invalid JSON body')
  assertAnswer(await hook({ urls: ['x'] }), 400, NO_PATHS)
  assertAnswer(await hook(HOME), 403, USED_UP)
  await use(0)
  assert.equal((await hook(HOME)).status, 200)
})
