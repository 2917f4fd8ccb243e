import assert from 'node:assert/strict'
import { once } from 'node:events'
import http2 from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import { after, before, describe, it, type TestContext } from 'node:test'

import { PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'

// What the origin does with a connection on which somebody has asked is set by each test.
let answer: (socket: net.Socket) => void = (socket) => socket.end()
const origin = net.createServer((socket) => {
  socket.on('error', () => {})
  socket.once('data', () => answer(socket))
})
let edge: TestEdge
before(async () => {
  edge = await startTestEdge({ tls: true, answerWaitMs: 5_000 })
  origin.listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const { port } = origin.address() as AddressInfo
  await edge.pool.query('update domain set origin_url = $1', [`http://127.0.0.1:${port}`])
})
after(async () => {
  await edge.close()
  origin.close()
})

function saying(words: string): (socket: net.Socket) => void {
  return (socket) => socket.end(words, 'latin1')
}

async function connect(t: TestContext): Promise<http2.ClientHttp2Session> {
  const session = http2.connect(`https://127.0.0.1:${edge.tlsPort}`, {
    servername: 'red.example',
    rejectUnauthorized: false,
  })
  session.on('error', () => {})
  t.after(() => session.destroy())
  await once(session, 'remoteSettings')
  return session
}

const FROM_PERSON = { ':authority': 'red.example', ':path': '/', 'user-agent': PERSON }

async function statusOf(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
): Promise<number> {
  const stream = session.request(headers)
  stream.on('error', () => {})
  const [got] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  stream.resume()
  await once(stream, 'close')
  return Number(got[':status'])
}

/** The node lives, and so does the connection. */
async function assertServesOn(session: http2.ClientHttp2Session): Promise<void> {
  answer = saying('HTTP/1.1 204 Fine\r\nConnection: close\r\n\r\n')
  assert.equal(await statusOf(session, FROM_PERSON), 204)
}

// A throw where node hands us an event would end the node, and with it the sites of everybody else.
describe('an origin that says what HTTP/2 cannot', { timeout: 240_000 }, () => {
  const heads = [
    ['999 Denied', 502],
    ['600 X', 502],
    ['200 OK\r\nHTTP2-Settings: a', 200],
    ['200 OK\r\nETag: a\r\nETag: b', 200],
    ['204 No Content', 204],
    ['304 Not Modified', 304],
    ['101 X\r\nConnection: Upgrade\r\nUpgrade: websocket', 502],
  ] as const
  for (const [head, status] of heads) {
    it(`in the head of an answer: ${JSON.stringify(head)}`, async (t) => {
      const session = await connect(t)
      const more = head.startsWith('101') ? '' : 'Connection: close\r\n'
      answer = saying(`HTTP/1.1 ${head}\r\nX-Said: 1\r\n${more}\r\n`)
      assert.equal(await statusOf(session, FROM_PERSON), status)
      await assertServesOn(session)
    })
  }

  for (const trailers of ['HTTP2-Settings: a', 'ETag: "a"\r\nETag: "b"', 'Date: a\r\nDate: b', 'TE: gzip']) {
    it(`in trailers: ${JSON.stringify(trailers)}`, async (t) => {
      answer = saying(
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\na\r\n0\r\n${trailers}\r\n\r\n`,
      )
      const session = await connect(t)
      assert.equal(await statusOf(session, FROM_PERSON), 200)
      await assertServesOn(session)
    })
  }
})
