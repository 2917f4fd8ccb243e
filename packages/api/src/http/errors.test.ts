import assert from 'node:assert/strict'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { it } from 'node:test'
import { DEFAULT_PLANS } from '@prepaint/contract/settings/plans.ts'
import { createKey, revokeKey } from '@prepaint/service/accounts/keys.ts'
import { openApi } from '../../../../test/support/api.ts'

const api = await openApi()
const owner = await api.account()
const { name } = await api.domain(owner, 'shop.example.com')
const spare = { name: 'spare', expiresAt: null }
const nowMs = api.clock.nowMs()
const revoked = await createKey(api.pool, owner.id, spare, { plans: DEFAULT_PLANS, nowMs })
await revokeKey(api.pool, owner.id, revoked.id, nowMs)

const CASES: Record<string, [status: number, code: string, ask: Parameters<typeof api.call>]> = {
  'an unknown route': [404, 'not_found', ['GET', '/api/nothing', {}]],
  'a method that a route does not have': [405, 'method_not_allowed', ['PUT', '/api/jobs/x', {}]],
  'no key': [401, 'api_key_required', ['GET', '/api/domains', {}]],
  'an unknown key': [401, 'invalid_api_key', ['GET', '/api/domains', { key: 'pp_live_wrong' }]],
  'a key that was valid once': [401, 'invalid_api_key', ['GET', '/api/domains', { key: revoked.key }]],
  'no session': [401, 'sign_in_required', ['GET', '/api/keys', {}]],
  'an unknown domain': [404, 'domain_not_found', ['GET', '/api/domains/no.example.com', { key: owner.key }]],
  'a field of the query': [
    400,
    'invalid_field',
    ['GET', `/api/domains/${name}/pages?limit=0`, { key: owner.key }],
  ],
  'a field of the body': [
    400,
    'invalid_field',
    ['POST', `/api/domains/${name}/pages/purge`, { key: owner.key, body: {} }],
  ],
  'a body that is no JSON': [
    415,
    'content_type',
    ['POST', '/api/cache/purge', { key: owner.key, body: 'x', headers: { 'content-type': 'text/plain' } }],
  ],
}

for (const [condition, [status, code, ask]] of Object.entries(CASES)) {
  // Proves decided "Codes of errors"
  it(`${condition} is answered with ${status} and the code ${code}`, async () => {
    const answer = await api.call(...ask)
    assert.deepEqual([answer.status, answer.headers.get('prepaint-error')], [status, code])
  })
}

// Proves decided "Codes of errors"
it('input that is not HTTP is answered with a code, and an answer without an error has none', async () => {
  const { port, hostname } = new URL(api.url)
  const socket = net.connect(Number(port), hostname)
  socket.end('nonsense\r\n\r\n')
  assert.match(await text(socket), /^HTTP\/1\.1 400 [\s\S]*\r\nPrepaint-Error: malformed_request\r\n/)
  const { headers } = await api.get('/api/domains', owner.key)
  assert.equal(headers.get('prepaint-error'), null)
})
