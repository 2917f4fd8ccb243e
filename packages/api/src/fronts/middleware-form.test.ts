import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, describe, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { ClientGate, NO_CLIENT_LIMITS } from '@prepaint/runtime/http/client-limits.ts'
import { setPlan } from '@prepaint/service/accounts/accounts.ts'
import { createKey, revokeKey } from '@prepaint/service/accounts/keys.ts'
import { LastUse } from '@prepaint/service/accounts/last-use.ts'
import { FrontAccountIds } from '@prepaint/service/fronts/front-secret.ts'
import { createSiteToken, revokeSiteToken } from '@prepaint/service/fronts/site-tokens.ts'
import { deleteDomain } from '@prepaint/service/sites/domain-changes.ts'
import { assertAnswer, openApi } from '../../../../test/support/api.ts'
import { until } from '../../../../test/support/condition.ts'
import { openSocket, serve } from '../../../../test/support/loopback.ts'
import { assertError, rawRequest } from '../../../../test/support/raw-request.ts'
import { FailedAttempts } from '../http/failed-attempts.ts'
import { KnownRoutes } from '../http/known-routes.ts'
import { createApiServer } from '../server.ts'
import { MiddlewareForm } from './middleware-form.ts'

const api = await openApi()
const owner = await api.account()
const shop = await api.domain(owner, 'shop.example.com')
const other = await api.account()
await api.domain(other, 'other.example.com')

const PAGE = '/https://shop.example.com/blog/post-1'
const UUID = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

type Headers = Record<string, string>
const send = (path: string, headers: Headers = {}, method = 'GET', base = api.url) =>
  rawRequest(base, { method, path, headers })
const ask = (path: string, key: string, headers: Headers = {}, method = 'GET') =>
  send(path, { 'x-prerender-token': key, ...headers }, method)

type Sent = Awaited<ReturnType<typeof send>>

function assertRefused(answer: Sent, status: number, reason: string, retryAfter?: string): void {
  const { headers, text } = answer
  assert.deepEqual(
    [answer.status, headers['x-prerender-reject-reason'], headers['retry-after'], text],
    [status, reason, retryAfter, ''],
  )
  assert.equal(headers['cache-control'], 'no-store')
  assert.equal(headers['x-prepaint'], undefined)
  assert.match(String(headers['x-prerender-requestid']), /^[\w.:+/=@-]{1,128}$/)
}

/** What one answer tells beside the IDs of requests. */
function tellsBesideIds({ status, headers, text }: Sent): unknown {
  const { 'x-prerender-requestid': _, date: __, ...others } = headers
  return { status, others, text }
}

const newKey = (expiresAt: Date | null = null) =>
  createKey(api.pool, owner.id, { name: 'k', expiresAt }, { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() })
const newToken = (account = owner, domain = shop) =>
  createSiteToken(api.pool, account.id, domain.name, { author: 'a', nowMs: api.clock.nowMs() })

describe('the scenarios that prerender.io asks of providers', () => {
  const REQUEST_ID = '11111111-2222-4333-8444-555555555555'
  const from = {
    'x-prerender-int-type': 'Koa',
    'x-prerender-int-version': '1.0.0',
    'user-agent': 'Googlebot',
  }
  const named = { ...from, 'x-prerender-request-id': REQUEST_ID }

  it('a valid key and a valid URL give 200, HTML in UTF-8, the ID of the request, and one of the account', async () => {
    const { status, headers } = await ask(PAGE, owner.key, named)
    assert.equal(status, 200)
    assert.match(headers['content-type'] ?? '', /^text\/html; ?charset=utf-8$/i)
    assert.equal(headers['x-prerender-requestid'], REQUEST_ID)
    assert.match(String(headers['x-prerender-user-id']), /^[\da-f]{16}$/)
  })

  // Proves decided "Middleware integration, refusals"
  it('a request without a key is refused with 403', async () => {
    const answer = await send(PAGE, named)
    assertRefused(answer, 403, 'no-x-prerender-token-provided')
    assert.equal(answer.headers['x-prerender-requestid'], REQUEST_ID)
    assert.equal(answer.headers['x-prerender-user-id'], undefined)
    assertRefused(await ask(PAGE, '', named), 403, 'no-x-prerender-token-provided')
  })

  // Proves decided "Middleware integration, refusals"
  it('a key that never was one of ours is refused with 401', async () => {
    for (const key of ['definitely-not-a-real-token-aaaaaaaaaaaaa', 'pp_live_wrong', 'pp_site_wrong']) {
      assertRefused(await ask(PAGE, key, named), 401, 'invalid-x-prerender-token-provided')
    }
  })

  it('a path that is no URL is refused with 404, if it is no route of ours and the request names a key or a middleware', async () => {
    assertRefused(await ask('/not-a-url', owner.key, named), 404, 'url-invalid')
    assertRefused(await send('/not-a-url', from), 403, 'no-x-prerender-token-provided')
    assertError(await send('/not-a-url', { 'user-agent': 'Googlebot' }), 404, 'Not found')
    assert.equal((await ask('/healthz', owner.key, named)).status, 200)
  })

  // Proves decided "Middleware integration, IDs"
  it('an ID is made for a request that has none, or one that is no ID', async () => {
    const ids = new Set<unknown>()
    const givens: Headers[] = [
      {},
      { 'x-prerender-request-id': 'x'.repeat(129) },
      { 'x-prerender-request-id': 'a b' },
    ]
    for (const given of givens) {
      const { headers } = await ask(PAGE, owner.key, given)
      assert.match(String(headers['x-prerender-requestid']), UUID)
      ids.add(headers['x-prerender-requestid'])
    }
    assert.equal(ids.size, 3)
    for (const given of ['x', 'x'.repeat(128), 'aZ09_.:+/=@-']) {
      const { headers } = await ask(PAGE, owner.key, { 'x-prerender-request-id': given })
      assert.equal(headers['x-prerender-requestid'], given)
    }
  })
})

describe('the key of a front', () => {
  // Proves decided "Middleware integration, IDs"
  it('the ID of the account is the same for all its keys, and another one for another account', async () => {
    const idOf = async (key: string, host = 'shop') =>
      (await ask(`/https://${host}.example.com/`, key)).headers['x-prerender-user-id']
    const { key } = await newKey()
    const { token } = await newToken()
    const id = await idOf(owner.key)
    assert.deepEqual([await idOf(key), await idOf(token)], [id, id])
    assert.notEqual(await idOf(other.key, 'other'), id)
  })

  it('X-Api-Key counts where X-Prerender-Token is missing or empty, and not beside it', async () => {
    assert.equal((await send(PAGE, { 'x-api-key': owner.key })).status, 200)
    assert.equal((await ask(PAGE, '', { 'x-api-key': owner.key })).status, 200)
    const wrong = await ask(PAGE, 'wrong', { 'x-api-key': owner.key })
    assertRefused(wrong, 401, 'invalid-x-prerender-token-provided')
  })

  // Proves decided "Middleware integration, refusals"
  it('one that is revoked or has expired is refused with 503, on which crawlers come back', async () => {
    const { id, key } = await newKey()
    await revokeKey(api.pool, owner.id, id, api.clock.nowMs())
    assertRefused(await ask(PAGE, key), 503, 'invalid-x-prerender-token-provided', '3600')
    const expiring = await newKey(new Date(api.clock.nowMs() + 1_000))
    assert.equal((await ask(PAGE, expiring.key)).status, 200)
    api.clock.atMs += 1_000
    assertRefused(await ask(PAGE, expiring.key), 503, 'invalid-x-prerender-token-provided', '3600')
  })

  // Proves decided "Middleware integration, refusals"
  it('one of a suspended account is refused with 503, and one on a plan without API keys too', async () => {
    const account = await api.account()
    await api.domain(account, 'suspended.example.com')
    await api.pool.query('update account set suspended_at = now() where id = $1', [account.id])
    const url = '/https://suspended.example.com/'
    assertRefused(await ask(url, account.key), 503, 'invalid-x-prerender-token-provided', '3600')
    await api.pool.query('update account set suspended_at = null where id = $1', [account.id])
    await setPlan(api.pool, DEFAULT_PLANS, account.id, 'pro')
    assertRefused(await ask(url, account.key), 503, 'plan-without-api-access', '3600')
  })

  it('an API key needs the right to refresh, and is good for the domains that it is limited to', async () => {
    const account = await api.account()
    const within = await api.domain(account, 'within.example.com')
    await api.domain(account, 'beyond.example.com')
    const now = { plans: DEFAULT_PLANS, nowMs: api.clock.nowMs() }
    const keyOf = async (right: 'read' | 'refresh') => {
      const limits = { rights: [right], domains: [within.name] }
      return (await createKey(api.pool, account.id, { name: right, expiresAt: null, ...limits }, now)).key
    }
    const [reads, refreshes] = [await keyOf('read'), await keyOf('refresh')]
    const url = '/https://within.example.com/'
    assert.equal((await ask(url, refreshes)).status, 200)
    assertRefused(await ask(url, reads), 503, 'key-without-right', '3600')
    assertRefused(await ask('/https://beyond.example.com/', refreshes), 503, 'domain-not-registered', '3600')
    const offer = (key: string, name: string) =>
      api.call('POST', '/api/render', { token: key, body: { url: `https://${name}/` } })
    assert.equal((await offer(refreshes, 'within.example.com')).status, 200)
    const forbidden = { error: 'This API key does not allow this', needs: 'refresh' }
    assertAnswer(await offer(reads, 'within.example.com'), 403, forbidden)
    assertAnswer(await offer(refreshes, 'beyond.example.com'), 404, 'Domain not found')
  })

  it('a site token is good for its own domain on any plan, and for no other domain of the account', async () => {
    const account = await api.account()
    const first = await api.domain(account, 'first.example.com')
    await api.domain(account, 'second.example.com')
    await setPlan(api.pool, DEFAULT_PLANS, account.id, 'starter')
    const { token } = await newToken(account, first)
    assert.equal((await ask('/https://first.example.com/', token)).status, 200)
    assertRefused(await ask('/https://second.example.com/', token), 503, 'domain-not-registered', '3600')
  })

  it('a site token is refused with 503 once it is revoked, replaced for seven days, or its domain deleted', async () => {
    const dead = ['invalid-x-prerender-token-provided', '3600'] as const
    const domain = await api.domain(owner, 'token.example.com')
    const url = '/https://token.example.com/'
    const { token: first } = await newToken(owner, domain)
    const { token: second } = await newToken(owner, domain)
    api.clock.atMs += 7 * 86_400_000 - 1
    assert.deepEqual([(await ask(url, first)).status, (await ask(url, second)).status], [200, 200])
    api.clock.atMs += 1
    assertRefused(await ask(url, first), 503, ...dead)
    await revokeSiteToken(api.pool, owner.id, domain.name, api.clock.nowMs())
    assertRefused(await ask(url, second), 503, ...dead)
    const { token: third } = await newToken(owner, domain)
    await deleteDomain(api.pool, owner.id, domain.name)
    assertRefused(await ask(url, third), 503, ...dead)
    await api.domain(owner, 'token.example.com')
    assertRefused(await ask(url, third), 503, ...dead)
  })
})

describe('what a front asks for', () => {
  it("an unregistered domain, another account's, and what is no name of a domain are refused alike", async () => {
    const hosts = ['nobody.example.com', 'other.example.com', '127.0.0.1', 'localhost:3000']
    const answers = await Promise.all(hosts.map((host) => ask(`/https://${host}/`, owner.key)))
    for (const answer of answers) {
      assertRefused(answer, 503, 'domain-not-registered', '3600')
      assert.deepEqual(tellsBesideIds(answer), tellsBesideIds(answers[0]!))
    }
  })

  // Proves decided "Middleware integration, refusals"
  it('what is no http or https URL of a page, or has a user name, is refused with 404', async () => {
    const paths =
      '/https:///x /https://a@shop.example.com/ /page/shop.example.com /https%3A%2F%2F%zz /ftp://x'
    for (const path of paths.split(' ')) assertRefused(await ask(path, owner.key), 404, 'url-invalid')
  })

  // Proves decided "Middleware integration, refusals"
  it('methods other than GET and HEAD are refused with 405 before the key is looked at', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await send(PAGE, {}, method)
      assertRefused(answer, 405, 'method-not-allowed')
      assert.equal(answer.headers.allow, 'GET, HEAD')
    }
    assert.equal((await ask(PAGE, owner.key, {}, 'HEAD')).status, 200)
  })

  it('while PostgreSQL is away, a request is refused with 503', async () => {
    const away = {
      query: async () => {
        throw new Error('the database is away')
      },
    }
    const app = await createApiServer({ ...api.parts, accessDb: away as never }, api.options)
    await app.listen({ host: '127.0.0.1', port: 0 })
    after(() => app.close())
    const base = app.listeningOrigin
    const headers = { 'x-prerender-token': owner.key }
    assertRefused(await send(PAGE, headers, 'GET', base), 503, 'unavailable', '5')
  })

  it('while the node shuts down, a request is refused with 503', async (t) => {
    const { pool, accessDb, clock, log } = api.parts
    const gate = new ClientGate(NO_CLIENT_LIMITS)
    const routes = new KnownRoutes()
    const failures = new FailedAttempts(gate, clock, 1)
    const lastUse = new LastUse(pool, clock, log)
    const accountIds = new FrontAccountIds(accessDb)
    const form = new MiddlewareForm(
      { ...api.parts, gate, routes, failures, lastUse, accountIds },
      DEFAULT_PLANS,
    )
    const { url: base, close } = await serve((req, res) => form.answer(req, res))
    t.after(close)
    const headers = { 'x-prerender-token': owner.key }
    assert.equal((await send(PAGE, headers, 'GET', base)).status, 200)
    form.close()
    assertRefused(await send(PAGE, headers, 'GET', base), 503, 'unavailable', '5')
  })
})

describe('limits of this node', async () => {
  const MOST = 3
  const limited = await openApi({
    clients: { ...NO_CLIENT_LIMITS, ...{ connections: 3, requests: 2, unlimited: [], failures: MOST } },
  })
  const account = await limited.account()
  await limited.domain(account, 'shop.example.com')
  const from = (localAddress: string, key = account.key) =>
    rawRequest(limited.url, { path: PAGE, headers: { 'x-prerender-token': key }, localAddress })

  // Proves decided "Middleware integration, refusals"
  it('requests at once: one past the limit is refused with 503 instead of 429', async () => {
    const held = Promise.withResolvers<void>()
    limited.readiness.held = held.promise
    const ready = () => rawRequest(limited.url, { path: '/readyz', localAddress: '127.0.0.4' })
    const waiting = [ready(), ready()]
    await until('both are under way', () => limited.readiness.asked === 2)
    assertRefused(await from('127.0.0.4'), 503, 'over-capacity', '1')
    held.resolve()
    await Promise.all(waiting)
    assert.equal((await from('127.0.0.4')).status, 200)
  })

  it('connections: one past the limit is refused with 503, and other requests on it with 429', async (t) => {
    const port = Number(new URL(limited.url).port)
    const connect = () => openSocket(t, port, { localAddress: '127.0.0.5' })
    for (let at = 0; at < 3; at++) await once(connect(), 'connect')
    assertRefused(await from('127.0.0.5'), 503, 'over-capacity', '1')
    const others = await rawRequest(limited.url, { path: '/healthz', localAddress: '127.0.0.5' })
    assertError(others, 429, 'Too many connections from your address')
  })

  it('unknown keys: past the limit refused with 503; a dead key is no failed attempt', async () => {
    const nowMs = limited.clock.nowMs()
    const made = { name: 'k', expiresAt: null }
    const { id, key } = await createKey(limited.pool, account.id, made, { plans: DEFAULT_PLANS, nowMs })
    await revokeKey(limited.pool, account.id, id, nowMs)
    for (let at = 0; at <= MOST; at++) {
      assertRefused(await from('127.0.0.6', key), 503, 'invalid-x-prerender-token-provided', '3600')
      const offered = await rawRequest(limited.url, {
        ...{ path: '/api/render', method: 'POST', localAddress: '127.0.0.6' },
        headers: { authorization: `Bearer ${key}` },
      })
      assertError(offered, 401, 'Invalid API key')
    }
    const wrong = (at: number) => from('127.0.0.6', `pp_live_${at}`)
    for (let at = 0; at < MOST; at++) {
      assertRefused(await wrong(at), 401, 'invalid-x-prerender-token-provided')
    }
    assertRefused(await wrong(MOST), 503, 'over-capacity', '1')
    assert.equal((await from('127.0.0.7')).status, 200)
  })
})
