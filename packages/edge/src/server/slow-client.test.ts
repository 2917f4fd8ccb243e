/** Clients that send or take as little as they can, to hold what others need. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type net from 'node:net'
import { describe, it } from 'node:test'
import { until } from '../../../../test/support/condition.ts'
import { openEdge } from '../../../../test/support/edge.ts'
import { rawClient } from '../../../../test/support/raw-request.ts'
import { LEAST_BYTES_PER_SECOND } from '../origin/stream-answer.ts'

/** Far more than an honest head takes on a slow machine, three hundred others before it. */
const HEADERS_MS = 1_500
const BODY_LOOK_MS = 800
/** What must have come at each look. */
const LEAST_BYTES = (LEAST_BYTES_PER_SECOND * BODY_LOOK_MS) / 1_000

let received = 0
const edge = await openEdge({
  headersMs: HEADERS_MS,
  bodyLookMs: BODY_LOOK_MS,
  answerWaitMs: 1_500,
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

it('a head that comes byte by byte without an end gets 408', async (t) => {
  const { socket, ended } = rawClient(t, edge.port)
  socket.write('GET / HTTP/1.1\r\nHost: red.example\r\nX-A: ')
  drip(socket, 20, 'x')
  assert.match(await ended, /^HTTP\/1\.1 408 /)
})

describe('a body that does not end', () => {
  const head = 'POST /upload HTTP/1.1\r\nHost: red.example\r\nContent-Length: 1000000\r\n\r\n'

  it('gets 408 below the minimum pace, and the connection to the origin is free again', async (t) => {
    const { socket, ended } = rawClient(t, edge.port)
    socket.write(head)
    drip(socket, BODY_LOOK_MS / 10, 'x')
    assert.match(await ended, /^HTTP\/1\.1 408 [\s\S]*took too long/)
    await until('the origin has none', async () => (await openConnections(edge.originServer)) === 0)
  })

  it('takes as long as it needs at the minimum pace, longer than the origin may be silent', async (t) => {
    const { socket, ended } = rawClient(t, edge.port)
    const [parts, part] = [16, 'x'.repeat(LEAST_BYTES / 2)]
    socket.write(
      head.replace('Content-Length: 1000000', `Connection: close\r\nContent-Length: ${parts * part.length}`),
    )
    received = 0
    // Four parts for each look, of which two would do: a busy machine may be late by half.
    const writing = setInterval(() => socket.write(part), BODY_LOOK_MS / 4)
    await until('all has come', () => received >= parts * part.length)
    clearInterval(writing)
    assert.match(await ended, /^HTTP\/1\.1 200 /)
  })
})

it('an answer of the origin of which nothing is taken is not held for ever', async (t) => {
  const { socket } = rawClient(t, edge.port)
  socket.write('GET /large HTTP/1.1\r\nHost: red.example\r\n\r\n')
  await once(socket, 'data')
  socket.pause()
  // One of before may be about to close.
  assert((await openConnections(edge.server)) >= 1)
  await until('it is closed', async () => (await openConnections(edge.server)) === 0)
})
