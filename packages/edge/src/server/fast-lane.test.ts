import assert from 'node:assert/strict'
import http from 'node:http'
import net from 'node:net'
import { duplexPair } from 'node:stream'
import { beforeEach, describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'
import ipaddr from 'ipaddr.js'
import { loadConfig } from '../../../../bin/settings/config.ts'
import { pick, seededRandom } from '../../../../test/chaos/seeded-random.ts'
import { until } from '../../../../test/support/condition.ts'
import { GOOGLEBOT, openEdge, PERSON, type TestEdge } from '../../../../test/support/edge.ts'
import { FRAME, frame, get, rawHttp2, setting, uint32 } from '../../../../test/support/http2-frames.ts'
import type { UnreadOutcome } from '../../../../test/support/outcome.ts'
import { encodeTarget, readSimpleHead, SIMPLE_HEAD_BYTES, type SimpleHead } from './fast-lane.ts'

const HTML = `<!doctype html><h1>Lamp</h1>${'<p>text</p>'.repeat(500)}`
const rendered = (html: string, status = 200): UnreadOutcome => ({
  ...{ kind: 'rendered', status, html, headers: [] },
})

/** More than all that lies between client and edge can hold. */
const LARGE = `<p>${'x'.repeat(16 * 1024 * 1024)}</p>`

const HEADERS_MS = 1_500
/** With node's grace, three seconds. */
const KEEP_ALIVE_MS = 2_000
const IDLE_MS = 1_500

/** Requests that node has read. */
let byNode = 0
/** The edge's ends of connections, by the client's port. */
const ends = new Map<number | undefined, net.Socket>()
const edge = await openEdge({
  ...{ tls: true, memoryBytes: 256 * 1024 * 1024 },
  ...{ headersMs: HEADERS_MS, idleMs: IDLE_MS, keepAliveMs: KEEP_ALIVE_MS },
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
limited.server.on('connection', (socket) => void ends.set(socket.remotePort, socket))
limited.script(rendered(LARGE))
await isReady(limited, '/large', 'identity')

beforeEach(() => {
  byNode = 0
})

const head = (target: string, lines = '', host = 'red.example', method = 'GET') =>
  `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: ${GOOGLEBOT}\r\n${lines}\r\n`
const hit = head('/lamp')
const personal = `GET /x HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\n\r\n`

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
    const hasBody = method !== 'HEAD' && !head.startsWith('HTTP/1.1 304')
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
      // Whatever a person has asked on stays with node.
      await nodes.ask(personal)
      const usual = await nodes.ask(text)
      assert.equal(byNode, 2)
      assert.equal(comparable(direct), comparable(usual))
      assert.equal(verdictIn(direct), 'hit')
      assert.match(direct, /^X-Request-Id: [\w-]{20}\r$/m)
      assert(Math.abs(Date.parse(/^Date: (.*)$/m.exec(direct)![1]!) - edge.nowMs()) < 60_000)
    })
  }
})

describe('everything else is node’s, from the first byte on', () => {
  it('a page whose status has no body is answered by Node', async (t) => {
    edge.script(rendered('<p>nothing</p>', 204))
    for (const _ of [1, 2]) await edge.ask('/none')
    byNode = 0
    const { ask, answer, socket } = connect(t)
    socket.write(head('/none'))
    assert.match(await answer('HEAD'), /^HTTP\/1\.1 204 (?:.*\r\n)*X-Prepaint: hit\r\n/)
    assert.match(await ask(hit), /^HTTP\/1\.1 200 /)
    assert.equal(byNode, 2)
  })

  it('several requests in one piece are each answered, in order', async (t) => {
    const { socket, answer } = connect(t)
    socket.write(hit + hit + personal + hit)
    for (const verdict of ['hit', 'hit', 'pass; not-a-crawler', 'hit'])
      assert.equal(verdictIn(await answer()), verdict)
    assert.equal(byNode, 4)
  })

  it('a request that comes in pieces of any size is answered', async (t) => {
    for (const at of [1, hit.length - 1]) {
      const { socket, ask, answer, served } = connect(t)
      await ask(hit)
      const [before, far] = [byNode, await served()]
      const read = far.bytesRead
      socket.write(hit.slice(0, at))
      await until('the first piece has come', () => far.bytesRead === read + at)
      socket.write(hit.slice(at))
      assert.equal(verdictIn(await answer()), 'hit')
      assert.equal(byNode, before + 1)
    }
  })

  it('a request that comes before the client has read the last answer is answered', async (t) => {
    const client = connect(t)
    await beginLarge(client)
    client.socket.write(hit)
    await until('node has the second', () => byNode === 1)
    client.socket.resume()
    await assertLarge(client.answer())
    assert.equal(verdictIn(await client.answer()), 'hit')
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

// What the lane reads itself.

const read = (text: string) => readSimpleHead(Buffer.from(text, 'latin1'))

const HOST = 'Host: shop.example\r\n'
const textOf = (lines: string, target = '/a') => `GET ${target} HTTP/1.1\r\n${lines}\r\n`
const longName = (bytes: number) =>
  textOf(`${HOST}X-A: ${'x'.repeat(bytes - textOf(`${HOST}X-A: \r\n`).length)}\r\n`)

const READ: [what: string, text: string][] = [
  ['nothing but a host', textOf(HOST)],
  ['HEAD', `HEAD /a?b=c HTTP/1.1\r\n${HOST}\r\n`],
  ['what crawlers say', textOf(`${HOST}User-Agent: a/2.1 (+http://a/b)\r\nAccept-Encoding: gzip, br\r\n`)],
  ['no space before a value, and many', textOf('Host:shop.example\r\nX-A: \t b c \t \r\n')],
  ['names in any case', textOf('hOsT: shop.example\r\nIF-NONE-MATCH: "x"\r\n')],
  ['every character of a path', textOf(HOST, "/a-._~!$&'()*+,;=:@%20?a=[]|^`{}")],
  ['as long as it may be', longName(SIMPLE_HEAD_BYTES)],
]

const LEFT: [what: string, text: string][] = [
  ['one byte longer', longName(SIMPLE_HEAD_BYTES + 1)],
  ['half a head', textOf(HOST).slice(0, -1)],
  ['two of them', textOf(HOST) + textOf(HOST)],
  ['a line break before it', `\r\n${textOf(HOST)}`],
  ['another method', textOf(HOST).replace('GET', 'POST')],
  ['HTTP/1.0', textOf(HOST).replace('1.1', '1.0')],
  ['a path beyond ASCII', textOf(HOST, '/\xe4')],
  ['an absolute target', textOf(HOST, 'http://shop.example/a')],
  ['no Host', textOf('X-A: b\r\n')],
  ['a header twice, in other letters', textOf(`${HOST}X-A: b\r\nx-a: c\r\n`)],
  ['a name that no object can have', textOf(`${HOST}__proto__: a\r\n`)],
  ['a space before the colon', textOf(`${HOST}X-A : b\r\n`)],
  ['a folded line', textOf(`${HOST}X-A: b\r\n c\r\n`)],
  ['a line that ends with LF alone', textOf(`${HOST}X-A: b\nX-B: c\r\n`)],
  ['a value beyond ASCII', textOf(`${HOST}X-A: \xe4\r\n`)],
  ['Connection: close', textOf(`${HOST}Connection: close\r\n`)],
  ['a named connection header', textOf(`${HOST}Connection: keep-alive, X-A\r\n`)],
  ...[
    ...['Content-Length: 0', 'Transfer-Encoding: chunked', 'Expect: 100-continue', 'Upgrade: websocket'],
    ...['HTTP2-Settings: AAMAAABk', 'TE: trailers', 'Trailer: X-A', 'Keep-Alive: 5', 'Proxy-Connection: a'],
  ].map((line): [string, string] => [line, textOf(`${HOST}${line}\r\n`)]),
]

/** What node's parser makes of a whole head; null: it refuses it, takes more than one from it, or waits for more. */
async function readByNode(text: string): Promise<SimpleHead | null> {
  const requests: http.IncomingMessage[] = []
  const server = http.createServer((req, res) => {
    requests.push(req)
    res.end()
  })
  const [client, served] = duplexPair()
  const answered = new Promise((resolve) => client.once('data', resolve))
  server.emit('connection', served)
  client.on('error', () => {})
  client.end(text, 'latin1')
  await Promise.race([answered, new Promise((resolve) => served.once('close', resolve))])
  const [req, ...others] = requests
  if (req === undefined || others.length > 0 || req.httpVersion !== '1.1') return null
  const isOurs = req.method === 'GET' || req.method === 'HEAD'
  return isOurs ? { method: req.method as SimpleHead['method'], url: req.url!, headers: req.headers } : null
}

const asPlain = (head: SimpleHead | null) => head && { ...head, headers: { ...head.headers } }

describe('a simple head', () => {
  it('is read as Node reads it, and any other head is left to Node', async () => {
    for (const [what, text] of READ) {
      const head = read(text)
      assert.notEqual(head, null, what)
      assert.deepEqual(asPlain(head), asPlain(await readByNode(text)), what)
    }
    for (const [what, text] of LEFT) assert.equal(read(text), null, what)
  })

  it('whatever is read here node reads alike: 20,000 heads with a few bytes changed', async () => {
    const random = seededRandom(20_261_122)
    const lines = ['\r\n', 'Host: b\r\n', 'Connection: Keep-Alive\r\n', 'HTTP/1.1']
    const pieces = [...lines, ...'\n\r \t:,"%#\\X\0\x7f\x80\xff']
    let simple = 0
    for (let round = 0; round < 20_000; round++) {
      let text = pick(random, [...READ.slice(0, -1), ...LEFT.slice(1)])[1]
      for (let changes = Math.floor(random() * 4); changes > 0; changes--) {
        const at = Math.floor(random() * text.length)
        const piece = random() < 0.7 ? pick(random, pieces) : ''
        text = text.slice(0, at) + piece + text.slice(at + Math.floor(random() * 3))
      }
      const head = read(text)
      if (head === null) continue
      simple++
      assert.deepEqual(asPlain(head), asPlain(await readByNode(text)), JSON.stringify(text))
    }
    assert(simple > 1_000, `only ${simple} were simple`)
  })
})

describe('bytes that no URL may have, in a request line', () => {
  const encoded = (line: string | Buffer) => encodeTarget(Buffer.from(line as string)).toString('latin1')

  it('are percent-encoded in path and query, and nothing else of the request', () => {
    assert.equal(
      encoded('GET /grün/a%C3%A9?ß=1&b HTTP/1.1\r\nX: ü\r\n\r\nGET /ü HTTP/1.1\r\n'),
      Buffer.from('GET /gr%C3%BCn/a%C3%A9?%C3%9F=1&b HTTP/1.1\r\nX: ü\r\n\r\nGET /ü HTTP/1.1\r\n').toString(
        'latin1',
      ),
    )
    assert.equal(encoded('POST /я HTTP/1.0\n'), 'POST /%D1%8F HTTP/1.0\n')
    assert.equal(encoded(Buffer.from('GET /\xe9 HTTP/1.1\r\n', 'latin1')), 'GET /%E9 HTTP/1.1\r\n')
  })

  it('stay where the line is no request line, or longer than a head that is read here', () => {
    const long = `GET /${'a'.repeat(SIMPLE_HEAD_BYTES)}ü HTTP/1.1\r\n`
    for (const line of [
      'GET /ü HTTP/1.1',
      'GET /ü\x00 HTTP/1.1\r\n',
      'GET ü HTTP/1.1\r\n',
      'GET /ü /b HTTP/1.1\r\n',
      'GET /ü HTTP/2.0\r\n',
      long,
    ])
      assert.equal(encoded(line), Buffer.from(line).toString('latin1'))
  })

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
