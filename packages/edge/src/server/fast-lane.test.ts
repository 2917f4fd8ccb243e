import assert from 'node:assert/strict'
import type http from 'node:http'
import net from 'node:net'
import { beforeEach, describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'
import ipaddr from 'ipaddr.js'
import { loadConfig } from '../../../../bin/settings/config.ts'
import { until } from '../../../../test/support/condition.ts'
import { GOOGLEBOT, openEdge, PERSON, type TestEdge } from '../../../../test/support/edge.ts'
import { FRAME, frame, get, rawHttp2, setting, uint32 } from '../../../../test/support/http2-frames.ts'
import type { UnreadOutcome } from '../../../../test/support/outcome.ts'

const HTML = `<!doctype html><h1>Lamp</h1>${'<p>text</p>'.repeat(500)}`
const rendered = (html: string, status = 200): UnreadOutcome => ({
  ...{ kind: 'rendered', status, html, headers: [] },
})

/** More than all that lies between client and edge can hold. */
const LARGE = `<p>${'x'.repeat(16 * 1024 * 1024)}</p>`

/** More than is copied behind a head, and than is kept from a client that does not read. */
const WIDE = 'w'.repeat(300_000)

const HEADERS_MS = 1_500
/** With node's grace, three seconds. */
const KEEP_ALIVE_MS = 2_000
const IDLE_MS = 1_500

/** Requests that node has read. */
let byNode = 0
/** Responses of the origin that wait. */
const waiting: http.ServerResponse[] = []
let left = 0
const notFound: http.RequestListener = (_req, res) => void res.writeHead(404).end()
const ORIGIN: Record<string, http.RequestListener> = {
  '/x': (_req, res) => res.end('personal'),
  '/chunks': (_req, res) => {
    res.write('one,')
    setImmediate(() => res.end(' two'))
  },
  '/trailers': (_req, res) => {
    res.setHeader('Trailer', 'X-Sum')
    res.write('one')
    res.addTrailers({ 'X-Sum': '3' })
    res.end()
  },
  '/empty': (_req, res) => res.writeHead(204, 'Nothing Here', { 'X-A': 'b' }).end(),
  '/known': (_req, res) => res.writeHead(304, { ETag: '"a"' }).end(),
  '/wide': (_req, res) => res.end(WIDE),
  '/dateless': (_req, res) => {
    res.sendDate = false
    res.end('no date')
  },
  '/slow': (_req, res) => {
    res.once('close', () => {
      if (!res.writableFinished) left++
    })
    waiting.push(res)
  },
}
/** The edge's ends of connections, by the client's port. */
const ends = new Map<number | undefined, net.Socket>()
const edge = await openEdge({
  ...{ tls: true, memoryBytes: 256 * 1024 * 1024 },
  ...{ headersMs: HEADERS_MS, idleMs: IDLE_MS, keepAliveMs: KEEP_ALIVE_MS },
  origin: (req, res) => (ORIGIN[req.url!] ?? notFound)(req, res),
})
edge.server.on('request', () => byNode++)
edge.server.on('connection', (socket) => void ends.set(socket.remotePort, socket))
edge.script(rendered(HTML), rendered(LARGE))
for (const page of ['/lamp', '/large']) await isReady(edge, page, 'identity')
// Made when it is first asked for.
await isReady(edge, '/lamp')
const { etag } = (await edge.ask('/lamp', { headers: { 'accept-encoding': 'br' } })).headers

// Open before the first test is there: tests begin while the file still waits.
const trustedProxies = [ipaddr.parseCIDR('127.0.0.0/8')]
const clients = { ...loadConfig({}).clients, requests: 2, unlimited: [], trustedProxies }
const limited = await openEdge({ tls: true, clients, memoryBytes: 256 * 1024 * 1024 })
limited.server.on('request', () => byNode++)
limited.server.on('connection', (socket) => void ends.set(socket.remotePort, socket))
limited.script(rendered(LARGE))
await isReady(limited, '/large', 'identity')

beforeEach(() => {
  byNode = 0
})

const head = (target: string, lines = '', host = 'red.example', method = 'GET') =>
  `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: ${GOOGLEBOT}\r\n${lines}\r\n`
const hit = head('/lamp')
const person = (target: string, lines = '', method = 'GET') =>
  `${method} ${target} HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\n${lines}\r\n`
const personal = person('/x')
/** The lane reads no header twice. */
const forNode = person('/x', 'X-A: b\r\nX-A: c\r\n')

/** A client that writes and reads as it is told. */
function connect(
  t: Pick<TestContext, 'after'>,
  to: { secure?: boolean; allowHalfOpen?: boolean; at?: number } = {},
) {
  const place = { port: to.at ?? edge.port, host: '127.0.0.1', allowHalfOpen: to.allowHalfOpen ?? false }
  const secure = { ...place, port: edge.tlsPort, servername: 'red.example', rejectUnauthorized: false }
  const socket = to.secure === true ? tls.connect(secure) : net.connect(place)
  t.after(() => void socket.destroy())
  socket.on('error', () => {})
  let text = ''
  socket.setEncoding('latin1').on('data', (part: string) => {
    text += part
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const come = async (isThere: () => boolean) => {
    while (!isThere()) {
      if (socket.destroyed) throw new Error(`no whole answer came, but ${text.length} bytes`)
      await Promise.race([new Promise((resolve) => socket.once('data', resolve)), closed])
    }
  }

  /** The next answer that comes. */
  async function answer(method = 'GET'): Promise<string> {
    await come(() => text.includes('\r\n\r\n'))
    const end = text.indexOf('\r\n\r\n') + 4
    const head = text.slice(0, end)
    if (/^transfer-encoding: chunked/im.test(head)) {
      await come(() => /\r\n0\r\n(?:.+\r\n)*\r\n$/.test(text))
      const whole = text
      text = ''
      return whole
    }
    const hasBody = method !== 'HEAD' && !/^HTTP\/1\.1 (?:204|304)/.test(head)
    const length = end + (hasBody ? Number(/^content-length: (\d+)/im.exec(head)![1]) : 0)
    await come(() => text.length >= length)
    const whole = text.slice(0, length)
    text = text.slice(length)
    return whole
  }

  async function ask(request: string): Promise<string> {
    socket.write(request, 'latin1')
    return answer(request.slice(0, 4) === 'HEAD' ? 'HEAD' : 'GET')
  }
  /** The edge's end of it. */
  const served = () => until('the edge has the connection', () => ends.get(socket.localPort))
  return { socket, ask, answer, closed, served, rest: () => text }
}

/** Not by `once`, which fails with the reset that the client sends. */
function gone(socket: net.Socket): Promise<unknown> {
  return new Promise((resolve) => socket.once('close', resolve))
}

type Client = ReturnType<typeof connect>

/** What differs from one answer to the next. */
function comparable(answer: string): string {
  return answer.replace(/^Date: .*$/m, 'Date: now').replace(/^X-Request-Id: .*$/m, 'X-Request-Id: one')
}

/** The edge's end of a connection whose client takes nothing of a large answer. */
async function beginLarge(client: Client, request = head('/large')): Promise<net.Socket> {
  client.socket.pause().write(request)
  const socket = await client.served()
  await until('it is being answered', () => socket.writableLength > 0)
  return socket
}

/** To pack a page may take longer than a client may be silent here: asked until it is in memory. */
async function isReady(node: Pick<TestEdge, 'verdict'>, page: string, encoding = 'br'): Promise<void> {
  const headers = { 'accept-encoding': encoding }
  await until(`${page} is ready`, async () => (await node.verdict(page, { headers })) === 'hit')
}

async function assertLarge(answer: Promise<string>): Promise<void> {
  assert((await answer).length > LARGE.length)
}

const verdictIn = (answer: string) => /^X-Prepaint: (.*)\r$/m.exec(answer)?.[1]

describe('a page that lies ready is answered without node’s parser, with the same bytes', () => {
  const br = 'Accept-Encoding: br\r\n'
  const cases: [what: string, text: string][] = [
    ['as it is', head('/lamp')],
    ['HEAD', head('/lamp', br, 'red.example', 'HEAD')],
    ['304 by ETag', head('/lamp', `${br}If-None-Match: ${etag}\r\n`)],
    ['parameters in another order', head('/lamp?utm_source=a', 'Connection: keep-alive\r\n')],
  ]
  for (const [what, text] of cases) {
    it(what, async (t) => {
      const nodes = connect(t)
      const direct = await connect(t).ask(text)
      assert.equal(comparable(await connect(t, { secure: true }).ask(text)), comparable(direct))
      assert.equal(byNode, 0)
      // A connection that Node has read once stays with Node.
      await nodes.ask(forNode)
      const usual = await nodes.ask(text)
      assert.equal(byNode, 2)
      assert.equal(comparable(direct), comparable(usual))
      assert.equal(verdictIn(direct), 'hit')
      assert.match(direct, /^X-Request-Id: [\w-]{20}\r$/m)
      assert(Math.abs(Date.parse(/^Date: (.*)$/m.exec(direct)![1]!) - edge.nowMs()) < 60_000)
    })
  }
})

describe('any other request without a body is answered without node’s parser, with the same bytes', () => {
  const cases: [what: string, text: string, body: RegExp][] = [
    ['a response with its length', personal, /\r\n\r\npersonal$/],
    ['HEAD', person('/x', '', 'HEAD'), /^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\n$/],
    ['a response in chunks', person('/chunks'), /\r\n\r\n4\r\none,\r\n4\r\n two\r\n0\r\n\r\n$/],
    ['HEAD of a response in chunks', person('/chunks', '', 'HEAD'), /\r\n\r\n$/],
    ['trailers', person('/trailers'), /\r\n0\r\nX-Sum: 3\r\n\r\n$/],
    ['204, with words of the origin', person('/empty'), /^HTTP\/1\.1 204 Nothing Here\r\n[\s\S]*\r\n\r\n$/],
    ['304', person('/known'), /^HTTP\/1\.1 304 [\s\S]*\r\n\r\n$/],
    ['a long response', person('/wide'), /\r\n\r\nw{300000}$/],
    ['a response without a date', person('/dateless'), /^Date: /m],
    ['a host that is not registered', personal.replace('red.', 'pink.'), /^HTTP\/1\.1 404 /],
  ]
  for (const [what, text, body] of cases) {
    it(what, async (t) => {
      const nodes = connect(t)
      const method = text.slice(0, 4) === 'HEAD' ? 'HEAD' : 'GET'
      const ask = async (client: Client, request: string) => {
        client.socket.write(request)
        return client.answer(method)
      }
      const direct = await ask(connect(t), text)
      assert.match(direct, body)
      assert.equal(comparable(await ask(connect(t, { secure: true }), text)), comparable(direct))
      assert.equal(byNode, 0)
      await nodes.ask(forNode)
      assert.equal(comparable(await ask(nodes, text)), comparable(direct))
      assert.equal(byNode, 2)
    })
  }

  it('a page whose status has no body', async (t) => {
    edge.script(rendered('<p>nothing</p>', 204))
    for (const _ of [1, 2]) await edge.ask('/none')
    byNode = 0
    const { ask, answer, socket } = connect(t)
    socket.write(head('/none'))
    assert.match(await answer('HEAD'), /^HTTP\/1\.1 204 (?:.*\r\n)*X-Prepaint: hit\r\n/)
    assert.match(await ask(hit), /^HTTP\/1\.1 200 /)
    assert.equal(byNode, 0)
  })

  it('passed requests and hits by turns on one connection', async (t) => {
    const { ask } = connect(t)
    for (const [text, verdict] of [
      [hit, 'hit'],
      [personal, 'pass; not-a-crawler'],
      [personal, 'pass; not-a-crawler'],
      [hit, 'hit'],
    ] as const)
      assert.equal(verdictIn(await ask(text)), verdict)
    assert.equal(byNode, 0)
  })

  it('the origin gets the headers of the client as they were sent, in their order', async (t) => {
    let got: string[] = []
    ORIGIN['/raw'] = (req, res) => {
      got = req.rawHeaders
      res.end('raw')
    }
    await connect(t).ask(person('/raw', 'X-FIRST:  a b \t\r\nx-second:\r\n'))
    assert.deepEqual(got.slice(2, 8), ['User-Agent', PERSON, 'X-FIRST', 'a b', 'x-second', ''])
  })

  it('requests that come while the origin is asked are answered behind it, in order', async (t) => {
    const { socket, answer } = connect(t)
    socket.write(person('/slow'))
    const response = await until('the origin is asked', () => waiting.pop())
    const far = [...ends.values()].at(-1)!
    const read = far.bytesRead
    socket.write(hit + hit.slice(0, 10))
    await until('a hit has come', () => far.bytesRead > read)
    socket.write(hit.slice(10))
    response.end('slow')
    for (const verdict of ['pass; not-a-crawler', 'hit', 'hit'])
      assert.equal(verdictIn(await answer()), verdict)
  })

  it('several requests in one piece are each answered, in order; the origin is asked for one after another', async (t) => {
    const { socket, answer } = connect(t)
    socket.write(hit + person('/slow') + person('/slow') + hit)
    assert.equal(verdictIn(await answer()), 'hit')
    for (const text of ['one', 'two']) {
      const response = await until('the origin is asked', () => waiting.pop())
      assert.deepEqual(waiting, [])
      response.end(text)
      assert.match(await answer(), new RegExp(`\\r\\n\\r\\n${text}$`))
    }
    assert.equal(verdictIn(await answer()), 'hit')
    assert.equal(byNode, 0)
  })

  it('more requests at once than are kept are all answered, and no more is read meanwhile', async (t) => {
    const { socket, answer, served } = connect(t)
    const many = 3_000
    socket.write(hit.repeat(many))
    const far = await served()
    for (let at = 0; at < many; at++) assert.equal(verdictIn(await answer()), 'hit')
    assert.equal(far.bytesRead, many * hit.length)
    assert.equal(byNode, 0)
  })

  it('a client that ends its half behind several requests for hits gets all answers', async (t) => {
    const { socket, answer, closed } = connect(t)
    socket.end(hit + hit + hit)
    for (let at = 0; at < 3; at++) assert.equal(verdictIn(await answer()), 'hit')
    await closed
  })

  it('behind so many that its end is read before, what Node would have to read is not answered', async (t) => {
    const { socket, answer, closed, rest } = connect(t)
    socket.end(`${hit.repeat(200)}nonsense\r\n\r\n`)
    for (let at = 0; at < 200; at++) assert.equal(verdictIn(await answer()), 'hit')
    await closed
    assert.equal(rest(), '')
  })

  it('what begins behind an answer and does not end in time gets 408', async (t) => {
    const { socket, ask, rest, closed } = connect(t)
    await ask(hit)
    socket.write(hit.slice(0, -1))
    await closed
    assert.match(rest(), /^HTTP\/1\.1 408 /)
  })

  it('what is no request behind one that is being answered gets 400 behind its response', async (t) => {
    const { socket, answer, closed } = connect(t)
    socket.write(person('/slow'))
    const response = await until('the origin is asked', () => waiting.pop())
    socket.write('nonsense\r\n\r\n')
    response.end('slow')
    assert.match(await answer(), /\r\n\r\nslow$/)
    assert.match(await answer(), /^HTTP\/1\.1 400 /)
    await closed
  })

  it('a client that sends without end while the origin is asked is not read on', async (t) => {
    const { socket, answer } = connect(t)
    socket.write(person('/slow'))
    const response = await until('the origin is asked', () => waiting.pop())
    const far = [...ends.values()].at(-1)!
    const read = far.bytesRead
    for (let sent = 0; sent < 100_000; sent++) socket.write(hit)
    await until('it is paused', () => far.isPaused())
    assert(far.bytesRead - read < 256 * 1024)
    response.end('slow')
    assert.equal(verdictIn(await answer()), 'pass; not-a-crawler')
    assert.equal(verdictIn(await answer()), 'hit')
  })

  for (const [what, leave] of Object.entries({
    ends: (socket: net.Socket) => socket.destroy(),
    'ends its half': (socket: net.Socket) => socket.end(),
    resets: (socket: net.Socket) => socket.resetAndDestroy(),
  })) {
    it(`a client that ${what} while the origin is asked frees the connection to the origin`, async (t) => {
      const { socket } = connect(t)
      socket.write(person('/slow'))
      await until('the origin is asked', () => waiting.pop())
      const before = left
      leave(socket as net.Socket)
      await until('the origin is left', () => left > before)
    })
  }

  it('a request under way at the end of a node is answered, as the last of its connection', async (t) => {
    const other = await edge.node()
    t.after(() => other.close())
    const client = connect(t, { at: other.port })
    client.socket.write(person('/slow'))
    const response = await until('the origin is asked', () => waiting.pop())
    other.edge.endSessions()
    other.server.closeIdleConnections()
    response.end('slow')
    assert.match(await client.answer(), /^Connection: close\r$[\s\S]*slow$/m)
    await client.closed
  })

  it('a response of the origin that is cut off never looks complete', async (t) => {
    const client = connect(t)
    client.socket.write(person('/slow'))
    const response = await until('the origin is asked', () => waiting.pop())
    response.writeHead(200, { 'Content-Length': '100' }).write('half')
    await until('half has come', () => client.rest().endsWith('half'))
    response.destroy()
    await client.closed
    assert.match(client.rest(), /half$/)
  })
})

describe('everything else is node’s, from the first byte on', () => {
  it('a request that comes in pieces is answered, behind another one by the lane if its first piece has the method', async (t) => {
    for (const [at, read] of [
      [1, 1],
      ['GET /'.length, 0],
      [hit.length - 1, 0],
    ] as const) {
      const { socket, ask, answer, served } = connect(t)
      await ask(hit)
      const [before, far] = [byNode, await served()]
      const bytes = far.bytesRead
      socket.write(hit.slice(0, at))
      await until('the first piece has come', () => far.bytesRead === bytes + at)
      socket.write(hit.slice(at))
      assert.equal(verdictIn(await answer()), 'hit')
      assert.equal(byNode, before + read, `the first piece has ${at} bytes`)
    }
  })

  it('a request that comes before the client has read the last answer is answered', async (t) => {
    // Where a client may read nothing for a long time.
    const client = connect(t, { at: limited.port })
    await beginLarge(client)
    client.socket.write(head('/large'))
    await until('node has the second', () => byNode === 1)
    client.socket.resume()
    for (const _ of [1, 2]) await assertLarge(client.answer())
  })
})

describe('a connection with nothing but hits on it', { concurrency: true }, () => {
  it('stays open for requests that come in time, and is closed without a word when none comes', async (t) => {
    const [busy, silent] = [connect(t), connect(t)]
    await busy.ask(hit)
    const asking = setInterval(() => busy.socket.write(hit), KEEP_ALIVE_MS / 10)
    await silent.ask(hit)
    await silent.closed
    clearInterval(asking)
    assert.deepEqual([silent.rest(), (await busy.served()).destroyed], ['', false])
    assert.equal(byNode, 0)
  })

  it('is broken off when its client takes nothing of an answer for so long', async (t) => {
    const client = connect(t)
    client.socket.pause().write(head('/large'))
    await gone(await client.served())
    client.socket.resume()
    await assert.rejects(client.answer())
  })

  it('ends when the client ends its half, and all is sent', async (t) => {
    const { socket, answer, closed } = connect(t, { allowHalfOpen: true })
    socket.pause().write(head('/large'))
    socket.end()
    socket.resume()
    await assertLarge(answer())
    await closed
  })

  it('a connection without a request gets 408 after the time for a head', async (t) => {
    const { answer, rest, closed } = connect(t)
    await closed
    assert.equal(rest(), 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
    await assert.rejects(answer())
  })
})

describe('what one client may hold', () => {
  it('answers that the client has not read count: at the limit a request is answered, and one more gets 429', async (t) => {
    const open = () => connect(t, { at: limited.port })
    const from = (client: string) => head('/large', `X-Forwarded-For: ${client}\r\n`)
    const held = [open(), open()]
    for (const client of held) await beginLarge(client, from('203.0.113.1'))
    assert.match(await open().ask(from('203.0.113.1')), /^HTTP\/1\.1 429 /)
    assert.match(await open().ask(from('203.0.113.2')), /^HTTP\/1\.1 200 /)
    held[0]!.socket.resume()
    await held[0]!.answer()
    const third = open()
    const socket = await beginLarge(third, from('203.0.113.1'))
    // One that breaks off holds nothing either.
    third.socket.resetAndDestroy()
    await gone(socket)
    assert.match(await open().ask(from('203.0.113.1')), /^HTTP\/1\.1 200 /)
  })

  it('answers over HTTP/2 count until the stream ends', async (t) => {
    for (const _ of [1, 2]) await limited.ask('/small')
    const { send, until: frameIs, socket } = await rawHttp2(limited.tlsPort)
    t.after(() => void socket.destroy())
    const headers = Object.entries({ 'user-agent': GOOGLEBOT, 'x-forwarded-for': '203.0.113.3' })
    const from = (stream: number) => send(get(stream, '/small', headers))
    const status = async (wanted: number) =>
      (await frameIs(({ type, stream }) => type === FRAME.headers && stream === wanted)).payload[0]
    // Nothing is taken of a body.
    send(frame(FRAME.settings, 0, 0, setting(4, 0)))
    for (const stream of [1, 3, 5]) from(stream)
    // HPACK's static table has 200.
    assert.deepEqual([await status(1), await status(3)], [0x88, 0x88])
    assert.notEqual(await status(5), 0x88)
    send(frame(FRAME.reset, 0, 3, uint32(8)))
    from(7)
    assert.equal(await status(7), 0x88)
  })
})

it('at the end of a node, a request that began behind an answer under way is answered, as the last of its connection', async (t) => {
  const other = await edge.node()
  t.after(() => other.close())
  other.server.on('connection', (socket) => void ends.set(socket.remotePort, socket))
  await isReady(other, '/large', 'identity')
  const client = connect(t, { at: other.port })
  const socket = await beginLarge(client)
  other.edge.endSessions()
  other.server.closeIdleConnections()
  const read = socket.bytesRead
  client.socket.write(hit.slice(0, 20))
  await until('its beginning has come', () => socket.bytesRead > read)
  client.socket.resume()
  await assertLarge(client.answer())
  assert.match(await client.ask(hit.slice(20)), /^Connection: close\r$/m)
  await client.closed
})

describe('bytes that no URL may have, in a request line', () => {
  it('are served as the page of the encoded spelling, also as a hit', async () => {
    edge.script(rendered(HTML))
    const first = await edge.ask('/kaf%C3%A9')
    assert.equal(first.headers['x-prepaint'], 'rendered')
    const answer = await sendBytes(
      `GET /kafé HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${GOOGLEBOT}\r\nConnection: close\r\n\r\n`,
    )
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n[\s\S]*X-Prepaint: hit\r\n/i)
  })
})

function sendBytes(text: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = net.connect((edge.server.address() as net.AddressInfo).port, '127.0.0.1', () =>
    socket.write(text),
  )
  const parts: Buffer[] = []
  socket.on('data', (part) => parts.push(part)).on('error', reject)
  socket.on('end', () => resolve(Buffer.concat(parts).toString('latin1')))
  return promise
}
