import assert from 'node:assert/strict'
import { once } from 'node:events'
import https from 'node:https'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import type tls from 'node:tls'
import type { Origin } from '@prepaint/contract/site-files/site.ts'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'
import ipaddr from 'ipaddr.js'
import { until } from '../../../../test/support/condition.ts'
import { listening } from '../../../../test/support/loopback.ts'
import { createAddressGuard } from '../address-guard.ts'
import { readOrigin } from '../origin.ts'
import { OriginCall } from './call.ts'
import { createClient, type KeptUse, OriginPool, type OriginPoolOptions } from './pool.ts'
import { sendRequest } from './request.ts'

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** An origin that says what the test says, and what it was asked, by connection. */
async function start(t: TestContext, options: Partial<OriginPoolOptions> = {}) {
  const server = net.createServer()
  const connections: net.Socket[] = []
  const said: string[] = []
  let answer: ((socket: net.Socket) => void) | null = (socket) => socket.write(ANSWER)
  server.on('connection', (socket) => {
    const which = connections.push(socket) - 1
    said.push('')
    socket.on('error', () => {})
    socket.on('data', (part) => {
      said[which] += part.toString('latin1')
      if (said[which]!.endsWith('\r\n\r\n')) answer?.(socket)
    })
  })
  const port = await listening(server)
  let nowMs = 0
  const connect = (to: Pick<Origin, 'port'>) => net.connect(to.port, '127.0.0.1')
  const pool = new OriginPool({ connect, clock: { nowMs: () => nowMs }, ...options })
  const authority = `127.0.0.1:${port}`
  const origin: Origin = { protocol: 'http:', hostname: '127.0.0.1', port, authority, key: `1 ${authority}` }
  t.after(() => {
    for (const socket of connections) socket.destroy()
    server.close()
  })

  /** What comes of a call: its body, or the name of its error. */
  function ask(path = '/', { keptUse = 'any', to = origin, silenceMs = 5_000 }: Asking = {}) {
    const request = { method: 'GET', path, headers: ['Host', 'x'], silenceMs, keptUse }
    const { call, response } = sendRequest(pool, to, request)
    const said = response.then(({ body }) => text(body)).catch((error: Error) => error.name)
    return Object.assign(said, { call })
  }
  return {
    pool,
    ask,
    origin,
    connections,
    said,
    answers: (next: typeof answer) => {
      answer = next
    },
    wait: (ms: number) => {
      nowMs += ms
    },
  }
}

type Asking = { keptUse?: KeptUse; to?: Origin; silenceMs?: number }

/** Two names of the same server are two origins. */
const other = (origin: Origin, name: string): Origin => ({ ...origin, key: `1 ${name}` })

describe('connections to origins', () => {
  it('are used again, one call at a time', async (t) => {
    const { ask, connections, pool } = await start(t)
    for (let n = 0; n < 5; n++) assert.equal(await ask(), 'ok')
    assert.deepEqual([connections.length, pool.open], [1, 1])
    assert.deepEqual(await Promise.all([ask(), ask(), ask()]), ['ok', 'ok', 'ok'])
    assert.deepEqual([connections.length, pool.open], [3, 3])
  })

  it('so many to one origin; further calls wait, and are sent in their order', async (t) => {
    const { ask, connections, said, pool } = await start(t, { perOrigin: 1 })
    const all = ['/1', '/2', '/3'].map((path) => ask(path))
    assert.deepEqual([pool.open, pool.waiting], [1, 2])
    await Promise.all(all)
    assert.deepEqual([connections.length, pool.waiting], [1, 0])
    assert.match(said[0]!, /GET \/1 .*GET \/2 .*GET \/3 /s)
  })

  it('so many in all: free ones of others make room, and whoever waits elsewhere gets what is left', async (t) => {
    const { ask, origin, pool, answers, said } = await start(t, { inTotal: 2 })
    await Promise.all([ask(), ask()])
    answers(null)
    const [first, second] = [ask('/', { to: other(origin, 'a') }), ask('/', { to: other(origin, 'b') })]
    assert.deepEqual([pool.open, pool.waiting], [2, 0])
    const third = ask('/', { to: other(origin, 'c') })
    assert.deepEqual([pool.open, pool.waiting], [2, 1])
    await until('both are asked', () => said.filter((text) => text.endsWith('\r\n\r\n')).length === 4)
    answers((socket) => socket.write(ANSWER))
    first.call.destroy()
    assert.equal(await third, 'ok')
    second.call.destroy()
    assert.deepEqual([pool.open, pool.waiting], [1, 0])
  })

  it('accounts that name the same origin share none, nor the places for them', async (t) => {
    const { ask, origin, pool, answers, connections, said } = await start(t, { perOrigin: 1 })
    const [red, blue] = [1, 2].map((account) => readOrigin('http://same.example', account).key)
    assert.notEqual(red, blue)
    answers(null)
    const held = ask('/held', { to: { ...origin, key: red! } })
    await until('it is asked', () => said[0]?.includes('/held'))
    answers((socket) => socket.write(ANSWER))
    assert.equal(await ask('/blue', { to: { ...origin, key: blue! } }), 'ok')
    held.call.destroy()
    assert.deepEqual([connections.length, pool.open], [2, 1])
  })

  it('to an origin of https name it, are checked, and are used again', async (t) => {
    const { privateKey, certificate } = createSelfSigned('origin.example')
    const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
    const server = https.createServer({ key, cert: certificate }, ({ socket }, res) => {
      res.end(`${socket.localAddress} ${(socket as tls.TLSSocket).servername}`)
    })
    let accepted = 0
    server.on('connection', () => accepted++)
    const port = await listening(server)
    const guard = createAddressGuard([{ cidr: ipaddr.parseCIDR('127.0.0.1/32'), port: null }])
    const client = createClient(guard, { ca: certificate, lookup: async () => ['127.0.0.1'] })
    t.after(() => {
      client.close()
      server.close()
    })
    const [hostname, authority] = ['origin.example', `origin.example:${port}`]
    const origin: Origin = { protocol: 'https:', hostname, port, authority, key: authority }
    const request = { method: 'GET', path: '/', headers: ['Host', authority], silenceMs: 5_000 }
    for (let n = 0; n < 2; n++) {
      const { body } = await sendRequest(client, origin, request).response
      assert.equal(await text(body), '127.0.0.1 origin.example')
    }
    assert.equal(accepted, 1)
  })

  it('one that is old is not used again: its name may lead elsewhere by now', async (t) => {
    const { ask, connections, wait, pool } = await start(t, { maxAgeMs: 1_000 })
    await ask()
    wait(999)
    await ask()
    assert.equal(pool.open, 1)
    wait(1)
    await ask()
    assert.deepEqual([connections.length, pool.open], [1, 0])
    await ask()
    assert.equal(connections.length, 2)
  })

  it('so many are kept when nobody needs them', async (t) => {
    const { ask, connections, pool } = await start(t, { freePerOrigin: 2 })
    await Promise.all([ask(), ask(), ask()])
    assert.deepEqual([connections.length, pool.open], [3, 2])
  })

  it('a call that waits for too long fails; one that is taken back waits no more', async (t) => {
    const { ask, answers, pool } = await start(t, { perOrigin: 1 })
    answers(null)
    const first = ask()
    const gone = ask()
    gone.call.destroy()
    assert.equal(pool.waiting, 0)
    assert.equal(await ask('/', { silenceMs: 50 }), 'OriginSilent')
    assert.equal(pool.waiting, 0)
    first.call.destroy()
    assert.equal(pool.open, 0)
  })

  it('one that became free so lately, or a new one', async (t) => {
    const { ask, connections, wait, pool } = await start(t)
    await ask()
    wait(1_999)
    await ask('/', { keptUse: 'lately' })
    assert.equal(connections.length, 1)
    wait(2_000)
    await ask('/', { keptUse: 'lately' })
    assert.equal(connections.length, 2)
    await ask('/', { keptUse: 'none' })
    assert.deepEqual([connections.length, pool.open], [3, 2])
  })

  it('one that cannot be made fails its call, and leaves its place to the next', async (t) => {
    let isDown = true
    const connect = ({ port }: Pick<Origin, 'port'>) => net.connect(isDown ? 1 : port, '127.0.0.1')
    const { ask, pool } = await start(t, { perOrigin: 1, connect })
    const [refused, next] = [ask(), ask()]
    isDown = false
    assert.deepEqual([await refused, await next, pool.open], ['Error', 'ok', 1])
  })
})

describe('a connection is not used again', () => {
  it('when the answer says so, or another one stands behind it', async (t) => {
    const { ask, answers, pool } = await start(t)
    for (const text of [ANSWER.replace('\r\n', '\r\nConnection: close\r\n'), ANSWER.repeat(2)]) {
      answers((socket) => socket.write(text))
      assert.equal(await ask(), 'ok')
      assert.equal(pool.open, 0)
    }
  })

  it('when the origin says something that nobody asked for, or ends it', async (t) => {
    const { ask, connections, pool } = await start(t)
    for (const [at, act] of [(s: net.Socket) => s.write(ANSWER), (s: net.Socket) => s.end()].entries()) {
      await ask()
      assert.equal(pool.open, 1)
      act(connections[at]!)
      await once(connections[at]!, 'close')
      await until('it is gone', () => pool.open === 0)
    }
  })

  it('when it has been free for too long', async (t) => {
    const { ask, pool } = await start(t, { keepAliveMs: 20 })
    await ask()
    assert.equal(pool.open, 1)
    await until('it is gone', () => pool.open === 0)
  })
})

describe('what no request can say', () => {
  const limits = { body: 'none', answerWaitMs: 1, idleMs: 1 } as const
  const request = { method: 'GET', path: '/', headers: ['Host', 'x'], ...limits }
  const take = { ready() {}, drain() {}, continued() {}, head() {}, data: () => true, end() {}, fail() {} }
  const WRONG: Partial<{ method: string; path: string; headers: string[] }>[] = [
    ...['/\r\nX: y', '/a b', '/\u010a', ''].map((path) => ({ path })),
    { method: 'GET /' },
    ...['x\nX: y', '\u010d\u010a'].map((value) => ({ headers: ['Host', value] })),
    ...['X: y', ''].map((name) => ({ headers: [name, 'z'] })),
  ]
  for (const wrong of WRONG) {
    const name = JSON.stringify(wrong)
    it(name, () => assert.throws(() => new OriginCall({ ...request, ...wrong }, take), TypeError))
  }
})
