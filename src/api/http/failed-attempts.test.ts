/** A client that tries keys: so many, and then nothing is looked up for it any more. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'

import ipaddr from 'ipaddr.js'
import { startTestApi, type TestAccount, type TestApi } from '../../../test/support/api.ts'
import { NO_CLIENT_LIMITS } from '../../http/client-limits.ts'
import { WINDOW_SECONDS } from './failed-attempts.ts'

const MOST = 5
let api: TestApi
let owner: TestAccount
let later: TestAccount
let client = 0
before(async () => {
  api = await startTestApi({
    clients: {
      ...NO_CLIENT_LIMITS,
      unlimited: [],
      trustedProxies: [ipaddr.parseCIDR('127.0.0.0/8')],
      failures: MOST,
    },
  })
  owner = await api.account()
  later = await api.account()
})
after(() => api.close())
beforeEach(() => {
  client++
})

const from = (address: string) => ({ 'x-forwarded-for': address })
const mine = () => from(`203.0.113.${client}`)
const tryKey = async (key: string, headers = mine()) =>
  (await api.call('GET', '/api/domains', { key, headers })).status
const wrong = (at: number) => `pp_live_${String(at).padStart(43, 'x')}`

/** As many failed attempts as are allowed. */
async function useUp(headers = mine()): Promise<void> {
  for (let at = 0; at < MOST; at++) assert.equal(await tryKey(wrong(at), headers), 401)
}

describe('failed attempts of one client', () => {
  // Proves decided "Client limits"
  it('at the limit 401; one past it 429 with the time that is left, even for a key that is good', async () => {
    await useUp()
    api.clock.atMs += 1_000
    const refused = await api.call('GET', '/api/domains', { key: wrong(9), headers: mine() })
    assert.deepEqual(
      [refused.status, refused.body],
      [429, { error: 'Too many failed attempts, try again later' }],
    )
    assert.equal(refused.headers.get('retry-after'), String(WINDOW_SECONDS - 1))
    assert.equal(await tryKey(later.key), 429)
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

  it('the window ends', async () => {
    await useUp()
    api.clock.atMs += WINDOW_SECONDS * 1_000 - 1
    assert.equal(await tryKey(owner.key.replace('pp_live_', 'pp_live_y')), 429)
    api.clock.atMs += 1
    assert.equal(await tryKey(wrong(1)), 401)
  })

  it('what shows no key is no attempt, and good ones are none', async () => {
    for (let at = 0; at < MOST + 2; at++) {
      assert.equal((await api.call('GET', '/api/domains', { headers: mine() })).status, 401)
      assert.equal(await tryKey(later.key), 200)
    }
    assert.equal(await tryKey(wrong(1)), 401)
  })

  it('webhook tokens count with them', async () => {
    for (let at = 0; at < MOST; at++) {
      const refused = await api.call('POST', '/api/webhook/refresh', {
        token: `pp_wh_${wrong(at)}`,
        headers: mine(),
        body: {},
      })
      assert.equal(refused.status, 401)
    }
    assert.equal(
      (await api.call('POST', '/api/webhook/refresh', { token: 'pp_wh_x', headers: mine(), body: {} }))
        .status,
      429,
    )
    assert.equal(await tryKey(wrong(1)), 429)
  })

  it('what needs no key is answered all the same', async () => {
    await useUp()
    assert.equal((await fetch(`${api.url}/healthz`, { headers: mine() })).status, 200)
  })
})
