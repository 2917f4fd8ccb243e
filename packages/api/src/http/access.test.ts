import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createPool } from '@prepaint/postgres/database.ts'
import { NO_CLIENT_LIMITS } from '@prepaint/runtime/http/client-limits.ts'
import { silentLog } from '@prepaint/runtime/log.ts'
import { setPlan } from '@prepaint/service/accounts/accounts.ts'
import { createKey, createToken, listKeys, revokeKey } from '@prepaint/service/accounts/keys.ts'
import ipaddr from 'ipaddr.js'
import { pino } from 'pino'
import { assertAnswer, openApi, testVault, valuesOf } from '../../../../test/support/api.ts'
import { until } from '../../../../test/support/condition.ts'
import { openSocket } from '../../../../test/support/loopback.ts'
import { assertError, rawRequest } from '../../../../test/support/raw-request.ts'
import { createApiServer } from '../server.ts'
import { WINDOW_SECONDS } from './failed-attempts.ts'
import { checkOperator } from './session-access.ts'

const api = await openApi()
const owner = await api.account()
const shop = await api.domain(owner, 'shop.example.com')
const { token } = await createToken(api.pool, owner.id, shop.name, 't', DEFAULT_PLANS)

const guarded = (security: string) => api.contract.operations.filter((each) => each.security === security)
const newKey = (expiresAt: Date | null = null) =>
  createKey(api.pool, owner.id, { name: 'k', expiresAt }, { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() })
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

// Proves interface 4/1, interface 5/1, interface 5/2, interface 5/11
it('API key: 401 on every route but the webhook: no header, or an empty one, whatever the body holds', async () => {
  await everyKeyRoute({}, 401, 'API key required')
  await everyKeyRoute({ key: '' }, 401, 'API key required')
})

// Proves interface 5/6, interface 5/10, interface 5/12
it('API key: 401 on every route: an unknown key; a webhook token is no key, in either header', async () => {
  await everyKeyRoute({ key: 'pp_live_unknown' }, 401, 'Invalid API key')
  await everyKeyRoute({ key: token }, 401, 'Invalid API key')
  await everyKeyRoute({ token }, 401, 'API key required')
})

// Proves interface 5/3, interface 5/13, decided "API key on a plan without API access"
// Proves decided "Keys and tokens on a plan without them"
it('API key: 403 on every route: a plan without API access, from the next request on, and back', async () => {
  const account = await api.account('agency')
  await setPlan(api.pool, DEFAULT_PLANS, account.id, 'pro')
  await everyKeyRoute({ key: account.key }, 403, 'API access requires Agency plan or above')
  await setPlan(api.pool, DEFAULT_PLANS, account.id, 'agency')
  assert.equal((await domains(account.key)).status, 200)
})

// Proves interface 2/22, interface 3/2, interface 3/3, interface 5/12
it('API key: 401 from the request after its revocation on, and from its expiry on, to the millisecond', async () => {
  const { id, key } = await newKey()
  assert.equal((await domains(key)).status, 200)
  await revokeKey(api.pool, owner.id, id, api.clock.nowMs())
  assertAnswer(await domains(key), 401, 'Invalid API key')
  const expiring = await newKey(new Date(api.clock.nowMs() + 60_000))
  api.clock.atMs += 59_999
  assert.equal((await domains(expiring.key)).status, 200)
  api.clock.atMs += 1
  assertAnswer(await domains(expiring.key), 401, 'Invalid API key')
  assert.equal((await domains(owner.key)).status, 200)
})

// Proves interface 2/20
it('API key: a use is noted in last_used_at', async () => {
  const account = await api.account()
  await domains(account.key)
  const used = async () => (await listKeys(api.pool, account.id, api.clock.nowMs()))[0]!.last_used_at
  assert.equal(await until('it is noted', used), new Date(api.clock.nowMs()).toISOString())
})

// Proves interface 1/8
it('API key: 200: 500 requests at once with one key: nobody counts requests per second', async () => {
  // Of a route that is not heavy: of others, an account has a share.
  const requests = Array.from({ length: 500 }, () => api.get('/api/plan', owner.key))
  const others = (await Promise.all(requests)).filter(({ status }) => status !== 200)
  assert.deepEqual(others, [])
})

// Proves interface 5/2
it('routes that need no key: signing in, confirming an address, logos, and the state of a node', () => {
  const open = api.contract.operations.filter(({ security }) => security === null)
  assert.equal(
    open.map(({ method, url }) => `${method} ${url}`).join(', '),
    'POST /api/notifications/confirm, POST /api/session, POST /api/session/sso, POST /api/session/second-factor, ' +
      'POST /api/session/passkey/options, POST /api/session/passkey, GET /api/password-reset, POST /api/password-reset, ' +
      'POST /api/person/email/confirm, POST /api/links/read, POST /api/links/use, GET /logos/{key}, GET /healthz, GET /readyz, GET /readyz/edge',
  )
  assert.deepEqual(valuesOf(guarded('WebhookToken'), 'url'), ['/api/webhook/refresh'])
})

// Proves interface 5/14
it('503 at authentication while the database is away: nothing of what went wrong is told, and no secret is logged', async () => {
  const { key } = await newKey()
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) })
  const away = createPool({ host: '/nowhere', user: 'u', password: 'database-password' }, silentLog())
  for (const pool of [api.pool, away]) {
    const app = await createApiServer(
      { ...api.parts, pool, accessDb: pool, vault: testVault(pool), log },
      api.options,
    )
    const headers = { 'x-api-key': key, authorization: `Bearer ${token}`, cookie: 'session=cookie-secret' }
    const ask = (method: 'GET' | 'POST', url: string, payload = '') =>
      app.inject({ method, url, headers: { ...headers, 'content-type': 'application/json' }, payload })
    const body = `{"origin_url": "https://user:body-secret@x.example.com", "x": "${key}"`
    for (const answer of [
      await ask('GET', `/api/domains?api_key=${key}`),
      await ask('POST', `/api/webhook/refresh?token=${token}`, body),
      await ask('POST', '/api/domains', body),
    ]) {
      if (pool === away) {
        const error = 'Database is unavailable, try again later'
        assert.deepEqual([answer.statusCode, answer.json()], [503, { error }])
        assert.equal(answer.headers['retry-after'], '5')
      }
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

describe('the check of operators', () => {
  const TOKEN = 'a-token-of-the-operator'
  const check = (address: string | undefined, headers: IncomingHttpHeaders, token: string | null) => () =>
    checkOperator({ headers, socket: { remoteAddress: address } }, token)

  it('without a token: this machine may, no other, and nobody who comes through a proxy', () => {
    for (const address of ['127.8.9.1', '::1', '::ffff:127.0.0.1']) check(address, {}, null)()
    for (const address of ['10.0.0.1', '::ffff:10.0.0.1', '::2', undefined])
      assert.throws(check(address, {}, null), { code: 'not_found' }, address)
    const forwarding = 'x-forwarded-for forwarded via x-real-ip x-forwarded-proto x-forwarded-host'
    for (const name of forwarding.split(' '))
      assert.throws(check('127.0.0.1', { [name]: '203.0.113.5' }, null), { code: 'not_found' }, name)
  })

  it('with a token: whoever brings it, from anywhere; nobody else, this machine neither', () => {
    for (const address of ['127.0.0.1', '203.0.113.5'])
      check(address, { authorization: `Bearer ${TOKEN}` }, TOKEN)()
    const wrong = ['', TOKEN, `Basic ${TOKEN}`, `Bearer ${TOKEN}x`, `Bearer ${TOKEN}, Bearer ${TOKEN}`]
    for (const headers of [{}, ...wrong.map((authorization) => ({ authorization }))])
      assert.throws(check('127.0.0.1', headers, TOKEN), { code: 'invalid_token' }, JSON.stringify(headers))
  })
})

describe('limits of one client address', async () => {
  const MOST = 5
  const api = await openApi({
    clients: {
      ...NO_CLIENT_LIMITS,
      ...{ connections: 3, requests: 2, unlimited: [], failures: MOST },
      trustedProxies: [ipaddr.parseCIDR('127.0.0.1/32')],
    },
  })

  // Proves decided "Client limits"
  it('requests: at the limit answered, one past it 429 in JSON', async () => {
    const answering = Promise.withResolvers<void>()
    api.readiness.held = answering.promise
    const ask = () => rawRequest(api.url, { path: '/readyz', localAddress: '127.0.0.2' })
    const held = [ask(), ask()]
    await until('both are under way', () => api.readiness.asked === 2)
    const refused = await ask()
    assertError(refused, 429, 'Too many requests at once from your address')
    assert.equal(refused.headers['retry-after'], '1')
    assert.equal((await api.get('/healthz')).status, 200)
    answering.resolve()
    for (const { status } of await Promise.all(held)) assert.equal(status, 200)
  })

  // Proves decided "Client limits"
  it('connections: one past the limit is told 429 in JSON', async (t) => {
    const port = Number(new URL(api.url).port)
    const connect = () => openSocket(t, port, { localAddress: '127.0.0.3' })
    for (let at = 0; at < 3; at++) await once(connect(), 'connect')
    assert.match(
      await text(connect()),
      /^HTTP\/1\.1 429 Too Many Requests\r\n.*\{"error":"Too many connections from your address"\}$/s,
    )
    assert.equal((await api.get('/healthz')).status, 200)
  })

  describe('failed attempts of one client', async () => {
    const [owner, later] = [await api.account(), await api.account()]
    let client = 0
    beforeEach(() => void client++)

    const from = (address: string) => ({ 'x-forwarded-for': address })
    const mine = () => from(`203.0.113.${client}`)
    const tryKey = async (key: string, headers = mine()) =>
      (await api.call('GET', '/api/domains', { key, headers })).status
    const wrong = (at: number) => `pp_live_${String(at).padStart(43, 'x')}`
    /** As many failed attempts as are allowed. */
    async function useUp(headers = mine()): Promise<void> {
      for (let at = 0; at < MOST; at++) assert.equal(await tryKey(wrong(at), headers), 401)
    }

    // Proves decided "Client limits"
    it('at the limit 401; one past it 429 with the time that is left, even for a key that is good', async () => {
      const none = await api.call('GET', '/api/domains', { headers: mine() })
      assert.equal(none.status, 401, 'what shows no key is no attempt')
      await useUp()
      api.clock.atMs += 1_000
      const refused = await api.call('GET', '/api/domains', { key: wrong(9), headers: mine() })
      assertAnswer(refused, 429, 'Too many failed attempts, try again later')
      assert.equal(refused.headers.get('retry-after'), String(WINDOW_SECONDS - 1))
      assert.equal(await tryKey(later.key), 429)
      assert.equal((await api.call('GET', '/healthz', { headers: mine() })).status, 200)
      api.clock.atMs += WINDOW_SECONDS * 1_000 - 1_001
      assert.equal(await tryKey(wrong(9)), 429)
      api.clock.atMs += 1
      assert.equal(await tryKey(wrong(1)), 401)
    })

    it('another client is not held up, nor one of IPv6 next to it', async () => {
      await useUp(from(`2001:db8:${client}::1`))
      assert.equal(await tryKey(owner.key, from(`2001:db8:${client}::ffff`)), 429)
      assert.equal(await tryKey(owner.key, from(`2001:db8:${client}:1::1`)), 200)
      assert.equal(await tryKey(owner.key), 200)
    })

    // Proves decided "Client limits"
    it('a key that was good before is checked as ever: behind the same address others go on', async () => {
      assert.equal(await tryKey(owner.key), 200)
      await useUp()
      assert.equal(await tryKey(owner.key), 200)
      await api.pool.query('update api_key set revoked_at = now() where account_id = $1', [owner.id])
      assert.equal(await tryKey(owner.key), 401)
      await api.pool.query('update api_key set revoked_at = null where account_id = $1', [owner.id])
    })

    it('60 wrong keys at once count 60: no more are looked up than may fail', async () => {
      const tried = await Promise.all(Array.from({ length: 60 }, (_, at) => tryKey(wrong(at))))
      const count = (status: number) => tried.filter((each) => each === status).length
      assert.deepEqual([count(401), count(429)], [MOST, 60 - MOST])
    })

    it('the same wrong key beside a request that never looks it up counts each time', async (t) => {
      const body =
        'POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n'
      const address = mine()['x-forwarded-for']
      for (let at = 0; at < MOST; at++) {
        const held = openSocket(t, Number(new URL(api.url).port))
        held.write(
          `${body}X-Forwarded-For: ${address}\r\nX-Api-Key: ${wrong(at)}\r\nExpect: 100-continue\r\n\r\n`,
        )
        const [first] = await once(held, 'data')
        assert.match(String(first), /^HTTP\/1\.1 100 /)
        assert.equal(await tryKey(wrong(at)), 401)
        held.destroy()
        await once(held, 'close')
      }
      assert.equal(await tryKey(wrong(MOST)), 429)
    })

    it('a guess beside a session, or beside a good key, is not taken for good', async () => {
      const cookie = await api.session(owner)
      const beside = async (token: string, shown: object) =>
        (await api.call('GET', '/api/domains', { token, ...shown, headers: mine() })).status
      const asToken = async (token: string, shown = {}) =>
        (await api.call('POST', '/api/webhook/refresh', { token, ...shown, headers: mine(), body: {} }))
          .status
      for (let at = 0; at < MOST; at++) {
        const shown = at % 2 === 0 ? { cookie } : { key: owner.key }
        assert.equal(await beside(wrong(at), shown), 200)
        assert.equal(await asToken(wrong(at), at % 2 === 0 ? {} : shown), 401)
      }
      assert.equal(await asToken(wrong(MOST)), 429)
    })

    it('many requests at once with one good key are no guesses, and take nothing of the limit', async () => {
      const fresh = await api.account()
      const tried = await Promise.all(Array.from({ length: 2 * MOST }, () => tryKey(fresh.key)))
      assert(
        tried.every((status) => status === 200 || status === 429),
        tried.join(),
      )
      assert(tried.includes(200))
      await useUp()
    })

    it('webhook tokens count with them', async () => {
      const hook = async (at: number) => {
        const request = { token: `pp_wh_${wrong(at)}`, headers: mine(), body: {} }
        return (await api.call('POST', '/api/webhook/refresh', request)).status
      }
      for (let at = 0; at < MOST; at++) assert.equal(await hook(at), 401)
      assert.equal(await hook(MOST), 429)
      assert.equal(await tryKey(wrong(1)), 429)
    })
  })
})
