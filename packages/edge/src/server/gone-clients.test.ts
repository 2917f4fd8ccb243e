/** Clients that leave in whatever way: nothing of theirs may stay open, neither here nor at the origin. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type http from 'node:http'
import net from 'node:net'
import { describe, it } from 'node:test'
import tls from 'node:tls'
import { until } from '../../../../test/support/condition.ts'
import { GOOGLEBOT, openEdge, PERSON } from '../../../../test/support/edge.ts'
import {
  END_HEADERS,
  FRAME,
  frame,
  get,
  headerBlock,
  setting,
  uint32,
} from '../../../../test/support/http2-frames.ts'

const STUCK_MS = 60_000
/** More than the kernel takes of both ends of a connection. */
const LARGE = 32 * 1024 * 1024
const PART = Buffer.alloc(64 * 1024)

let underWay = 0
/** The origin reads them only when it is to see whether they go on. */
const uploads: http.IncomingMessage[] = []
const edge = await openEdge({
  tls: true,
  stuckMs: 1_500,
  answerWaitMs: 1_500,
  bodyLookMs: 1_000,
  keepAliveMs: 1_000,
  origin: (req, res) => {
    underWay++
    res.once('close', () => underWay--)
    if (req.method === 'POST') {
      uploads.push(req)
      return
    }
    if (req.url === '/large') return void res.end(Buffer.alloc(LARGE))
    const pour = () => {
      while (!res.destroyed && res.write(PART));
    }
    res.on('drain', pour)
    pour()
  },
})
edge.originServer.on('upgrade', (_req, socket: net.Socket) => {
  underWay++
  socket.once('close', () => underWay--)
  socket.on('error', () => {})
  socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n')
  const pour = () => {
    while (!socket.destroyed && socket.write(PART));
  }
  socket.on('drain', pour)
  pour()
})

/** `/hit` is in memory, larger than the kernel takes. */
edge.script({ kind: 'rendered', status: 200, headers: [], html: `<h1>hit</h1>${'x'.repeat(LARGE / 2)}` })
assert.equal(await edge.verdict('/hit'), 'rendered')

type Exchange = 'hit' | 'pass' | 'stream' | 'upload' | 'WebSocket'
const PATHS: Record<Exchange, string> = {
  hit: '/hit',
  pass: '/large',
  stream: '/stream',
  upload: '/upload',
  WebSocket: '/socket',
}

/** Begins the exchange, and reads nothing of its answer. */
async function beginHttp1(exchange: Exchange): Promise<net.Socket> {
  const socket = net.connect(edge.port, '127.0.0.1')
  socket.on('error', () => {}).pause()
  await once(socket, 'connect')
  const lines = [
    `${exchange === 'upload' ? 'POST' : 'GET'} ${PATHS[exchange]} HTTP/1.1`,
    'Host: red.example',
    'Accept-Encoding: identity',
    `User-Agent: ${exchange === 'hit' ? GOOGLEBOT : PERSON}`,
  ]
  if (exchange === 'WebSocket') {
    lines.push(
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Key: AA',
    )
  }
  if (exchange === 'upload') lines.push(`Content-Length: ${LARGE}`)
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  if (exchange === 'upload') socket.write(Buffer.alloc(LARGE))
  return socket
}

/** As `beginHttp1`, with windows so large that the edge writes all into the connection. */
async function beginHttp2(exchange: Exchange): Promise<net.Socket> {
  const socket = net.connect(edge.tlsPort, '127.0.0.1')
  const secure = tls.connect({
    socket,
    servername: 'red.example',
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
  })
  secure.on('error', () => {})
  socket.on('error', () => {})
  await once(secure, 'secureConnect')
  secure.pause()
  secure.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  const window = 2 ** 31 - 1
  secure.write(frame(FRAME.settings, 0, 0, setting(4, window)))
  secure.write(frame(WINDOW_UPDATE, 0, 0, uint32(window - 65_535)))
  if (exchange === 'upload') {
    const pseudo: [string, string][] = [
      [':method', 'POST'],
      [':scheme', 'https'],
      [':authority', 'red.example'],
      [':path', PATHS.upload],
    ]
    secure.write(frame(FRAME.headers, END_HEADERS, 1, headerBlock(pseudo)))
    for (let sent = 0; sent < FIRST_WINDOW; sent += FRAME_BYTES) {
      secure.write(frame(FRAME.data, 0, 1, Buffer.alloc(Math.min(FRAME_BYTES, FIRST_WINDOW - sent))))
    }
  } else {
    const agent = exchange === 'hit' ? GOOGLEBOT : PERSON
    secure.write(
      get(1, PATHS[exchange], [
        ['user-agent', agent],
        ['accept-encoding', 'identity'],
      ]),
    )
  }
  return socket
}
const WINDOW_UPDATE = 8
const FIRST_WINDOW = 65_535
const FRAME_BYTES = 16_384

const LEAVING: Record<string, (client: net.Socket) => void> = {
  'ends its connection': (client) => client.destroy(),
  'resets its connection': (client) => client.resetAndDestroy(),
  // Of this one the kernel knows nothing.
  'says and takes nothing any more': () => {},
}

const connections = (server: net.Server) =>
  new Promise<number>((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
/** The edge's ends of connections. */
const near = new Set<net.Socket>()
for (const server of [edge.server, edge.edge.secure!]) {
  server.on('connection', (socket: net.Socket) => {
    near.add(socket)
    socket.once('close', () => near.delete(socket))
  })
}
const sending = () => [...near].filter((socket) => socket.bytesWritten > PART.length).length
const openHere = async () => (await connections(edge.server)) + (await connections(edge.edge.secure!))

/**
 * Without connections to PostgreSQL, which are Unix sockets and come and go, and those that are kept for further calls to
 * the origin, of which both ends are in this process.
 */
async function heldDescriptors(): Promise<number> {
  const unix = readFileSync('/proc/net/unix', 'latin1')
  const held = readdirSync('/proc/self/fd').filter((fd) => {
    const inode = /^socket:\[(\d+)\]$/.exec(linkOf(fd))?.[1]
    return inode === undefined || !unix.includes(` ${inode}`)
  })
  return held.length - 2 * (await connections(edge.originServer))
}

/** Returns '' for a descriptor that was closed meanwhile. */
function linkOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}

for (const [protocol, begin, exchanges] of [
  ['HTTP/1.1', beginHttp1, ['hit', 'pass', 'stream', 'upload', 'WebSocket']],
  ['HTTP/2', beginHttp2, ['hit', 'pass', 'stream', 'upload']],
] as const) {
  describe(`a client of ${protocol} that`, () => {
    for (const [leaving, leave] of Object.entries(LEAVING)) {
      for (const exchange of exchanges) {
        it(`${leaving} in the middle of ${exchange} leaves nothing open`, async () => {
          const before = await heldDescriptors()
          const clients = await Promise.all([begin(exchange), begin(exchange), begin(exchange)])
          if (exchange === 'hit') await until('pages are sent', () => sending() === clients.length)
          else await until('the origin is asked', () => underWay === clients.length)
          for (const client of clients) leave(client)
          const time = setInterval(() => edge.wait(STUCK_MS / 30), 100)
          await until('no client is connected', async () => (await openHere()) === 0)
          clearInterval(time)
          for (const upload of uploads.splice(0)) upload.resume()
          await until('the origin has nothing under way', () => underWay === 0)
          for (const client of clients) client.destroy()
          await until('no descriptor is left', async () => (await heldDescriptors()) <= before)
        })
      }
    }
  })
}
