/** What one client address may hold of the API at a time, and how many keys it may try. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, beforeEach, describe, it } from 'node:test'
import ipaddr from 'ipaddr.js'
import { assertAnswer, startTestApi } from '../../../test/support/api.ts'
import { until } from '../../../test/support/condition.ts'
import { NO_CLIENT_LIMITS } from '../../http/client-limits.ts'
import { WINDOW_SECONDS } from './failed-attempts.ts'

const MOST = 5
const sockets: net.Socket[] = []
const api = await startTestApi({
  clients: {
    ...NO_CLIENT_LIMITS,
    ...{ connections: 3, requests: 2, unlimited: [], failures: MOST },
    trustedProxies: [ipaddr.parseCIDR('127.0.0.1/32')],
  },
})
after(async () => {
  for (const socket of sockets) socket.destroy()
  await api.close()
})

/** A connection from one of the addresses of loopback. */
async function connect(localAddress: string) {
  const socket = net.connect({ port: Number(new URL(api.url).port), host: '127.0.0.1', localAddress })
  sockets.push(socket)
  socket.on('error', () => {})
  let text = ''
  socket.on('data', (part) => {
    text += part
  })
  await once(socket, 'connect')
  const said = async (pattern: RegExp) => {
    await until(`it says ${pattern}`, () => pattern.test(text) || socket.destroyed)
    return text
  }
  return { socket, said }
}

// Proves decided "Client limits"
it('requests: at the limit answered, one past it 429 in JSON', async () => {
  const answering = Promise.withResolvers<void>()
  api.readiness.held = answering.promise
  const ask = async () => {
    const connection = await connect('127.0.0.2')
    connection.socket.write('GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n')
    return connection
  }
  const held = [await ask(), await ask()]
  await until('both are under way', () => api.readiness.asked === 2)
  const refused = await (await ask()).said(/\}$/)
  assert.match(refused, /^HTTP\/1\.1 429 Too Many Requests\r\n/)
  assert.match(refused, /^Retry-After: 1\r$/im)
  assert.match(refused, /\{"error":"Too many requests at once from your address"\}$/)
  assert.equal((await api.get('/healthz')).status, 200)
  answering.resolve()
  for (const { said } of held) assert.match(await said(/\}$/), /^HTTP\/1\.1 200 /)
})

// Proves decided "Client limits"
it('connections: one past the limit is told 429 in JSON', async () => {
  for (let at = 0; at < 3; at++) await connect('127.0.0.3')
  const { socket, said } = await connect('127.0.0.3')
  await once(socket, 'close')
  assert.match(
    await said(/\}$/),
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
    await useUp()
    api.clock.atMs += 1_000
    const refused = await api.call('GET', '/api/domains', { key: wrong(9), headers: mine() })
    assertAnswer(refused, 429, 'Too many failed attempts, try again later')
    assert.equal(refused.headers.get('retry-after'), String(WINDOW_SECONDS - 1))
    assert.equal(await tryKey(later.key), 429)
    assert.equal((await api.call('GET', '/healthz', { headers: mine() })).status, 200)
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
    assert.equal(await tryKey(wrong(9)), 429)
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
    const hook = async (at: number) => {
      const request = { token: `pp_wh_${wrong(at)}`, headers: mine(), body: {} }
      return (await api.call('POST', '/api/webhook/refresh', request)).status
    }
    for (let at = 0; at < MOST; at++) assert.equal(await hook(at), 401)
    assert.equal(await hook(MOST), 429)
    assert.equal(await tryKey(wrong(1)), 429)
  })
})
