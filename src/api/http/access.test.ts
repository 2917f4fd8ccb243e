import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import pg from 'pg'
import { pino } from 'pino'
import { assertAnswer, openApi, testVault, valuesOf } from '../../../test/support/api.ts'
import { until } from '../../../test/support/condition.ts'
import { setPlan } from '../../accounts/accounts.ts'
import { createKey, createToken, listKeys, revokeKey } from '../../accounts/keys.ts'
import { DEFAULT_PLANS } from '../../accounts/plans.ts'
import { createApiServer } from '../server.ts'

const api = await openApi()
const owner = await api.account()
const shop = await api.domain(owner, 'shop.example.com')
const { token } = await createToken(api.pool, owner.id, shop.name, 't', DEFAULT_PLANS)

const guarded = (security: string) => api.contract.operations.filter((each) => each.security === security)
const newKey = (id = owner.id, expiresAt: Date | null = null) =>
  createKey(api.pool, id, { name: 'k', expiresAt }, { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() })
const domains = (key: string) => api.get('/api/domains', key)

/** Each route that needs a key, once with what `request` makes of it. */
async function everyKeyRoute(request: { key?: string; token?: string }, status: number, error: string) {
  const routes = guarded('ApiKey')
  assert(routes.length >= 12)
  for (const { method, url } of routes) {
    const path = url.replace('{domain}', shop.name).replace('{jobId}', 'x')
    const body = method === 'GET' ? undefined : '{'
    assertAnswer(await api.call(method, path, { ...request, body }), status, error)
  }
}

describe('API key', () => {
  // Proves interface 4/1, interface 5/1, interface 5/2, interface 5/11
  it('401 on every route but the webhook: no header, or an empty one, whatever the body holds', async () => {
    await everyKeyRoute({}, 401, 'API key required')
    await everyKeyRoute({ key: '' }, 401, 'API key required')
  })

  // Proves interface 5/12
  it('401 on every route: an unknown key', async () => {
    await everyKeyRoute({ key: 'pp_live_unknown' }, 401, 'Invalid API key')
    await everyKeyRoute({ key: `${owner.key}, ${owner.key}` }, 401, 'Invalid API key')
  })

  // Proves interface 5/6, interface 5/10
  it('401 on every route: a webhook token is no key, in either header', async () => {
    await everyKeyRoute({ key: token }, 401, 'Invalid API key')
    await everyKeyRoute({ token }, 401, 'API key required')
    await everyKeyRoute({ token: owner.key }, 401, 'API key required')
  })

  // Proves interface 5/3, interface 5/13, decided "API key on a plan without API access"
  // Proves decided "Keys and tokens on a plan without them"
  it('403 on every route: a plan without API access, from the next request on, and back', async () => {
    const account = await api.account('agency')
    for (const plan of ['pro', 'starter']) {
      await setPlan(api.pool, DEFAULT_PLANS, account.id, plan)
      await everyKeyRoute({ key: account.key }, 403, 'API access requires Agency plan or above')
    }
    for (const plan of ['agency', 'agency_plus', 'enterprise']) {
      await setPlan(api.pool, DEFAULT_PLANS, account.id, plan)
      assert.equal((await domains(account.key)).status, 200)
    }
  })

  // Proves interface 3/2, interface 5/12
  it('401 from the request after its revocation on; the other keys of the account go on', async () => {
    const { id, key } = await newKey()
    assert.equal((await domains(key)).status, 200)
    await revokeKey(api.pool, owner.id, id, api.clock.nowMs())
    assertAnswer(await domains(key), 401, 'Invalid API key')
    assert.equal((await domains(owner.key)).status, 200)
  })

  // Proves interface 2/22, interface 3/3, interface 5/12
  it('401 from its expiry on, to the millisecond', async () => {
    const { key } = await newKey(owner.id, new Date(api.clock.nowMs() + 60_000))
    api.clock.atMs += 59_999
    assert.equal((await domains(key)).status, 200)
    api.clock.atMs += 1
    assertAnswer(await domains(key), 401, 'Invalid API key')
  })

  // Proves interface 2/20
  it('a use is noted in last_used_at', async () => {
    const account = await api.account()
    await domains(account.key)
    const used = async () => (await listKeys(api.pool, account.id, api.clock.nowMs()))[0]!.last_used_at
    assert.equal(await until('it is noted', used), new Date(api.clock.nowMs()).toISOString())
  })

  // Proves interface 1/8
  it('200: 500 requests at once with one key: nobody counts requests per second', async () => {
    const requests = Array.from({ length: 500 }, () => api.get('/api/cache/stats', owner.key))
    assert((await Promise.all(requests)).every(({ status }) => status === 200))
  })

  // Proves interface 2/6
  it('a plan that is changed upwards and downwards changes limits at once; what exists stays', async () => {
    const account = await api.account('agency')
    await api.domain(account, 'plans.example.com')
    for (const [plan, limit] of [
      ['enterprise', 1_000_000],
      ['agency', 50_000],
    ] as const) {
      await setPlan(api.pool, DEFAULT_PLANS, account.id, plan)
      const { body } = await domains(account.key)
      assert.deepEqual(valuesOf(body['domains'], 'monthly_render_limit'), [limit])
    }
  })
})

// Proves interface 5/2
it('routes that need no key: signing in, confirming an address, and the state of a node', () => {
  const open = api.contract.operations.filter(({ security }) => security === null)
  assert.deepEqual(
    open.map(({ method, url }) => `${method} ${url}`),
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
  assert.deepEqual(valuesOf(guarded('WebhookToken'), 'url'), ['/api/webhook/refresh'])
})

// Proves interface 5/14
it('500 at authentication when the database is away: nothing of what went wrong is told, and no secret is logged', async () => {
  const { key } = await newKey()
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  const away = new pg.Pool({ host: '/nowhere', user: 'u', password: 'database-password' })
  for (const pool of [api.pool, away]) {
    const app = await createApiServer({ ...api.deps, pool, vault: testVault(pool), log })
    const headers = { 'x-api-key': key, authorization: `Bearer ${token}`, cookie: 'session=cookie-secret' }
    const ask = (method: 'GET' | 'POST', url: string, payload = '') =>
      app.inject({ method, url, headers: { ...headers, 'content-type': 'application/json' }, payload })
    const body = `{"origin_url": "https://user:body-secret@x.example.com", "x": "${key}"`
    const answers = [
      await ask('GET', `/api/domains?api_key=${key}`),
      await ask('POST', `/api/webhook/refresh?token=${token}`, body),
      await ask('GET', `/api/jobs/${key}`),
      await ask('POST', '/api/domains', body),
    ]
    for (const answer of pool === away ? answers : []) {
      assert.deepEqual([answer.statusCode, answer.json()], [500, { error: 'Internal error' }])
    }
    await ask('GET', `/nothing/${key}`)
    // What needs no database is still answered.
    assert.equal((await app.inject({ url: '/api/domains' })).statusCode, 401)
    assert.equal((await app.inject({ url: '/healthz' })).statusCode, 200)
    await app.close()
  }
  await away.end()
  const written = lines.join('')
  assert.match(written, /"route":"\/api\/domains"/)
  assert.match(written, /"route":"\/api\/webhook\/refresh".*ENOENT/)
  for (const secret of [key, token, 'cookie-secret', 'body-secret', 'database-password']) {
    assert(!written.includes(secret), `${secret} stands in the log`)
  }
})
