/** What one client may hold, at the limit and one past it. Loopback is many addresses: each is a client. */
import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'
import ipaddr from 'ipaddr.js'
import { loadConfig } from '../../../../bin/settings/config.ts'
import { until } from '../../../../test/support/condition.ts'
import { listening, openSocket } from '../../../../test/support/loopback.ts'
import { ClientGate, type ClientLimits } from './client-limits.ts'

const PROXY = '127.0.0.9'
const LIMITS: ClientLimits = {
  connections: 3,
  requests: 2,
  connectionsInTotal: 10,
  unlimited: [],
  trustedProxies: [ipaddr.parseCIDR(`${PROXY}/32`)],
}
const REFUSAL = 'HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'

/** The server's ends of its connections are in `accepted`. */
async function start(t: TestContext, limits: Partial<ClientLimits> = {}) {
  const gate = new ClientGate({ ...LIMITS, ...limits })
  const accepted: net.Socket[] = []
  const server = net.createServer((socket) => void accepted.push(socket.on('error', () => {})))
  gate.watch(server, REFUSAL)
  const port = await listening(server)
  t.after(() => server.close())
  const connect = async (localAddress = '127.0.0.1') => {
    const socket = openSocket(t, port, { localAddress })
    await once(socket, 'connect')
    return socket
  }
  return { gate, connect, accepted }
}

/** What the server says first, or that it closed. */
function firstWords(socket: net.Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('data', (part) => resolve(String(part).split('\r\n', 1)[0]!))
    socket.once('close', () => resolve('closed'))
  })
}

/** Of the client that a proxy names, or `@` an address of its own. */
function requestOf(client: string) {
  const [named = '', remoteAddress = PROXY] = client.split('@')
  return { headers: named === '' ? {} : { 'x-forwarded-for': named }, socket: { remoteAddress } }
}

describe('connections of one client', () => {
  it('at the limit open; one past it is told 429 and closed; another client and a proxy have their own', async (t) => {
    const { connect, gate, accepted } = await start(t)
    const open = [await connect(), await connect(), await connect()]
    const fourth = await connect()
    assert.match(await firstWords(fourth), /^HTTP\/1\.1 429 /)
    await once(fourth, 'close')
    const asked = { headers: {}, socket: accepted[3]! }
    assert.equal(gate.enter(asked, new EventEmitter()), false, 'what is asked on it is not answered')
    assert(open.every((socket) => !socket.destroyed))
    await connect('127.0.0.2')
    for (let at = 0; at < 4; at++) await connect(PROXY)
    await until('all are accepted', () => accepted.length === 9)
    assert.equal(gate.counts, 2)
  })

  it('nothing is remembered about clients that have disconnected', async (t) => {
    const { connect, gate, accepted } = await start(t)
    const sockets = await Promise.all(['127.0.0.1', '127.0.0.2'].map(connect))
    await until('both are accepted', () => accepted.length === 2)
    const response = new EventEmitter()
    assert(gate.enter({ headers: {}, socket: accepted[0]! }, response))
    assert.equal(gate.counts, 3)
    for (const socket of sockets) socket.destroy()
    response.emit('close')
    // Nothing says when a socket has closed.
    await until('none is counted', () => gate.counts === 0)
  })

  it('of all clients together: one past the limit is closed', async (t) => {
    const { connect } = await start(t, { connectionsInTotal: 4 })
    for (let at = 1; at <= 4; at++) await connect(`127.0.0.${at}`)
    assert.equal(await firstWords(await connect('127.0.0.5')), 'closed')
  })

  it('behind TLS: one past the limit is closed, and one that is handed to a server of HTTP/1.1 is still one', async (t) => {
    const { privateKey, certificate } = createSelfSigned('localhost')
    const secured = { key: privateKey.export({ type: 'pkcs8', format: 'pem' }), cert: certificate }
    const gate = new ClientGate({ ...LIMITS, connections: 2 })
    const plain = http.createServer((_req, res) => void res.end())
    const secure = tls.createServer(secured, (socket) => plain.emit('connection', socket))
    gate.watch(plain, REFUSAL)
    gate.watch(secure, null)
    const port = await listening(secure)
    t.after(() => {
      secure.close()
      plain.closeAllConnections()
    })
    const open = () => {
      const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
      t.after(() => void socket.destroy())
      socket.on('error', () => {}).write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      return firstWords(socket)
    }
    const ok = 'HTTP/1.1 200 OK'
    assert.deepEqual([await open(), await open(), await open()], [ok, ok, 'closed'])
  })
})

describe('requests of one client', () => {
  const CASES: [what: string, first: string, second: string, third: string, other: string][] = [
    ['as a trusted proxy names it', '203.0.113.1', '203.0.113.1', '203.0.113.1', '203.0.113.2'],
    ['not as it names itself', '1.1.1.1, 192.0.2.1', '192.0.2.1', '8.8.8.8, 192.0.2.1', '8.8.8.8'],
    ['not as others name it', '1.1.1.1@127.0.0.1', '1.1.1.2@127.0.0.1', '1.1.1.3@127.0.0.1', '@127.0.0.2'],
    ['a /64 of IPv6', '2001:db8:1:2::1', '2001:db8:1:2:f::9', '2001:db8:1:2:3::4', '2001:db8:1:3::1'],
  ]
  for (const [what, first, second, third, other] of CASES) {
    it(`${what}: at the limit enter, one past it does not, answered ones make room`, () => {
      const gate = new ClientGate(LIMITS)
      const response = new EventEmitter()
      assert(gate.enter(requestOf(first), response))
      assert(gate.enter(requestOf(second), new EventEmitter()))
      assert(!gate.mayEnter(requestOf(third)))
      assert(!gate.enter(requestOf(third), new EventEmitter()))
      assert(gate.enter(requestOf(other), new EventEmitter()))
      response.emit('close')
      assert(gate.enter(requestOf(third), new EventEmitter()))
    })
  }
})

describe('clients that are not limited', () => {
  it('are refused by neither limit', async (t) => {
    const { connect, gate, accepted } = await start(t, { unlimited: [ipaddr.parseCIDR('127.0.0.0/29')] })
    for (let at = 0; at < 5; at++) await connect()
    await until('all are accepted', () => accepted.length === 5)
    for (const socket of accepted) assert(gate.enter({ headers: {}, socket }, new EventEmitter()))
    assert.equal(gate.counts, 0)
  })

  it('by default: addresses that no client on the internet has; none with PREPAINT_UNLIMITED_CLIENTS=none', () => {
    const gate = new ClientGate(loadConfig({}).clients)
    for (const own of '127.0.0.1 ::1 10.1.2.3 172.16.0.1 192.168.0.1 100.64.0.1 fd00::1'.split(' '))
      assert.equal(gate.clientOf(requestOf(`@${own}`)), null, own)
    for (const other of '8.8.8.8 172.32.0.1 100.128.0.1 2606:4700::1 ::ffff:8.8.8.8'.split(' '))
      assert.notEqual(gate.clientOf(requestOf(`@${other}`)), null, other)
    assert.deepEqual(loadConfig({ PREPAINT_UNLIMITED_CLIENTS: 'none' }).clients.unlimited, [])
    assert.throws(
      () => loadConfig({ PREPAINT_UNLIMITED_CLIENTS: 'all' }),
      /takes addresses or CIDR, got "all"/,
    )
  })
})
