import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import {
  startTestApi,
  type TestAccount,
  type TestApi,
  testIntegrations,
  testVault,
} from '../../../test/support/api.ts'
import { until } from '../../../test/support/condition.ts'
import { setPlan } from '../../accounts/accounts.ts'
import { createKey, createToken, listKeys, revokeKey } from '../../accounts/keys.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { createClientReader } from '../../http/client-address.ts'
import { silentLog } from '../../log.ts'
import { createApiServer } from '../server.ts'

let api: TestApi
let owner: TestAccount
before(async () => {
  api = await startTestApi()
  owner = await api.account()
  await api.domain(owner, 'shop.example.com')
})
after(() => api.close())

const path = (url: string) => url.replace('{domain}', 'shop.example.com').replace('{jobId}', 'x')
const guarded = (security: string) => api.contract.operations.filter((each) => each.security === security)

/** Each route that needs a key, once with what `request` makes of it. */
async function everyKeyRoute(request: { key?: string; token?: string }, expected: [number, string]) {
  const routes = guarded('ApiKey')
  assert(routes.length >= 12)
  for (const { method, url } of routes) {
    const { status, body } = await api.call(method, path(url), {
      ...request,
      body: method === 'GET' ? undefined : '{',
    })
    assert.deepEqual([status, body['error']], expected, `${method} ${url}`)
  }
}

describe('API key', () => {
  // Proves interface 4/1, interface 5/1, interface 5/2, interface 5/11
  it('401 on every route but the webhook: no header, or an empty one, whatever the body holds', async () => {
    await everyKeyRoute({}, [401, 'API key required'])
    await everyKeyRoute({ key: '' }, [401, 'API key required'])
  })

  // Proves interface 5/12
  it('401 on every route: an unknown key', async () => {
    await everyKeyRoute({ key: 'pp_live_unknown' }, [401, 'Invalid API key'])
    await everyKeyRoute({ key: `${owner.key}, ${owner.key}` }, [401, 'Invalid API key'])
  })

  // Proves interface 5/6, interface 5/10
  it('401 on every route: a webhook token is no key, in either header', async () => {
    const { token } = await createToken(api.pool, owner.id, 'shop.example.com' as never, 't', DEFAULT_PLANS)
    await everyKeyRoute({ key: token }, [401, 'Invalid API key'])
    await everyKeyRoute({ token }, [401, 'API key required'])
    await everyKeyRoute({ token: owner.key }, [401, 'API key required'])
  })

  // Proves interface 5/3, interface 5/13, decided "API key on a plan without API access"
  // Proves decided "Keys and tokens on a plan without them"
  it('403 on every route: a plan without API access, from the next request on, and back', async () => {
    const account = await api.account('agency')
    assert.equal((await api.get('/api/domains', account.key)).status, 200)
    for (const plan of ['pro', 'starter']) {
      await setPlan(api.pool, DEFAULT_PLANS, account.id, plan)
      await everyKeyRoute({ key: account.key }, [403, 'API access requires Agency plan or above'])
    }
    for (const plan of ['agency', 'agency_plus', 'enterprise']) {
      await setPlan(api.pool, DEFAULT_PLANS, account.id, plan)
      assert.equal((await api.get('/api/domains', account.key)).status, 200)
    }
  })

  // Proves interface 3/2, interface 5/12
  it('401 from the request after its revocation on; the other keys of the account go on', async () => {
    const now = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    const { id, key } = await createKey(api.pool, owner.id, { name: 'second', expiresAt: null }, now)
    assert.equal((await api.get('/api/domains', key)).status, 200)
    await revokeKey(api.pool, owner.id, id, api.clock.nowMs())
    const { status, body } = await api.get('/api/domains', key)
    assert.deepEqual([status, body], [401, { error: 'Invalid API key' }])
    assert.equal((await api.get('/api/domains', owner.key)).status, 200)
  })

  // Proves interface 2/22, interface 3/3, interface 5/12
  it('401 from its expiry on, to the millisecond', async () => {
    const account = await api.account()
    const now = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    const expiresAt = new Date(now.nowMs + 60_000)
    const { key } = await createKey(api.pool, account.id, { name: 'brief', expiresAt }, now)
    api.clock.atMs += 59_999
    assert.equal((await api.get('/api/domains', key)).status, 200)
    api.clock.atMs += 1
    assert.deepEqual((await api.get('/api/domains', key)).body, { error: 'Invalid API key' })
  })

  // Proves interface 2/20
  it('a use is noted in last_used_at', async () => {
    const account = await api.account()
    await api.get('/api/domains', account.key)
    const used = async () => (await listKeys(api.pool, account.id, api.clock.nowMs()))[0]!.last_used_at
    await until('it is noted', async () => (await used()) !== null)
    assert.equal(await used(), new Date(api.clock.nowMs()).toISOString())
  })

  // Proves interface 1/8
  it('200: 500 requests at once, all with one key: nobody counts requests per second', async () => {
    const account = await api.account()
    const answers = await Promise.all(
      Array.from({ length: 500 }, () => api.get('/api/cache/stats', account.key)),
    )
    assert(answers.every(({ status }) => status === 200))
  })

  // Proves interface 2/6
  it('a plan that is changed upwards and downwards changes limits at once; what exists stays', async () => {
    const account = await api.account('agency')
    await api.domain(account, 'plans.example.com')
    const limit = async () =>
      ((await api.get('/api/domains', account.key)).body['domains'] as Record<string, unknown>[])[0]![
        'monthly_render_limit'
      ]
    assert.equal(await limit(), 50_000)
    await setPlan(api.pool, DEFAULT_PLANS, account.id, 'enterprise')
    assert.equal(await limit(), 1_000_000)
    await setPlan(api.pool, DEFAULT_PLANS, account.id, 'agency')
    assert.equal(await limit(), 50_000)
  })
})

// Proves interface 5/2
it('routes that need no key: signing in, confirming an address, and the state of a node', () => {
  assert.deepEqual(
    api.contract.operations
      .filter(({ security }) => security === null)
      .map(({ method, url }) => `${method} ${url}`),
    [
      'POST /api/notifications/confirm',
      'POST /api/session',
      'GET /api/password-reset',
      'POST /api/password-reset',
      'POST /api/links/read',
      'POST /api/links/use',
      'GET /healthz',
      'GET /readyz',
    ],
  )
  assert.deepEqual(
    guarded('WebhookToken').map(({ url }) => url),
    ['/api/webhook/refresh'],
  )
})

// Proves interface 5/14
it('500 at authentication when the database is away: an error body, and nothing of what went wrong', async () => {
  const pool = new pg.Pool({ host: '/nowhere', password: 'very-secret' })
  const ready = { ready: false, state: 'serving', database: 'unreachable', browser: 'none' } as const
  const app = await createApiServer({
    pool,
    plans: DEFAULT_PLANS,
    clock: api.clock,
    log: silentLog(),
    checkEndpoint: async () => ({ ok: true }),
    checkOrigin: async () => ({ ok: false, reason: 'not asked' }),
    integrations: testIntegrations,
    vault: testVault(pool),
    readClient: createClientReader([]),
    caughtUp: async () => {},
    checkReadiness: async () => ready,
    version: '0.0.0-test',
    publicUrl: null,
    contact: null,
  })
  try {
    const requests = [
      { method: 'GET', url: '/api/domains', headers: { 'x-api-key': owner.key } },
      { method: 'POST', url: '/api/webhook/refresh', headers: { authorization: 'Bearer pp_wh_x' } },
    ] as const
    for (const request of requests) {
      const response = await app.inject(request)
      assert.equal(response.statusCode, 500)
      assert.deepEqual(response.json(), { error: 'Internal error' })
    }
    // What needs no database is still answered.
    assert.equal((await app.inject({ method: 'GET', url: '/api/domains' })).statusCode, 401)
    assert.equal((await app.inject({ method: 'GET', url: '/healthz' })).statusCode, 200)
  } finally {
    await app.close()
    await pool.end()
  }
})
