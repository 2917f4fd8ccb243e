import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  startTestApi,
  storePages,
  TEST_START_MS,
  type TestAccount,
  type TestApi,
} from '../../../test/support/api.ts'
import { setPlan } from '../../accounts/accounts.ts'
import { createToken, listTokens, revokeToken } from '../../accounts/keys.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import type { DomainId, DomainName } from '../../ids.ts'
import { updateDomain } from '../../sites/domain-changes.ts'
import { nextKnownPages } from '../../store/known-paths.ts'

const PLANS = { ...DEFAULT_PLANS, agency_plus: { ...DEFAULT_PLANS['agency_plus']!, monthly_render_limit: 7 } }
const NO_BODY = 'Provide "urls" array or "all": true'
const NO_PATHS = 'No valid URL paths (must start with /)'
const RATE = 'Rate limit exceeded (10 requests/hour)'

let api: TestApi
let owner: TestAccount
let domain: { id: DomainId; name: DomainName }
let token: string
let count = 0
before(async () => {
  api = await startTestApi({ plans: PLANS })
})
after(() => api.close())
// Each test has a domain, and so a window, of its own.
beforeEach(async () => {
  api.clock.atMs = TEST_START_MS
  owner = await api.account()
  domain = await api.domain(owner, `d${++count}.example.com`)
  token = await newToken()
})

const newToken = async () => (await createToken(api.pool, owner.id, domain.name, 'cms', PLANS)).token
const hook = (body?: unknown, withToken: string | undefined = token) =>
  api.call('POST', '/api/webhook/refresh', { token: withToken, body })
const view = () => ({ plans: PLANS, nowMs: api.clock.nowMs() })
const jobs = async () =>
  (
    await api.pool.query<{ path: string; priority: number }>(
      'select path, priority from job where domain_id = $1 order by path',
      [domain.id],
    )
  ).rows
const use = (renders: number, month = '2026-11-01') =>
  api.pool.query(
    `insert into render_count (domain_id, month, renders) values ($1, $3, $2)
     on conflict (domain_id, month) do update set renders = $2`,
    [domain.id, renders, month],
  )

describe('POST /api/webhook/refresh', () => {
  // Proves interface 1/6, interface 2/27, interface 4.3/1, interface 4.3/2, interface 4.3/3
  it('200: deletes the pages and queues them at `refresh`; the domain is that of the token', async () => {
    await storePages(api, domain.id, ['/', '/a', '/kept'])
    const { status, body } = await hook({ urls: ['/', '/a?utm_campaign=x'], domain: 'other.example.com' })
    assert.equal(status, 200)
    assert.deepEqual(body, {
      message: `Queued 2 pages of ${domain.name} for refresh`,
      domain: domain.name,
      pagesQueued: 2,
    })
    assert.deepEqual(await jobs(), [
      { path: '/', priority: 1 },
      { path: '/a', priority: 1 },
    ])
    assert.equal((await api.get(`/api/cache/list/${domain.name}`, owner.key)).body['cachedPages'], 1)
  })

  // Proves interface 4.3/1, decided "Full warm"
  it('200: all: true answers at once, and what it promised outlives this node', async () => {
    const { status, body } = await hook({ all: true })
    assert.equal(status, 200)
    assert.deepEqual(body, { message: `Started a full cache warm of ${domain.name}`, domain: domain.name })
    const { rows } = await api.pool.query('select state, which from warm where domain_id = $1', [domain.id])
    assert.deepEqual(rows, [{ state: 'reading', which: 'all' }])
  })

  // Proves decided "Purged paths"
  it('200: all: true right after a purge warms the purged page', async () => {
    await storePages(api, domain.id, ['/stored'])
    const purged = await api.post('/api/cache/purge', owner.key, { domain: domain.name, path: '/stored' })
    assert.equal(purged.body['keysDeleted'], 1)
    assert.equal((await hook({ all: true })).status, 200)
    const known = await nextKnownPages(api.pool, domain.id, '', 10)
    assert.deepEqual(known, [{ path: '/stored', stored: null, changedAtMs: null }])
  })

  // Proves interface 4.3/5, interface 4.3/10, decided "Webhook, mixed paths"
  // Proves decided "Invalid paths"
  it('200: of mixed paths the valid ones are queued and the others listed', async () => {
    const { body } = await hook({
      urls: ['/a', 'b', '/a', '', 5, null, { '/': 1 }, '/c\0', '//evil.example'],
    })
    assert.equal(body['pagesQueued'], 1)
    assert.deepEqual(body['ignored'], ['b', '', '5', 'null', '{"/":1}', '/c\0', '//evil.example'])
    assert.deepEqual(
      (await jobs()).map(({ path }) => path),
      ['/a'],
    )
  })

  // Proves interface 4.3/6, interface 4.3/10, interface 8/5, decided "Webhook, more than 20"
  it('200: 20 paths are taken, 21 are not', async () => {
    const urls = Array.from({ length: 21 }, (_, n) => `/p${n}`)
    assert.equal((await hook({ urls: urls.slice(0, 20) })).body['pagesQueued'], 20)
    for (const many of [urls, Array(21).fill('/'), Array(21).fill('x')]) {
      const { status, body } = await hook({ urls: many })
      assert.deepEqual([status, body], [400, { error: 'Too many URLs (maximum 20 per request)' }])
    }
  })

  describe('400', () => {
    const cases: [string, unknown, string][] = [
      // Proves interface 7/8
      ['no body', undefined, NO_BODY],
      // Proves interface 7/8
      ['an empty body', {}, NO_BODY],
      ['null', 'null', NO_BODY],
      ['an array', ['/'], NO_BODY],
      ['a string', '"/"', NO_BODY],
      // Proves interface 4.3/10, decided "Webhook, `urls` and `all` both"
      ['both', { urls: ['/'], all: true }, NO_BODY],
      ['both, one empty', { urls: [], all: true }, NO_BODY],
      ['all that is not true', { all: 'true' }, NO_BODY],
      ['all that is false', { all: false }, NO_BODY],
      // Proves interface 4.3/4
      ['urls that is no array', { urls: '/a' }, NO_BODY],
      // Proves decided "Empty `urls`"
      ['no urls', { urls: [] }, NO_PATHS],
      // Proves interface 4.3/5, interface 7/9
      ['no path among the urls', { urls: ['a', 'https://x.example/', 5] }, NO_PATHS],
      ['broken JSON', '{"urls": ["/"', 'Invalid JSON body'],
    ]
    for (const [name, body, error] of cases) {
      it(name, async () => {
        const answer = await hook(body)
        assert.deepEqual([answer.status, answer.body], [400, { error }])
        assert.deepEqual(await jobs(), [])
      })
    }
  })

  // Proves interface 4/2, interface 5/6, interface 7/10
  it('401: no Bearer token', async () => {
    const headers: Record<string, string>[] = [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: 'Bearer ' },
      { authorization: token },
      { authorization: `Basic ${token}` },
      { authorization: `Bearer ${token} ${token}` },
      { 'x-api-key': owner.key },
      { 'x-webhook-token': token },
    ]
    for (const each of headers) {
      const { status, body } = await api.call('POST', '/api/webhook/refresh', {
        headers: each,
        body: { all: true },
      })
      assert.deepEqual([status, body], [401, { error: 'Missing or invalid Authorization header' }])
    }
    const lower = await api.call('POST', '/api/webhook/refresh', {
      headers: { authorization: `bearer ${token}` },
      body: { urls: ['/'] },
    })
    assert.equal(lower.status, 200)
  })

  // Proves interface 3/2, interface 5/10, interface 7/11
  it('401: a token that is unknown or revoked, from the next request on; an API key is no token', async () => {
    assert.equal((await hook({ urls: ['/'] })).status, 200)
    const [{ id } = { id: 0 }] = await listTokens(api.pool, owner.id, domain.name)
    await revokeToken(api.pool, owner.id, id, api.clock.nowMs())
    for (const wrong of [token, `${token}x`, 'pp_wh_', 'x', owner.key]) {
      const { status, body } = await hook({ urls: ['/'] }, wrong)
      assert.deepEqual([status, body], [401, { error: 'Invalid token' }])
    }
  })

  it('401: a token is no API key', async () => {
    const { status, body } = await api.get('/api/domains', token)
    assert.deepEqual([status, body], [401, { error: 'Invalid API key' }])
  })

  // Proves interface 5/7, interface 7/13
  it('403: a plan without webhooks, from the next request on, and back', async () => {
    await setPlan(api.pool, PLANS, owner.id, 'agency')
    const { status, body } = await hook({ urls: ['/'] })
    assert.deepEqual([status, body], [403, { error: 'Webhook refresh requires Agency+ plan' }])
    await setPlan(api.pool, PLANS, owner.id, 'enterprise')
    assert.equal((await hook({ urls: ['/'] })).status, 200)
  })

  // Proves interface 3/6, interface 7/12, decided "Inactive domain"
  it('403: a domain that is not active', async () => {
    await updateDomain(api.pool, owner.id, domain.name, { isActive: false }, view())
    const { status, body } = await hook({ urls: ['/'] })
    assert.deepEqual([status, body], [403, { error: 'Domain is not active' }])
  })

  // Proves interface 7/14, interface 8/8
  it('403: the month is used up at 100 %, and begins anew', async () => {
    await use(6)
    assert.equal((await hook({ urls: ['/'] })).status, 200)
    await use(7)
    for (const body of [{ urls: ['/'] }, { all: true }]) {
      const answer = await hook(body)
      assert.deepEqual([answer.status, answer.body], [403, { error: 'Monthly render limit reached' }])
    }
    assert.equal((await api.pool.query('select from warm where domain_id = $1', [domain.id])).rowCount, 0)
    api.clock.atMs = Date.parse('2026-11-30T23:59:59.999Z')
    assert.equal((await hook({ urls: ['/'] })).status, 403)
    api.clock.atMs = Date.parse('2026-12-01T00:00:00.000Z')
    assert.equal((await hook({ urls: ['/'] })).status, 200)
  })

  // Proves interface 7/15, interface 8/3, decided "429"
  it('429: an eleventh request within the hour, whatever its token, and when to come again', async () => {
    const second = await newToken()
    for (let n = 0; n < 10; n++) {
      assert.equal((await hook({ urls: ['/'] }, n % 2 ? token : second)).status, 200)
      api.clock.atMs += 1_000
    }
    for (const each of [token, second]) {
      const { status, body, headers } = await hook({ urls: ['/'] }, each)
      assert.deepEqual([status, body], [429, { error: RATE }])
      assert.equal(headers.get('retry-after'), '3590')
    }
    api.clock.atMs = TEST_START_MS + 3_600_000 - 1
    assert.equal((await hook({ urls: ['/'] })).headers.get('retry-after'), '1')
    api.clock.atMs = TEST_START_MS + 3_600_000
    assert.equal((await hook({ urls: ['/'] })).status, 200)
  })

  // Proves interface 4.3/9
  it('429: requests that fail validation count, whatever is wrong with them', async () => {
    await use(7)
    const bodies = [
      undefined,
      {},
      '{',
      { urls: [] },
      { urls: ['x'] },
      { urls: Array(21).fill('/') },
      { urls: ['/'] },
    ]
    for (const body of bodies) assert.notEqual((await hook(body)).status, 429)
    const text = { headers: { 'content-type': 'text/plain' }, body: 'x', token }
    assert.equal((await api.call('POST', '/api/webhook/refresh', text)).status, 415)
    assert.equal((await hook('x'.repeat(1_048_577))).status, 413)
    assert.equal((await hook({ all: false })).status, 400)
    assert.equal((await hook({ urls: ['/'] })).status, 429)
  })

  // Proves decided "Webhook, order of checks"
  it('429: requests that are refused before the rate check do not count', async () => {
    await hook({ urls: ['/'] }, 'pp_wh_wrong')
    await updateDomain(api.pool, owner.id, domain.name, { isActive: false }, view())
    for (let n = 0; n < 12; n++) assert.equal((await hook({ urls: ['/'] })).status, 403)
    await updateDomain(api.pool, owner.id, domain.name, { isActive: true }, view())
    await setPlan(api.pool, PLANS, owner.id, 'agency')
    for (let n = 0; n < 12; n++) assert.equal((await hook({ urls: ['/'] })).status, 403)
    await setPlan(api.pool, PLANS, owner.id, 'agency_plus')
    for (let n = 0; n < 10; n++) assert.equal((await hook({ urls: ['/'] })).status, 200)
    assert.equal((await hook({ urls: ['/'] })).status, 429)
  })

  // Proves interface 8/3
  it('429: of 50 at once, 10 get through', async () => {
    const statuses = (await Promise.all(Array.from({ length: 50 }, () => hook({ urls: ['/'] })))).map(
      ({ status }) => status,
    )
    assert.deepEqual(
      [200, 429].map((wanted) => statuses.filter((status) => status === wanted).length),
      [10, 40],
    )
  })

  // Proves decided "Webhook, order of checks"
  it('the order of checks: each is told before all that come after it', async () => {
    // Everything is wrong at first; then the earliest mistake is mended, one after the other.
    await use(7)
    await setPlan(api.pool, PLANS, owner.id, 'pro')
    await updateDomain(api.pool, owner.id, domain.name, { isActive: false }, view())
    await api.pool.query('insert into webhook_window values ($1, $2, 10)', [
      domain.id,
      new Date(api.clock.nowMs()),
    ])
    const told = async (withToken: string | undefined, body: unknown) => (await hook(body, withToken)).status

    const noHeader = await api.call('POST', '/api/webhook/refresh', { body: '{' })
    assert.equal(noHeader.body['error'], 'Missing or invalid Authorization header')
    assert.equal(await told('pp_wh_wrong', '{'), 401)
    assert.equal((await hook('{')).body['error'], 'Webhook refresh requires Agency+ plan')
    await setPlan(api.pool, PLANS, owner.id, 'agency_plus')
    assert.equal((await hook('{')).body['error'], 'Domain is not active')
    await updateDomain(api.pool, owner.id, domain.name, { isActive: true }, view())
    assert.equal((await hook('{')).body['error'], RATE)
    await api.pool.query('delete from webhook_window')
    assert.equal((await hook('{')).body['error'], 'Invalid JSON body')
    assert.equal((await hook({ urls: ['x'] })).body['error'], NO_PATHS)
    assert.equal((await hook({ urls: ['/'] })).body['error'], 'Monthly render limit reached')
    await use(0)
    assert.equal(await told(token, { urls: ['/'] }), 200)
  })
})
