/** Clients that send or take as little as they can, to hold what others need. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, describe, it, type TestContext } from 'node:test'
import { PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import { LEAST_BYTES_PER_SECOND } from '../origin/stream-answer.ts'

/** Far more than an honest head takes on a slow machine, three hundred others before it. */
const HEADERS_MS = 1_500
const BODY_LOOK_MS = 800
/** What must have come at each look. */
const LEAST_BYTES = (LEAST_BYTES_PER_SECOND * BODY_LOOK_MS) / 1_000

let edge: TestEdge
let received = 0
before(async () => {
  edge = await startTestEdge({
    headersMs: HEADERS_MS,
    bodyLookMs: BODY_LOOK_MS,
    idleMs: 2_000,
    origin: async (req, res) => {
      if (req.url === '/large') return void res.end(Buffer.alloc(64 * 1024 * 1024))
      try {
        for await (const part of req) received += (part as Buffer).length
      } catch {
        return // the edge has given up
      }
      res.end('taken')
    },
  })
})
after(() => edge.close())

/** A client on a bare connection; `ended` gives what it was told. */
function connect(t: { after(end: () => void): void }) {
  const socket = net.connect({ port: edge.port, host: '127.0.0.1', allowHalfOpen: true })
  t.after(() => void socket.destroy())
  socket.on('error', () => {})
  socket.once('end', () => socket.end())
  let text = ''
  socket.on('data', (part) => {
    text += part
  })
  // Not by `once`, which fails with the reset that whoever goes on writing is answered with.
  return { socket, ended: new Promise<string>((tell) => socket.once('close', () => tell(text))) }
}

/** Writes `bytes` every `everyMs` until the connection is gone. */
function drip(socket: net.Socket, everyMs: number, bytes: string): void {
  const timer = setInterval(() => socket.write(bytes), everyMs)
  socket.once('end', () => clearInterval(timer)).once('close', () => clearInterval(timer))
}

function openConnections(server: net.Server): Promise<number> {
  return new Promise((resolve, reject) =>
    server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
}

describe('a head that does not end', () => {
  it('408: one byte after another', async (t) => {
    const { socket, ended } = connect(t)
    socket.write('GET / HTTP/1.1\r\nHost: red.example\r\nX-A: ')
    drip(socket, 20, 'x')
    assert.match(await ended, /^HTTP\/1\.1 408 /)
  })

  it('a connection on which nothing is said ends too', async (t) => {
    assert.doesNotMatch(await connect(t).ended, / 200 /)
  })

  it('three hundred of them hold up nobody', async (t) => {
    const slow = Array.from({ length: 300 }, () => connect(t))
    for (const { socket } of slow) {
      socket.write('GET / HTTP/1.1\r\nHost: red.example\r\nX-A: ')
      drip(socket, 100, 'x')
    }
    assert.equal((await edge.ask('/', { agent: PERSON })).status, 200)
    await Promise.all(slow.map(({ ended }) => ended))
  })
})

describe('a body that does not end', () => {
  const head = 'POST /upload HTTP/1.1\r\nHost: red.example\r\nContent-Length: 1000000\r\n\r\n'

  it('408: below the least pace, and the connection to the origin is free again', async (t) => {
    const { socket, ended } = connect(t)
    socket.write(head)
    drip(socket, BODY_LOOK_MS / 10, 'x')
    const got = await ended
    assert.match(got, /^HTTP\/1\.1 408 /)
    assert.match(got, /took too long/)
    // The origin hears of it a moment later.
    while ((await openConnections(edge.originServer)) > 0) await new Promise(setImmediate)
  })

  it('in chunks of one byte: the same', async (t) => {
    const { socket, ended } = connect(t)
    socket.write('POST /upload HTTP/1.1\r\nHost: red.example\r\nTransfer-Encoding: chunked\r\n\r\n')
    drip(socket, BODY_LOOK_MS / 10, '1\r\nx\r\n')
    assert.match(await ended, /^HTTP\/1\.1 408 /)
  })

  it('at the least pace it may take as long as it takes', async (t) => {
    const { socket, ended } = connect(t)
    const parts = 16
    const part = 'x'.repeat(LEAST_BYTES / 2)
    socket.write(
      `POST /upload HTTP/1.1\r\nHost: red.example\r\nConnection: close\r\nContent-Length: ${parts * part.length}\r\n\r\n`,
    )
    received = 0
    // Four parts for each look, of which two would do: a busy machine may be late by half.
    for (let sent = 0; sent < parts; sent++) {
      socket.write(part)
      await new Promise((next) => setTimeout(next, BODY_LOOK_MS / 4))
    }
    assert.match(await ended, /^HTTP\/1\.1 200 /)
    assert.equal(received, parts * part.length)
  })
})

describe('an answer of which nothing is taken is not held for ever', () => {
  it('of the origin', async (t) => ended(t, `GET /large HTTP/1.1\r\nHost: red.example\r\n\r\n`))

  it('of the cache', async (t) => {
    // More than what the kernel takes for a client who does not.
    const html = `<p>${'x'.repeat(15 * 1024 * 1024)}</p>`
    edge.script({ kind: 'rendered', status: 200, headers: [], html })
    // Packing it may itself take longer than a client may be silent here.
    while ((await edge.verdict('/cached').catch(() => '')) !== 'hit');
    await ended(t, `GET /cached HTTP/1.1\r\nHost: red.example\r\nUser-Agent: Googlebot\r\n\r\n`)
  })

  async function ended(t: TestContext, request: string): Promise<void> {
    const { socket } = connect(t)
    socket.write(request)
    await once(socket, 'data')
    socket.pause()
    // One of before may be about to close.
    assert((await openConnections(edge.server)) >= 1)
    while ((await openConnections(edge.server)) > 0) await new Promise((next) => setTimeout(next, 20))
  }
})
