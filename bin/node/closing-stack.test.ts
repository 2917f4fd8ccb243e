/** A node that is asked to end: its parts close in reverse, and no request that was taken is cut. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import http2 from 'node:http2'
import net from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'
import { silentLog } from '../../src/log.ts'
import { until } from '../../test/support/condition.ts'
import { GOOGLEBOT, startTestEdge } from '../../test/support/edge.ts'
import { listening } from '../../test/support/loopback.ts'
import { createClosingStack, type Deadline, drainable } from './closing-stack.ts'

const FAR_OFF: Deadline = { signal: new AbortController().signal, remainingMs: () => 60_000 }

async function startServer(handle: http.RequestListener) {
  const server = http.createServer({ keepAliveTimeout: 60_000 }, handle)
  return { server, drain: drainable(server).drain, port: await listening(server) }
}

/** An edge whose origin answers when it is told to. */
async function start(t: TestContext) {
  const waiting: http.ServerResponse[] = []
  const edge = await startTestEdge({
    tls: true,
    origin: (req, res) => {
      if (req.url === '/waits') waiting.push(res)
      else res.end('fine')
    },
  })
  const { drain } = drainable(edge.server, { secure: edge.edge.secure, begin: edge.edge.endSessions })
  t.after(() => edge.close())
  return {
    edge,
    drain: () => drain(FAR_OFF),
    waiting: () => waiting.length,
    asked: (count: number) => until(`${count} requests wait`, () => waiting.length >= count),
    answer: () => waiting.splice(0).forEach((res) => void res.end('late, but whole')),
  }
}

const HEAD = 'HTTP/1.1\r\nHost: red.example\r\nUser-Agent: a person\r\n'

/** All that comes on a bare connection until its end. */
async function all(socket: net.Socket): Promise<string> {
  let got = ''
  for await (const part of socket) got += String(part)
  return got
}

describe('draining the edge', { timeout: 240_000 }, () => {
  for (const scheme of ['http', 'https']) {
    it(`${scheme}: an answer that is under way is the last of its connection, and says so; idle ones end`, async (t) => {
      const { edge, drain, asked, answer } = await start(t)
      const open = async () => {
        const socket =
          scheme === 'http'
            ? net.connect(edge.port, '127.0.0.1')
            : tls.connect({ port: edge.tlsPort, servername: 'red.example', rejectUnauthorized: false })
        socket.on('error', () => {})
        await once(socket, scheme === 'http' ? 'connect' : 'secureConnect')
        return socket
      }
      const [busy, used, unused] = [await open(), await open(), await open()]
      used.write(`GET / ${HEAD}\r\n`)
      await once(used, 'data')
      busy.write(`GET /waits ${HEAD}\r\n`)
      await asked(1)
      const ended = Promise.all([once(used.resume(), 'close'), once(unused.resume(), 'close')])
      const drained = drain()
      await ended
      await assert.rejects(fetch(`http://127.0.0.1:${edge.port}`), 'no new connection is taken')
      answer()
      const got = await all(busy)
      assert.match(got, /^HTTP\/1\.1 200 OK\r\n/)
      assert.match(got, /\r\nConnection: close\r\n/)
      assert.match(got, /late, but whole/)
      await drained
    })
  }

  for (const [who, agent] of [
    ['a person', 'a person'],
    ['a crawler that has had nothing but hits', GOOGLEBOT],
  ] as const) {
    it(`${who}: what is asked while the node begins to end is answered, too`, async (t) => {
      const { edge, drain } = await start(t)
      const ask = `GET /page HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${agent}\r\n\r\n`
      for (const _ of [1, 2]) await edge.ask('/page')
      const socket = net.connect(edge.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(ask)
      await once(socket, 'data')
      const drained = drain()
      socket.write(ask)
      assert.match(await all(socket), /\r\nConnection: close\r\n/)
      await drained
    })
  }

  // Proves decided "Shutdown"
  it('HTTP/2: what was asked is answered, the client is told of the end at once, and then the session ends', async (t) => {
    const { edge, drain, asked, answer } = await start(t)
    const connect = () => {
      const session = http2.connect(`https://127.0.0.1:${edge.tlsPort}`, {
        ...{ servername: 'red.example', rejectUnauthorized: false },
      })
      t.after(() => session.destroy())
      return session
    }
    const [busy, idle] = [connect(), connect()]
    const idleEnds = once(idle, 'close')
    await once(idle, 'remoteSettings')
    const first = busy.request({ ':path': '/waits', ':authority': 'red.example' })
    await asked(1)
    const goaway = once(busy, 'goaway')
    const drained = drain()
    const [code] = (await goaway) as [number]
    assert.equal(code, http2.constants.NGHTTP2_NO_ERROR)
    await idleEnds
    answer()
    const [head] = (await once(first, 'response')) as [http2.IncomingHttpHeaders]
    assert.equal(head[':status'], 200)
    assert.equal(String(Buffer.concat(await first.toArray())), 'late, but whole')
    await drained
  })

  // Proves decided "Shutdown"
  it('disconnects WebSocket clients at once, and their origins', async (t) => {
    const { edge, drain } = await start(t)
    const origins: Duplex[] = []
    edge.originServer.on('upgrade', (_req, socket: Duplex) => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
      origins.push(socket)
    })
    const client = net.connect(edge.port, '127.0.0.1')
    client.on('error', () => {})
    client.write(
      `GET /live ${HEAD}Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: eA==\r\n\r\n`,
    )
    await once(client, 'data')
    const ended = Promise.all([once(client.resume(), 'close'), once(origins[0]!.resume(), 'end')])
    const drained = drain()
    await ended
    await drained
  })
})

describe('draining a server', () => {
  it('waits until a slow client has taken all of an answer that was given whole', async (t) => {
    const body = Buffer.alloc(16 * 1024 * 1024)
    const { server, drain, port } = await startServer((_req, res) => res.end(body))
    const [slow, unused] = [net.connect(port, '127.0.0.1'), net.connect(port, '127.0.0.1')]
    for (const client of [slow, unused]) {
      t.after(() => void client.destroy())
      client.on('error', () => {})
    }
    await once(unused, 'connect')
    const asked = once(server, 'request')
    slow.pause().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await asked
    const drained = drain(FAR_OFF)
    await once(unused.resume(), 'close')
    let got = 0
    for await (const part of slow as AsyncIterable<Buffer>) got += part.length
    assert(got > body.length, `${got} bytes`)
    await drained
  })

  it('cuts what is left at the deadline, upgraded connections too', async () => {
    const { server, drain, port } = await startServer(() => {})
    server.on('upgrade', (_req, socket) => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    })
    const client = net.connect(port, '127.0.0.1')
    client.write('GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
    await once(client, 'data')
    const closed = once(client, 'close')
    client.on('error', () => {})
    const deadline = new AbortController()
    let over = false
    const drained = drain({ ...FAR_OFF, signal: deadline.signal }).then(() => {
      over = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(over, false, 'it waits for as long as it may')
    deadline.abort()
    await Promise.all([drained, closed])
  })

  it('has nothing to do for a server that never listened', async () => {
    await drainable(http.createServer()).drain(FAR_OFF)
  })
})

it('closes in reverse, all of it also when one part fails, against one deadline', async () => {
  let nowMs = 1_000
  const closed: string[] = []
  const stack = createClosingStack({ clock: { nowMs: () => nowMs }, log: silentLog() })
  stack.add('database', async ({ remainingMs }) => {
    closed.push(`database ${remainingMs()}`)
  })
  stack.add('listener', async () => {
    throw new Error('already gone')
  })
  stack.add('edge', async ({ remainingMs }) => {
    closed.push(`edge ${remainingMs()}`)
    nowMs += 7_000
  })
  await stack.closeAll(10_000)
  assert.deepEqual(closed, ['edge 10000', 'database 3000'])
  await stack.closeAll(10_000)
  assert.equal(closed.length, 2, 'what is closed is not closed again')
})
