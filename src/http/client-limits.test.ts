/** What one client may hold, at the limit and one past it. Loopback is many addresses: each is a client. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import net from 'node:net'
import { after, describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'
import ipaddr from 'ipaddr.js'
import { until as untilWithin } from '../../test/support/condition.ts'

import { loadConfig } from '../config.ts'
import { createSelfSigned } from '../gateway/tls-key.ts'
import { type ClientGate, type ClientLimits, createClientGate } from './client-limits.ts'

const LIMITS: ClientLimits = {
  connections: 3,
  requests: 2,
  connectionsInTotal: 10,
  unlimited: [],
  trustedProxies: [ipaddr.parseCIDR('127.0.0.9/32')],
}
const REFUSAL = 'HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'

/** Counting is undone when a socket has closed; nothing says when that is. */
const until = (holds: () => boolean) => untilWithin(String(holds), holds)

/** A server that answers when it is told so, and 429 to what the gate refuses. */
async function start(t: TestContext, limits: Partial<ClientLimits> = {}) {
  const gate = createClientGate({ ...LIMITS, ...limits })
  const waiting: http.ServerResponse[] = []
  const server = http.createServer((request, response) => {
    if (gate.enter(request, response)) waiting.push(response)
    else response.writeHead(429).end()
  })
  gate.watch(server, REFUSAL)
  server.listen(0, '::')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })

  const sockets: net.Socket[] = []
  const connect = async (from = '127.0.0.1') => {
    const socket = net.connect({ port, host: '127.0.0.1', localAddress: from })
    socket.on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
    return socket
  }
  t.after(() => {
    for (const socket of sockets) socket.destroy()
  })
  /** One request on a connection of its own; the status once it is there. */
  const ask = async (headers: Record<string, string> = {}, from = '127.0.0.1') => {
    const request = http.request({ port, host: '127.0.0.1', localAddress: from, agent: false, headers })
    request.on('error', () => {})
    request.end()
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.resume()
    return response.statusCode
  }
  const answerAll = () => {
    for (const response of waiting.splice(0)) response.end()
  }
  return { gate, connect, ask, waiting, answerAll, port, server }
}

/** What the server says first, or that it closed. */
async function firstWords(socket: net.Socket): Promise<string> {
  const [part] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [Buffer | boolean]
  return Buffer.isBuffer(part) ? part.toString() : 'closed'
}

describe('connections of one client', () => {
  it('at the limit open; one past it is told 429 and closed; another client has its own', async (t) => {
    const { connect, gate } = await start(t)
    const open = [await connect(), await connect(), await connect()]
    const fourth = await connect()
    assert.match(await firstWords(fourth), /^HTTP\/1\.1 429 /)
    await once(fourth, 'close')
    assert(open.every((socket) => !socket.destroyed))
    const other = await connect('127.0.0.2')
    assert.equal(gate.counts, 2)

    // A place is free again once one has closed.
    open[0]!.destroy()
    let again = ''
    while (again !== 'silent') {
      const socket = await connect()
      again = await Promise.race([
        firstWords(socket),
        new Promise<string>((resolve) => setTimeout(() => resolve('silent'), 50)),
      ])
    }
    for (const socket of [...open, other]) socket.destroy()
  })

  it('what is asked on a refused one is not answered', async (t) => {
    const { connect, waiting } = await start(t, { connections: 1 })
    await connect()
    const refused = (await connect()).resume()
    refused.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await once(refused, 'close')
    assert.equal(waiting.length, 0)
  })

  it('nothing is kept of clients who have gone', async (t) => {
    const { connect, ask, gate, answerAll, waiting } = await start(t)
    const sockets = await Promise.all(['127.0.0.1', '127.0.0.2', '127.0.0.3'].map(connect))
    const asked = ask({}, '127.0.0.4')
    await until(() => waiting.length === 1)
    assert.equal(gate.counts, 5)
    answerAll()
    await asked
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
  it('at the limit wait for their answers; one past it is 429; answered ones make room', async (t) => {
    const { ask, waiting, answerAll } = await start(t)
    const first = [ask(), ask()]
    await until(() => waiting.length === 2)
    assert.equal(await ask(), 429)
    const other = ask({}, '127.0.0.2')
    await until(() => waiting.length === 3)
    answerAll()
    assert.deepEqual(await Promise.all([...first, other]), [200, 200, 200])
    const last = ask()
    await until(() => waiting.length === 1)
    answerAll()
    assert.equal(await last, 200)
  })

  it('those that are sent ahead on one connection count alike', async (t) => {
    const { connect, waiting, answerAll } = await start(t)
    const socket = await connect()
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3))
    await until(() => waiting.length === 2)
    let text = ''
    socket.on('data', (part) => {
      text += part
    })
    answerAll()
    await until(() => text.includes('429'))
    assert.deepEqual(
      [...text.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => status),
      ['200', '200', '429'],
    )
  })

  it('a client that goes away before its answer leaves its place', async (t) => {
    const { connect, waiting, gate } = await start(t)
    const socket = await connect()
    socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await until(() => waiting.length === 1)
    socket.destroy()
    await until(() => gate.counts === 0)
  })

  it('through a trusted proxy count for whom it names, and its connections for nobody', async (t) => {
    const { ask, connect, waiting, answerAll } = await start(t)
    const PROXY = '127.0.0.9'
    for (let at = 0; at < 5; at++) await connect(PROXY)
    const named = (client: string) => ask({ 'x-forwarded-for': client }, PROXY)
    const first = [named('203.0.113.1'), named('203.0.113.1')]
    await until(() => waiting.length === 2)
    assert.equal(await named('203.0.113.1'), 429)
    // What the client itself wrote changes nothing.
    assert.equal(await named('8.8.8.8, 203.0.113.1'), 429)
    const other = named('203.0.113.2')
    await until(() => waiting.length === 3)
    answerAll()
    assert.deepEqual(await Promise.all([...first, other]), [200, 200, 200])
  })

  it('whoever is no trusted proxy names nobody', async (t) => {
    const { ask, waiting, answerAll } = await start(t)
    const first = [ask({ 'x-forwarded-for': '203.0.113.1' }), ask({ 'x-forwarded-for': '203.0.113.2' })]
    await until(() => waiting.length === 2)
    assert.equal(await ask({ 'x-forwarded-for': '203.0.113.3' }), 429)
    answerAll()
    await Promise.all(first)
  })

  it('IPv6: a /64 is one client', async (t) => {
    const { ask, waiting, answerAll } = await start(t)
    const named = (client: string) => ask({ 'x-forwarded-for': client }, '127.0.0.9')
    const first = [named('2001:db8:1:2::1'), named('2001:db8:1:2:ffff::9')]
    await until(() => waiting.length === 2)
    assert.equal(await named('2001:db8:1:2:3::4'), 429)
    const other = named('2001:db8:1:3::1')
    await until(() => waiting.length === 3)
    answerAll()
    await Promise.all([...first, other])
  })
})

describe('who is not limited', () => {
  it('has neither limit', async (t) => {
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

  it('by default: the addresses of nobody on the internet', () => {
    const { clients } = loadConfig({})
    const limited = (address: string) =>
      createClientGate(clients).clientOf({ headers: {}, socket: { remoteAddress: address } }) !== null
    for (const own of ['127.0.0.1', '::1', '10.1.2.3', '172.16.0.1', '192.168.0.1', '100.64.0.1', 'fd00::1'])
      assert.equal(limited(own), false, own)
    for (const other of ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1', '::ffff:8.8.8.8'])
      assert.equal(limited(other), true, other)
  })

  it('PREPAINT_UNLIMITED_CLIENTS=none: everybody is limited', () => {
    assert.deepEqual(loadConfig({ PREPAINT_UNLIMITED_CLIENTS: 'none' }).clients.unlimited, [])
    assert.throws(
      () => loadConfig({ PREPAINT_UNLIMITED_CLIENTS: 'all' }),
      /PREPAINT_UNLIMITED_CLIENTS takes addresses or CIDR, got "all"/,
    )
  })
})

describe('behind TLS', () => {
  const { privateKey, certificate } = createSelfSigned('localhost')
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const sessions: http2.ClientHttp2Session[] = []
  after(() => {
    for (const session of sessions) session.destroy()
  })

  async function startSecure(t: TestContext, limits: Partial<ClientLimits>) {
    const gate: ClientGate = createClientGate({ ...LIMITS, ...limits })
    const waiting: http2.Http2ServerResponse[] = []
    const server = http2.createSecureServer({ key, cert: certificate, allowHTTP1: true })
    server.on('request', (request: http2.Http2ServerRequest, response: http2.Http2ServerResponse) => {
      if (gate.enter(request, response)) waiting.push(response)
      else response.writeHead(429).end()
    })
    gate.watch(server, null)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => void server.close())
    const { port } = server.address() as net.AddressInfo
    const session = () => {
      const opened = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false })
      opened.on('error', () => {})
      sessions.push(opened)
      return opened
    }
    return { gate, waiting, session }
  }

  it('a connection past the limit is closed before its handshake, and leaves nothing', async (t) => {
    const { session, gate } = await startSecure(t, { connections: 1 })
    const first = session()
    await once(first, 'connect')
    const second = session()
    await new Promise<void>((resolve) => second.once('close', resolve))
    assert.equal(second.alpnProtocol, undefined)
    assert.equal(gate.counts, 1)
    first.destroy()
    await until(() => gate.counts === 0)
  })

  it('one that is handed to a server of HTTP/1.1 is still one', async (t) => {
    const gate = createClientGate({ ...LIMITS, connections: 2 })
    const plain = http.createServer((_req, res) => void res.end())
    const secure = tls.createServer({ key, cert: certificate }, (socket) => plain.emit('connection', socket))
    gate.watch(plain, REFUSAL)
    gate.watch(secure, null)
    secure.listen(0, '127.0.0.1')
    await once(secure, 'listening')
    t.after(() => {
      secure.close()
      plain.closeAllConnections()
    })
    const { port } = secure.address() as net.AddressInfo
    const open = () => {
      const socket = tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
      t.after(() => void socket.destroy())
      socket.on('error', () => {})
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
      return new Promise<string>((resolve) => {
        socket.once('data', (part: Buffer) => resolve(String(part).split('\r\n', 1)[0]!))
        socket.once('close', () => resolve('closed'))
      })
    }
    assert.deepEqual(
      [await open(), await open(), await open()],
      ['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK', 'closed'],
    )
  })

  it('streams of one connection are requests', async (t) => {
    const { session, waiting, gate } = await startSecure(t, {})
    const one = session()
    const ask = async () => {
      const stream = one.request({ ':path': '/' })
      stream.end()
      const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
      stream.resume()
      return headers[':status']
    }
    const first = [ask(), ask()]
    await until(() => waiting.length === 2)
    assert.equal(await ask(), 429)
    for (const response of waiting.splice(0)) response.end()
    assert.deepEqual((await Promise.all(first)).map(Number), [200, 200])
    one.destroy()
    await until(() => gate.counts === 0)
  })
})
