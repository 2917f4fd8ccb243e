// Edge and API of one node: a change that the API has answered is in effect at this node's edge.
import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { createApiServer } from '@prepaint/api/server.ts'
import type { DomainName } from '@prepaint/contract/ids.ts'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createKey, createToken } from '@prepaint/service/accounts/keys.ts'
import { testVault } from './support/api.ts'
import { standInParts, TEST_OPTIONS } from './support/api-parts.ts'
import { openEdge } from './support/edge.ts'
import { listening } from './support/loopback.ts'

const edge = await openEdge()
const { pool, listener } = edge
/** How often the API waited for what it had changed to be heard here: a slow client would not notice. */
let waited = 0
const caughtUp = async () => {
  waited++
  await listener.caughtUp()
}
const api = await createApiServer(
  { ...standInParts(pool, { nowMs: edge.nowMs }), caughtUp, vault: testVault(pool) },
  TEST_OPTIONS,
)
const url = `http://127.0.0.1:${await listening(api.server)}`
after(async () => {
  await api.close()
  // It was not opened by the framework.
  api.server.close()
  api.server.closeAllConnections()
})

const view = { plans: DEFAULT_PLANS, nowMs: edge.nowMs() }
await pool.query(`update account set plan = 'enterprise'`)
const { key } = await createKey(pool, edge.account, { name: 'test', expiresAt: null }, view)
const { token } = await createToken(pool, edge.account, 'red.example' as DomainName, 'test', DEFAULT_PLANS)

async function send(method: string, path: string, body?: object): Promise<void> {
  const isWebhook = path.startsWith('/api/webhook/')
  const headers = {
    ...(isWebhook ? { authorization: `Bearer ${token}` } : { 'x-api-key': key }),
    ...(body && { 'content-type': 'application/json' }),
  }
  const before = waited
  const answer = await fetch(url + path, { method, headers, body: JSON.stringify(body) ?? null })
  assert.ok(answer.ok, `${method} ${path} answered ${answer.status}: ${await answer.text()}`)
  assert.equal(waited, before + 1, `${method} ${path}`)
}

/** Stored, and in this node's memory for good: the notification of its storing has been heard. */
async function hold(page: string): Promise<void> {
  await edge.verdict(page)
  await edge.listener.caughtUp()
  await edge.verdict(page)
  assert.equal(await edge.verdict(page), 'hit')
}

const domain = 'red.example'
const CHANGES: [path: string, body?: object][] = [
  ['/api/cache/purge', { domain, path: '/a' }],
  ['/api/cache/purge', { domain, path: '/*' }],
  ['/api/cache/purge', { domain }],
  ['/api/cache/purge-all'],
  ['/api/cache/refresh', { domain, paths: ['/a'] }],
  ['/api/webhook/refresh', { urls: ['/a'] }],
  ['/api/cache/refresh-all', { paths: ['/a'] }],
]
it('a crawler right after a purge or refresh never gets a hit: ten times stored, changed, asked for', async () => {
  // Ten webhook requests an hour are allowed.
  for (let round = 0; round < 10 * CHANGES.length; round++) {
    await hold('/a')
    const [path, body] = CHANGES[round % CHANGES.length]!
    await send('POST', path, body)
    assert.equal(await edge.verdict('/a'), 'rendered', `round ${round}, after ${path}`)
  }
})

it('a domain is there when its creation was answered, passes when it is inactive, is gone when deleted', async () => {
  for (let round = 0; round < 20; round++) {
    const asking = { host: 'new.example' }
    assert.equal((await edge.ask('/', asking)).status, 404)
    await send('POST', '/api/domains', { custom_domain: 'new.example', origin_url: edge.origin })
    assert.equal(await edge.verdict('/', asking), 'rendered')
    await send('PUT', '/api/domains/new.example', { is_active: false })
    assert.equal(await edge.verdict('/', asking), 'pass; inactive')
    await send('DELETE', '/api/domains/new.example')
  }
})
