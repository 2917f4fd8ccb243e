import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { describe, it } from 'node:test'
import tls from 'node:tls'
import { standsAt, until } from '../../../../test/support/condition.ts'
import { GOOGLEBOT, openEdge, openSession, PERSON, testTls } from '../../../../test/support/edge.ts'
import { listening, openSocket } from '../../../../test/support/loopback.ts'
import { createEdgeServers, type EdgeTls, renewTicketKeys } from './servers.ts'

const { NGHTTP2_CANCEL, NGHTTP2_NO_ERROR } = http2.constants
const ROOT = { ':path': '/', ':authority': 'red.example' }
const POST = { ...ROOT, ':method': 'POST' }

/** What the origin does is set by each test. */
let answer: http.RequestListener = (_req, res) => res.end()
const edge = await openEdge({ tls: true, answerWaitMs: 2_000, origin: (req, res) => answer(req, res) })

async function headOf(stream: http2.ClientHttp2Stream) {
  const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  return { status: Number(headers[':status']), headers }
}

async function ask(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders = {},
  body?: Buffer | string,
) {
  const asked = { ...ROOT, 'user-agent': PERSON, ...headers }
  const stream = session.request(asked, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  const head = await headOf(stream)
  return { ...head, body: String(Buffer.concat(await stream.toArray())) }
}

describe('HTTP/2', () => {
  // Proves decided "HTTP versions"
  it('a person gets the origin, which is asked in the words of HTTP/1.1', async (t) => {
    let asked: string[] = []
    answer = (req, res) => {
      asked = req.rawHeaders
      const hop = ['Connection', 'X-Hop', 'X-Hop', '1']
      res.writeHead(200, 'Fine', ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', ...hop])
      res.end(`${req.method} ${req.url}`)
    }
    const lies = { cookie: ['x=1', 'y=2'], 'x-forwarded-for': '10.0.0.1' }
    const { status, headers, body } = await ask(edge.session(t), { ':path': '/a?b=1', ...lies })
    assert.deepEqual([status, body], [200, 'GET /a?b=1'])
    assert.deepEqual([headers['set-cookie'], headers['x-hop']], [['a=1', 'b=2'], undefined])
    assert.deepEqual([headers['x-prepaint'], headers.via], ['pass; not-a-crawler', '1.1 prepaint'])
    const sent = (name: string) =>
      asked.filter((_, at) => at % 2 === 1 && asked[at - 1]!.toLowerCase() === name)
    assert.deepEqual(['host', 'via'].flatMap(sent), [new URL(edge.origin).host, '2 prepaint'])
    assert.deepEqual(['cookie', 'x-forwarded-for'].flatMap(sent), ['x=1; y=2', '127.0.0.1'])
    assert.deepEqual(['x-forwarded-proto', 'x-forwarded-host'].flatMap(sent), ['https', 'red.example'])
    assert(!asked.some((text) => text.startsWith(':')))
  })

  it('HTTP/1.1 is spoken on the same port, also with a client that offers nothing', async () => {
    answer = (req, res) => res.end(`${req.headers['x-forwarded-proto']} ${req.headers.via}`)
    for (const offered of [{ ALPNProtocols: ['http/1.1'] }, {}]) {
      const req = https.get({
        ...{ host: '127.0.0.1', port: edge.tlsPort, servername: 'red.example', agent: false },
        ...{ rejectUnauthorized: false, headers: { host: 'red.example' }, ...offered },
      })
      const [res] = (await once(req, 'response')) as [http.IncomingMessage]
      assert.equal(String(Buffer.concat(await res.toArray())), 'https 1.1 prepaint')
    }
  })
})

describe('bodies over HTTP/2', () => {
  it('an upload stops when the origin takes nothing, and the session serves on', async (t) => {
    const asked = Promise.withResolvers<http.IncomingMessage>()
    answer = (req, res) => {
      if (req.method === 'POST') asked.resolve(req)
      else res.end('still here')
    }
    const session = edge.session(t)
    const stream = session.request(POST)
    stream.on('error', () => {})
    let pieces = 0
    const more = (error?: Error | null) => {
      if (error) return
      pieces += 1
      stream.write(Buffer.alloc(64 * 1024), more)
    }
    more()
    const req = await asked.promise
    // Windows and socket buffers fill up; then nothing moves.
    assert((await standsAt(() => pieces)) < 512)
    assert.equal((await ask(session)).body, 'still here')
    req.on('error', () => {})
    const closed = new Promise((resolve) => req.once('close', resolve))
    stream.close(NGHTTP2_CANCEL)
    // The end is seen only by reading.
    req.resume()
    await closed
  })

  it('a body that is not read ends in peace: after an early answer, or with a page that is served', async (t) => {
    await edge.ask('/cached')
    answer = (_req, res) => res.end('early')
    const session = edge.session(t)
    for (const [headers, verdict] of [
      [POST, 'pass; not-a-crawler'],
      [{ ...ROOT, ':path': '/cached', 'user-agent': GOOGLEBOT }, 'hit'],
    ] as const) {
      const stream = session.request(headers, { endStream: false })
      stream.write('half')
      assert.equal((await headOf(stream)).headers['x-prepaint'], verdict)
      await once(stream.resume(), 'close')
      assert.equal(stream.rstCode, NGHTTP2_NO_ERROR)
    }
  })

  it('an empty body ends at the origin, whose connection is used again', async (t) => {
    const connections = new Set<unknown>()
    answer = (req, res) => {
      connections.add(req.socket)
      res.end(`${req.method} ${req.headers['content-length']}`)
    }
    const session = edge.session(t)
    const headers = { ':method': 'POST', 'content-length': '0' }
    for (const _ of [1, 2, 3]) assert.equal((await ask(session, headers, '')).body, 'POST 0')
    assert.equal(connections.size, 1)
  })

  it('a page that lies ready answers no other method, and no request with two hosts', async (t) => {
    await edge.ask('/cached')
    const session = edge.session(t)
    const verdict = async (more: http2.OutgoingHttpHeaders) =>
      (await ask(session, { ':path': '/cached', 'user-agent': GOOGLEBOT, ...more })).headers['x-prepaint']
    assert.deepEqual([await verdict({}), await verdict({ ':method': 'DELETE' })], ['hit', 'pass; method'])
    assert.notEqual(await verdict({ host: 'blue.example' }), 'hit')
  })

  it('an origin that breaks off in the middle breaks the answer', async (t) => {
    answer = (_req, res) => {
      res.writeHead(200, { 'content-length': '100' })
      res.write('half', () => res.destroy())
    }
    const stream = edge.session(t).request(ROOT).resume()
    const [error] = await once(stream, 'error').catch((thrown: Error) => [thrown])
    assert.match(String(error), /INTERNAL_ERROR/)
  })
})

describe('requests of HTTP/2 that are refused', () => {
  it('a request whose Host differs from :authority gets 400, and the session serves on; if both agree it is answered', async (t) => {
    answer = (req, res) => res.end(String(req.headers['x-forwarded-host']))
    const session = edge.session(t)
    assert.equal((await ask(session, { host: 'blue.example' })).status, 400)
    assert.equal((await ask(session, { host: 'red.example' })).body, 'red.example')
  })

  it('TRACE and CONNECT get 405, also for a WebSocket (RFC 8441 is not offered: browsers open HTTP/1.1 for them)', async (t) => {
    const session = edge.session(t)
    const traced = await headOf(session.request({ ...ROOT, ':method': 'TRACE' }))
    assert.deepEqual([traced.status, traced.headers.allow?.includes('TRACE')], [405, false])
    const tunnel = session.request({ ':method': 'CONNECT', ':authority': 'red.example:443' })
    assert.equal((await headOf(tunnel)).status, 405)
    tunnel.close()
    assert.notEqual(session.remoteSettings.enableConnectProtocol, true)
  })
})

// A throw where node hands us an event would end the node, and with it the sites of everybody else.
describe('an origin that says what HTTP/2 cannot: the node and the session serve on', () => {
  const CHUNKED = '200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\na\r\n0'
  const SAID: [answer: string, status: number][] = [
    ['999 Denied\r\nConnection: close', 502],
    ['200 OK\r\nHTTP2-Settings: a\r\nConnection: close', 200],
    ['200 OK\r\nETag: a\r\nETag: b\r\nConnection: close', 200],
    ['204 No Content\r\nConnection: close', 204],
    ['101 X\r\nConnection: Upgrade\r\nUpgrade: websocket', 502],
    [`${CHUNKED}\r\nHTTP2-Settings: a`, 200],
    [`${CHUNKED}\r\nETag: "a"\r\nETag: "b"`, 200],
  ]
  for (const [said, status] of SAID) {
    it(JSON.stringify(said), async (t) => {
      const session = edge.session(t)
      answer = (req) => void req.socket.end(`HTTP/1.1 ${said}\r\n\r\n`)
      const stream = session.request({ ...ROOT, 'user-agent': PERSON })
      stream.on('error', () => {})
      assert.equal((await headOf(stream)).status, status)
      await once(stream.resume(), 'close')
      answer = (_req, res) => res.writeHead(204).end()
      assert.equal((await ask(session)).status, 204)
    })
  }
})

const LIMITS = {
  clock: { nowMs: () => Date.now() },
  headersMs: 5_000,
  idleMs: 5_000,
  keepAliveMs: 5_000,
  stuckMs: 60_000,
}

it('a handshake for which there is no certificate: the client is told so, whatever it names, or nobody', async (t) => {
  const other = { protocol: 'acme-tls/1', context: null }
  const certificates: EdgeTls = {
    contextFor: () => null,
    alpn: (_name, protocols) => (protocols.includes(other.protocol) ? other : null),
  }
  const { secure } = createEdgeServers({ request() {}, upgrade() {} }, certificates, LIMITS)
  const port = await listening(secure!)
  t.after(() => void secure!.close())
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    for (const protocol of ['h2', other.protocol]) {
      for (const servername of ['', 'nobody.example', "' or 1=1 --"]) {
        const offered = { ALPNProtocols: [protocol], rejectUnauthorized: false, maxVersion }
        const socket = tls.connect({ host: '127.0.0.1', port, servername, ...offered })
        const [error] = (await once(socket, 'error')) as [Error]
        assert.match(error.message, /alert handshake failure/, `${maxVersion} ${protocol} ${servername}`)
      }
    }
  }
})

it('a request for which all lies ready, and which fails nevertheless, is asked in the usual way, over HTTP/2 too', async (t) => {
  const readyHit = () => {
    throw new Error('a fault')
  }
  const request: Parameters<typeof createEdgeServers>[0]['request'] = (req, res) =>
    void res.writeHead(200, ['Content-Length', '8']).end(`usual ${req.url}`)
  const { plain, secure } = createEdgeServers({ request, readyHit, upgrade() {} }, testTls(), LIMITS)
  t.after(() => void [plain, secure!].map((server) => server.close()))
  const client = openSocket(t, await listening(plain))
  client.write('GET /a HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\n\r\n')
  assert.match(String((await once(client, 'data'))[0]), /^HTTP\/1\.1 200 OK\r\n.*usual \/a/s)
  const session = openSession(t, await listening(secure!))
  assert.equal((await ask(session, { ':path': '/b' })).body, 'usual /b')
})

it('a TLS session is resumed until the key of its ticket is replaced', async (t) => {
  async function visit(session?: Buffer): Promise<{ reused: boolean; ticket: Buffer }> {
    const socket = tls.connect({
      ...{ host: '127.0.0.1', port: edge.tlsPort, servername: 'red.example', rejectUnauthorized: false },
      ...{ maxVersion: 'TLSv1.2', ...(session !== undefined && { session }) },
    })
    const given = session === undefined ? once(socket, 'session') : [session]
    const [[ticket]] = await Promise.all([given, once(socket, 'secureConnect')])
    const reused = socket.isSessionReused()
    socket.destroy()
    return { reused, ticket }
  }
  const { ticket } = await visit()
  assert.equal((await visit(ticket)).reused, true)
  const renewing = renewTicketKeys(edge.edge.secure!, () => {}, 5)
  t.after(() => renewing.close())
  await until('it is resumed no more', async () => !(await visit(ticket)).reused)
})
