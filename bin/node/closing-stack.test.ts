/** A node that is asked to end: its parts close in reverse, and no request that was taken is cut. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http from 'node:http'
import http2 from 'node:http2'
import type { Duplex } from 'node:stream'
import { text } from 'node:stream/consumers'
import { describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'
import { silentLog } from '@prepaint/runtime/log.ts'
import { until } from '../../test/support/condition.ts'
import { GOOGLEBOT, openEdge } from '../../test/support/edge.ts'
import { openSocket, serve } from '../../test/support/loopback.ts'
import { ClosingStack, type Deadline, DrainableServer } from './closing-stack.ts'

const FAR_OFF: Deadline = { signal: new AbortController().signal, remainingMs: () => 60_000 }

/** An edge whose origin answers `/waits` when it is told to. */
async function start(t: TestContext) {
  const waiting: http.ServerResponse[] = []
  const edge = await openEdge(
    {
      tls: true,
      origin: (req, res) => {
        if (req.url === '/waits') waiting.push(res)
        else res.end('fine')
      },
    },
    t,
  )
  const drainable = new DrainableServer(edge.server, {
    secure: edge.edge.secure,
    begin: edge.edge.endSessions,
  })
  return {
    edge,
    drain: () => drainable.drain(FAR_OFF),
    asked: () => until('a request waits', () => waiting.length > 0),
    answer: () => waiting.pop()!.end('late, but whole'),
  }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

const HEAD = 'HTTP/1.1\r\nHost: red.example\r\nUser-Agent: a person\r\n'
const UPGRADE = 'Upgrade: websocket\r\nConnection: Upgrade\r\n'

function acceptUpgrade(_req: unknown, socket: Duplex): void {
  socket.on('error', () => {})
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${UPGRADE}\r\n`)
}

describe('draining the edge', { timeout: 240_000 }, () => {
  for (const scheme of ['http', 'https']) {
    it(`${scheme}: an answer that is under way is the last of its connection, and says so; idle ones end`, async (t) => {
      const { edge, drain, asked, answer } = await start(t)
      const open = async () => {
        if (scheme === 'http') return openSocket(t, edge.port)
        const socket = tls.connect({
          ...{ port: edge.tlsPort, servername: 'red.example', rejectUnauthorized: false },
        })
        await once(socket, 'secureConnect')
        return socket.on('error', () => {})
      }
      const [busy, used, unused] = [await open(), await open(), await open()]
      used.write(`GET / ${HEAD}\r\n`)
      await once(used, 'data')
      busy.write(`GET /waits ${HEAD}\r\n`)
      await asked()
      const ended = Promise.all([once(used.resume(), 'close'), once(unused.resume(), 'close')])
      const drained = drain()
      await ended
      await assert.rejects(fetch(`http://127.0.0.1:${edge.port}`), 'no new connection is taken')
      answer()
      assert.match(await text(busy), /^HTTP\/1\.1 200 OK\r\n.*\r\nConnection: close\r\n.*late, but whole/s)
      await drained
    })
  }

  // A crawler that has had nothing but hits is on the fast lane.
  for (const agent of ['a person', GOOGLEBOT]) {
    it(`${agent}: what is asked while the node begins to end is answered, too`, async (t) => {
      const { edge, drain } = await start(t)
      const ask = `GET /page HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${agent}\r\n\r\n`
      for (const _ of [1, 2]) await edge.ask('/page')
      const socket = openSocket(t, edge.port)
      socket.write(ask)
      await once(socket, 'data')
      const drained = drain()
      socket.write(ask)
      assert.match(await text(socket), /\r\nConnection: close\r\n/)
      await drained
    })
  }

  it('a connection that waits to be accepted is accepted before the port closes', async (t) => {
    const { edge, drain } = await start(t)
    await nextTurn()
    const socket = openSocket(t, edge.port)
    socket.write(`GET /page ${HEAD}\r\n`)
    // It connects in this turn, in which the server accepts nothing.
    await new Promise<void>((resolve) => process.nextTick(resolve))
    const drained = drain()
    assert.match(await text(socket), /^HTTP\/1\.1 200 OK\r\n.*\r\nConnection: close\r\n/s)
    await drained
  })

  it('a request that has arrived is read and answered before idle connections end', async (t) => {
    const { edge, drain } = await start(t)
    const ask = `GET /page ${HEAD}\r\n`
    const socket = openSocket(t, edge.port)
    socket.write(ask)
    await once(socket, 'data')
    t.mock.timers.enable({ apis: ['setInterval'] })
    const drained = drain()
    for (const _ of [1, 2]) await nextTurn()
    socket.write(ask)
    t.mock.timers.tick(1_000)
    assert.match(await text(socket), /\r\nConnection: close\r\n/)
    await drained
  })

  // Proves decided "Shutdown"
  it('HTTP/2: what was asked is answered, the client is told of the end at once, and then the session ends', async (t) => {
    const { edge, drain, asked, answer } = await start(t)
    const [busy, idle] = [edge.session(t), edge.session(t)]
    const idleEnds = once(idle, 'close')
    await once(idle, 'remoteSettings')
    const first = busy.request({ ':path': '/waits', ':authority': 'red.example' })
    await asked()
    const goaway = once(busy, 'goaway')
    const drained = drain()
    const [code] = (await goaway) as [number]
    assert.equal(code, http2.constants.NGHTTP2_NO_ERROR)
    await idleEnds
    answer()
    assert.equal(await text(first), 'late, but whole')
    await drained
  })

  // Proves decided "Shutdown"
  it('disconnects WebSocket clients at once, and their origins', async (t) => {
    const { edge, drain } = await start(t)
    const upgraded = once(edge.originServer.on('upgrade', acceptUpgrade), 'upgrade')
    const client = openSocket(t, edge.port)
    client.write(`GET /live ${HEAD}${UPGRADE}Sec-WebSocket-Key: eA==\r\n\r\n`)
    await once(client, 'data')
    const [, origin] = (await upgraded) as [unknown, Duplex]
    const ended = Promise.all([once(client.resume(), 'close'), once(origin.resume(), 'end')])
    const drained = drain()
    await ended
    await drained
  })
})

describe('draining a server', () => {
  it('waits until a slow client has taken all of an answer that was given whole', async (t) => {
    const body = Buffer.alloc(16 * 1024 * 1024)
    const { server, port } = await serve((_req, res) => res.end(body))
    const drainable = new DrainableServer(server)
    const [slow, unused] = [openSocket(t, port), openSocket(t, port)]
    await once(unused, 'connect')
    const asked = once(server, 'request')
    slow.pause().write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await asked
    const drained = drainable.drain(FAR_OFF)
    await once(unused.resume(), 'close')
    assert((await text(slow)).length > body.length)
    await drained
  })

  it('cuts what is left at the deadline, upgraded connections too', async (t) => {
    const { server, port } = await serve(() => {})
    const drainable = new DrainableServer(server)
    server.on('upgrade', acceptUpgrade)
    const client = openSocket(t, port)
    client.write(`GET / HTTP/1.1\r\nHost: a\r\n${UPGRADE}\r\n`)
    await once(client, 'data')
    const closed = once(client, 'close')
    const deadline = new AbortController()
    let over = false
    const drained = drainable.drain({ ...FAR_OFF, signal: deadline.signal }).then(() => {
      over = true
    })
    await nextTurn()
    assert.equal(over, false, 'it waits for as long as it may')
    deadline.abort()
    await Promise.all([drained, closed])
  })
})

it('closes in reverse, all of it also when one part fails, against one deadline', async () => {
  let nowMs = 1_000
  const closed: string[] = []
  const stack = new ClosingStack({ nowMs: () => nowMs }, silentLog())
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
})
