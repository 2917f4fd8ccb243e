/**
 * The middleware form of a started node: the scenarios that prerender.io publishes for providers of pages, and every
 * refusal that docs/decided.md lists.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createAccount, setPlan, setSuspended } from '@prepaint/service/accounts/accounts.ts'
import { createKey, revokeKey } from '@prepaint/service/accounts/keys.ts'
import { createSiteToken } from '@prepaint/service/fronts/site-tokens.ts'
import { until } from '../../../../test/support/condition.ts'
import { clearDataDir, makeDataDir } from '../../../../test/support/data-dir.ts'
import { testDatabase } from '../../../../test/support/database.ts'
import { startDatabaseProxy } from '../../../../test/support/database-proxy.ts'
import { GOOGLEBOT } from '../../../../test/support/edge.ts'
import { freePort, serve } from '../../../../test/support/loopback.ts'
import { type NodeProcess, startNodeProcess } from '../../../../test/support/node-process.ts'
import { rawRequest } from '../../../../test/support/raw-request.ts'
import { callApi, registerDomain } from '../../../../test/support/tenant.ts'

const MOST_REQUESTS = 2
const MOST_FAILURES = 3
const PAGE = '/https://shop.example.com/blog/post-1'
const REQUEST_ID = '11111111-2222-4333-8444-555555555555'
const DEAD = ['503 invalid-x-prerender-token-provided', '3600'] as const

const database = await testDatabase()
const { pool } = database
const network = await startDatabaseProxy(database.connection)
const dataDir = makeDataDir()
const shop = await serve((_req, res) =>
  res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<h1>Shop</h1>'),
)
const askedSilent = new Set<string | undefined>()
const silent = await serve((req) => void askedSilent.add(req.url))
let node: NodeProcess
let owner: Awaited<ReturnType<typeof openOwner>>

before(async () => {
  node = await startNodeProcess(dataDir, {
    DATABASE_URL: network.url,
    PREPAINT_SECRET_KEY: Buffer.alloc(32, 1).toString('base64'),
    PREPAINT_ROLES: 'edge,api',
    // Nobody renders here.
    PREPAINT_LIVE_WAIT_MS: '500',
    PREPAINT_UNLIMITED_CLIENTS: '127.0.0.1/32',
    PREPAINT_CLIENT_REQUESTS: `${MOST_REQUESTS}`,
    PREPAINT_CLIENT_FAILURES: `${MOST_FAILURES}`,
  })
  owner = await openOwner('owner@example.com')
  await register('shop.example.com', shop.url)
  await register('silent.example.com', silent.url)
  await register('gone.example.com', `http://127.0.0.1:${await freePort()}`)
  const body = { settings: { crawler_wait_seconds: 5 } }
  await callApi(node, owner.key, { method: 'PUT', path: '/api/domains/silent.example.com', body })
})
after(async () => {
  await node?.stop()
  network.close()
  for (const { close } of [shop, silent]) await close()
  await database.close()
  assert.deepEqual(await clearDataDir(dataDir), [])
})

async function openOwner(email: string) {
  const { id } = await createAccount(pool, DEFAULT_PLANS, { email, plan: 'agency', password: null })
  return { id, ...(await newKey(id)) }
}

async function newKey(account: Parameters<typeof createKey>[1]) {
  const { id: keyId, key } = await createKey(
    pool,
    account,
    { name: 'k', expiresAt: null },
    { plans: DEFAULT_PLANS, nowMs: Date.now() },
  )
  return { keyId, key }
}

function register(customDomain: string, originUrl: string, { key } = owner) {
  return registerDomain(node, key, { customDomain, originUrl })
}

const ask = (path: string, key: string | null, options: { method?: string; localAddress?: string } = {}) => {
  const token = key === null ? {} : { 'x-prerender-token': key }
  const headers = { 'user-agent': GOOGLEBOT, 'x-prerender-int-type': 'Koa', ...token }
  return rawRequest(node.api, { path, headers, ...options })
}

type Sent = Awaited<ReturnType<typeof ask>>

/** What every refusal has, and the status and reason of this one. */
function assertRefused({ status, headers, text }: Sent, wanted: string, retryAfter?: string): void {
  assert.equal(`${status} ${headers['x-prerender-reject-reason']}`, wanted)
  assert.deepEqual(
    [headers['retry-after'], headers['x-prepaint'], headers['cache-control'], text],
    [retryAfter, undefined, 'no-store', ''],
    wanted,
  )
  assert.match(String(headers['x-prerender-requestid']), /^[\da-f-]{36}$/)
}

describe('the scenarios that prerender.io publishes for providers', () => {
  const scenario = (path: string, headers: Record<string, string>) =>
    rawRequest(node.api, {
      path,
      headers: {
        'user-agent': GOOGLEBOT,
        'x-prerender-int-type': 'Koa',
        'x-prerender-int-version': '1.0.0',
        ...headers,
      },
    })
  const named = { 'x-prerender-request-id': REQUEST_ID }

  it('happy-path and request-id-echoed-on-success', async () => {
    const { status, headers } = await scenario(PAGE, { ...named, 'x-prerender-token': owner.key })
    assert.deepEqual([status, headers['x-prerender-requestid']], [200, REQUEST_ID])
    assert.match(String(headers['content-type']), /^text\/html; ?charset=utf-8$/i)
    assert.match(String(headers['x-prerender-user-id']), /^[\da-f]{16}$/)
  })

  it('missing-token, invalid-token and malformed-embedded-url', async () => {
    assertRefused(await scenario(PAGE, named), '403 no-x-prerender-token-provided')
    const wrong = { ...named, 'x-prerender-token': 'definitely-not-a-real-token-aaaaaaaaaaaaa' }
    assertRefused(await scenario(PAGE, wrong), '401 invalid-x-prerender-token-provided')
    const right = { ...named, 'x-prerender-token': owner.key }
    assertRefused(await scenario('/not-a-url', right), '404 url-invalid')
  })

  it('request-id-generated-when-absent', async () => {
    const { status, headers } = await scenario(PAGE, { 'x-prerender-token': owner.key })
    assert.equal(status, 200)
    assert.match(String(headers['x-prerender-requestid']), /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-/)
  })
})

describe('every refusal', () => {
  it('a method other than GET and HEAD', async () => {
    const answer = await ask(PAGE, owner.key, { method: 'POST' })
    assertRefused(answer, '405 method-not-allowed')
    assert.equal(answer.headers.allow, 'GET, HEAD')
  })

  it('no key, and a key that never was one of ours', async () => {
    assertRefused(await ask(PAGE, null), '403 no-x-prerender-token-provided')
    assertRefused(await ask(PAGE, 'pp_live_wrong'), '401 invalid-x-prerender-token-provided')
  })

  it('a key that was revoked or has expired', async () => {
    const revoked = await newKey(owner.id)
    await revokeKey(pool, owner.id, revoked.keyId, Date.now())
    assertRefused(await ask(PAGE, revoked.key), ...DEAD)
    const expired = await newKey(owner.id)
    await pool.query(`update api_key set expires_at = now() - interval '1 second' where id = $1`, [
      expired.keyId,
    ])
    assertRefused(await ask(PAGE, expired.key), ...DEAD)
  })

  it('a site token whose domain was deleted', async () => {
    await register('deleted.example.com', shop.url)
    const { token } = await createSiteToken(pool, owner.id, 'deleted.example.com' as never, {
      author: 'a',
      nowMs: Date.now(),
    })
    assert.equal((await ask('/https://deleted.example.com/', token)).status, 200)
    await callApi(node, owner.key, { method: 'DELETE', path: '/api/domains/deleted.example.com' })
    assertRefused(await ask('/https://deleted.example.com/', token), ...DEAD)
  })

  it('the key of a suspended account, and of one whose plan has no API keys', async () => {
    const other = await openOwner('other@example.com')
    await register('other.example.com', shop.url, other)
    await setSuspended(pool, other.id, true, Date.now())
    assertRefused(await ask('/https://other.example.com/', other.key), ...DEAD)
    await setSuspended(pool, other.id, false, Date.now())
    await setPlan(pool, DEFAULT_PLANS, other.id, 'pro')
    assertRefused(await ask('/https://other.example.com/', other.key), '503 plan-without-api-access', '3600')
  })

  it('what is no http or https URL, or has a user name', async () => {
    for (const path of ['/https:///x', '/https://a@shop.example.com/', '/ftp://shop.example.com/']) {
      assertRefused(await ask(path, owner.key), '404 url-invalid')
    }
  })

  it("an unregistered domain and another account's, alike in every byte but IDs", async () => {
    const [unknown, foreign] = await Promise.all(
      ['nobody', 'other'].map((name) => ask(`/https://${name}.example.com/`, owner.key)),
    )
    assertRefused(unknown!, '503 domain-not-registered', '3600')
    const besideIds = ({ status, headers, text }: Sent) => {
      const { date: _, 'x-prerender-requestid': __, ...others } = headers
      return { status, others, text }
    }
    assert.deepEqual(besideIds(foreign!), besideIds(unknown!))
  })

  it('an origin with an address that is refused', async () => {
    await register('inside.example.com', 'http://93.184.216.34')
    await pool.query(
      `update domain set origin_url = 'http://10.0.0.1' where custom_domain = 'inside.example.com'`,
    )
    assertRefused(await ask('/https://inside.example.com/', owner.key), '503 origin-refused', '300')
  })

  it('an origin that cannot be reached, and one that is silent, where there is no page', async () => {
    assertRefused(await ask('/https://gone.example.com/', owner.key), '502 connection-error')
    assertRefused(await ask('/https://silent.example.com/', owner.key), '504 rendering-error')
  })

  it('limits of this node: requests at once, and keys that never were ours', async () => {
    const from = (localAddress: string, path: string, key = owner.key) => ask(path, key, { localAddress })
    const held = ['/held-1', '/held-2']
    const waiting = held.map((path) => from('127.0.0.5', `/https://silent.example.com${path}`))
    assert.equal(waiting.length, MOST_REQUESTS)
    await until('both are under way', () => held.every((path) => askedSilent.has(path)))
    assertRefused(await from('127.0.0.5', PAGE), '503 over-capacity', '1')
    for (const answer of await Promise.all(waiting)) assertRefused(answer, '504 rendering-error')
    for (let at = 0; at < MOST_FAILURES; at++) {
      const { status } = await from('127.0.0.6', PAGE, `pp_live_${at}`)
      assert.equal(status, 401)
    }
    assertRefused(await from('127.0.0.6', PAGE, 'pp_live_more'), '503 over-capacity', '1')
  })

  it('PostgreSQL that is away', async () => {
    network.set('refuse')
    try {
      assertRefused(await ask(PAGE, owner.key), '503 unavailable', '5')
    } finally {
      network.set('through')
    }
  })
})
