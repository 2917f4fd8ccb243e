/** What one client may hold, at the limit and one past it. Loopback is many addresses: each is a client. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type net from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'
import ipaddr from 'ipaddr.js'
import { until as untilWithin } from '../../test/support/condition.ts'
import { listening, openSocket } from '../../test/support/loopback.ts'
import { loadConfig } from '../config.ts'
import { createSelfSigned } from '../gateway/tls-key.ts'
import { type ClientLimits, createClientGate, createCounter } from './client-limits.ts'

const PROXY = '127.0.0.9'
const LIMITS: ClientLimits = {
  connections: 3,
  requests: 2,
  connectionsInTotal: 10,
  unlimited: [],
  trustedProxies: [ipaddr.parseCIDR(`${PROXY}/32`)],
}
const REFUSAL = 'HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

/** Counting is undone when a socket has closed; nothing says when that is. */
const until = (holds: () => boolean) => untilWithin(String(holds), holds)

it('a counter counts each key by itself, up to the limit, and forgets keys that hold nothing', () => {
  const counter = createCounter(2)
  assert.deepEqual(
    ['a', 'a', 'a', 'b'].map((key) => counter.enter(key)),
    [true, true, false, true],
  )
  assert.equal(counter.keys, 2)
  counter.leave('a')
  assert.deepEqual([counter.enter('a'), counter.enter('a')], [true, false])
  for (const key of ['a', 'a', 'b']) counter.leave(key)
  assert.equal(counter.keys, 0)
})

/** A server that answers when it is told so, and 429 to what the gate refuses. */
async function start(t: TestContext, limits: Partial<ClientLimits> = {}) {
  const gate = createClientGate({ ...LIMITS, ...limits })
  const waiting: http.ServerResponse[] = []
  const server = http.createServer((request, response) => {
    if (gate.enter(request, response)) waiting.push(response)
    else response.writeHead(429).end()
  })
  gate.watch(server, REFUSAL)
  const port = await listening(server)
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const connect = async (localAddress = '127.0.0.1') => {
    const socket = openSocket(t, port, { localAddress })
    await once(socket, 'connect')
    return socket
  }
  /** The status of one request: of the client that a proxy names, or `@` an address of its own. */
  const ask = async (client = '@127.0.0.1') => {
    const [named, localAddress = PROXY] = client.split('@')
    const headers = named === '' ? {} : { 'x-forwarded-for': named }
    const request = http.get({ port, host: '127.0.0.1', localAddress, agent: false, headers })
    request.on('error', () => {})
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.resume()
    return response.statusCode
  }
  const answerAll = () => {
    for (const response of waiting.splice(0)) response.end()
  }
  return { gate, connect, ask, waiting, answerAll }
}

/** What the server says first, or that it closed. */
async function firstWords(socket: net.Socket): Promise<string> {
  const [part] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [Buffer | boolean]
  return Buffer.isBuffer(part) ? part.toString().split('\r\n', 1)[0]! : 'closed'
}

describe('connections of one client', () => {
  it('at the limit open; one past it is told 429 and closed; another client has its own', async (t) => {
    const { connect, gate, waiting } = await start(t)
    const open = [await connect(), await connect(), await connect()]
    const fourth = await connect()
    // What is asked on a refused one is not answered.
    fourth.write(GET)
    assert.match(await firstWords(fourth), /^HTTP\/1\.1 429 /)
    await once(fourth, 'close')
    assert(open.every((socket) => !socket.destroyed))
    assert.equal(waiting.length, 0)
    await connect('127.0.0.2')
    assert.equal(gate.counts, 2)
  })

  it('nothing is kept of clients who have gone, also before their answer', async (t) => {
    const { connect, gate, waiting } = await start(t)
    const sockets = await Promise.all(['127.0.0.1', '127.0.0.2'].map(connect))
    sockets[0]!.write(GET)
    await until(() => waiting.length === 1)
    assert.equal(gate.counts, 3)
    for (const socket of sockets) socket.destroy()
    await until(() => gate.counts === 0)
  })

  it('of all clients together: one past the limit is closed', async (t) => {
    const { connect } = await start(t, { connectionsInTotal: 4 })
    for (let at = 1; at <= 4; at++) await connect(`127.0.0.${at}`)
    assert.equal(await firstWords(await connect('127.0.0.5')), 'closed')
  })
})

describe('requests of one client', () => {
  const CASES: [what: string, first: string, second: string, third: string, other: string][] = [
    ['as a trusted proxy names it', '203.0.113.1', '203.0.113.1', '203.0.113.1', '203.0.113.2'],
    ['not as it names itself', '1.1.1.1, 192.0.2.1', '192.0.2.1', '8.8.8.8, 192.0.2.1', '8.8.8.8'],
    ['not as others name it', '1.1.1.1@127.0.0.1', '1.1.1.2@127.0.0.1', '1.1.1.3@127.0.0.1', '@127.0.0.2'],
    ['a /64 of IPv6', '2001:db8:1:2::1', '2001:db8:1:2:f::9', '2001:db8:1:2:3::4', '2001:db8:1:3::1'],
  ]
  for (const [what, one, two, third, other] of CASES) {
    it(`${what}: at the limit wait, one past it is 429, answered ones make room`, async (t) => {
      const { ask, connect, waiting, answerAll } = await start(t)
      // Connections of a trusted proxy count for no client.
      for (let at = 0; at < 5; at++) await connect(PROXY)
      const first = [ask(one), ask(two)]
      await until(() => waiting.length === 2)
      assert.equal(await ask(third), 429)
      const others = ask(other)
      await until(() => waiting.length === 3)
      answerAll()
      assert.deepEqual(await Promise.all([...first, others]), [200, 200, 200])
      const last = ask(third)
      await until(() => waiting.length === 1)
      answerAll()
      assert.equal(await last, 200)
    })
  }

  it('those that are sent ahead on one connection count alike', async (t) => {
    const { connect, waiting, answerAll } = await start(t)
    const socket = await connect()
    let text = ''
    socket.on('data', (part) => {
      text += part
    })
    socket.write(GET.repeat(3))
    await until(() => waiting.length === 2)
    answerAll()
    await until(() => text.includes('429'))
    assert.deepEqual(text.match(/(?<=^HTTP\/1\.1 )\d+/gm), ['200', '200', '429'])
  })
})

describe('clients that are not limited', () => {
  it('have neither limit', async (t) => {
    const { connect, ask, waiting, answerAll, gate } = await start(t, {
      unlimited: [ipaddr.parseCIDR('127.0.0.0/29')],
    })
    for (let at = 0; at < 5; at++) await connect()
    const asked = Array.from({ length: 4 }, () => ask())
    await until(() => waiting.length === 4)
    assert.equal(gate.counts, 0)
    answerAll()
    assert.deepEqual(await Promise.all(asked), [200, 200, 200, 200])
  })

  it('by default: addresses that no client on the internet has', () => {
    const gate = createClientGate(loadConfig({}).clients)
    const isLimited = (remoteAddress: string) =>
      gate.clientOf({ headers: {}, socket: { remoteAddress } }) !== null
    for (const own of '127.0.0.1 ::1 10.1.2.3 172.16.0.1 192.168.0.1 100.64.0.1 fd00::1'.split(' '))
      assert.equal(isLimited(own), false, own)
    for (const other of '8.8.8.8 172.32.0.1 100.128.0.1 2606:4700::1 ::ffff:8.8.8.8'.split(' '))
      assert.equal(isLimited(other), true, other)
  })

  it('PREPAINT_UNLIMITED_CLIENTS=none: none', () => {
    assert.deepEqual(loadConfig({ PREPAINT_UNLIMITED_CLIENTS: 'none' }).clients.unlimited, [])
    assert.throws(
      () => loadConfig({ PREPAINT_UNLIMITED_CLIENTS: 'all' }),
      /PREPAINT_UNLIMITED_CLIENTS takes addresses or CIDR, got "all"/,
    )
  })
})

describe('behind TLS', () => {
  const { privateKey, certificate } = createSelfSigned('localhost')
  const secured = { key: privateKey.export({ type: 'pkcs8', format: 'pem' }), cert: certificate }

  it('a connection past the limit is closed, and one that is handed to a server of HTTP/1.1 is still one', async (t) => {
    const gate = createClientGate({ ...LIMITS, connections: 2 })
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
      socket.on('error', () => {})
      socket.write(GET)
      return new Promise<string>((resolve) => {
        socket.once('data', (part: Buffer) => resolve(String(part).slice(0, 12)))
        socket.once('close', () => resolve('closed'))
      })
    }
    assert.deepEqual([await open(), await open(), await open()], ['HTTP/1.1 200', 'HTTP/1.1 200', 'closed'])
  })
})
