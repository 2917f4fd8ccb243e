import assert from 'node:assert/strict'
import net from 'node:net'
import { beforeEach, describe, it, type TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import tls from 'node:tls'
import ipaddr from 'ipaddr.js'
import { until } from '../../../test/support/condition.ts'
import { GOOGLEBOT, openEdge, PERSON, path, type TestEdge } from '../../../test/support/edge.ts'
import { FRAME, frame, get, rawHttp2, setting, uint32 } from '../../../test/support/http2-frames.ts'
import { loadConfig } from '../../config.ts'
import type { RenderOutcome } from '../../render/outcome.ts'
import type { Visit } from '../../store/last-visits.ts'

const HTML = `<!doctype html><h1>Lamp</h1>${'<p>text</p>'.repeat(500)}`
const rendered = (html: string, status = 200): RenderOutcome => ({
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
const told: unknown[][] = []
const visits: Visit[] = []
const edge = await openEdge({
  ...{ tls: true, memoryBytes: 256 * 1024 * 1024 },
  ...{ headersMs: HEADERS_MS, idleMs: IDLE_MS, keepAliveMs: KEEP_ALIVE_MS },
  parts: {
    answered: (_req, { verdict, crawler, page, status }) =>
      void told.push([verdict, crawler, page?.path, status]),
    lastVisits: { note: (visit) => void visits.push(visit) },
  },
})
edge.server.on('request', () => byNode++)
edge.server.on('connection', (socket) => void ends.set(socket.remotePort, socket))
edge.script(rendered(HTML), rendered('<p>gone</p>', 404), rendered(LARGE))
for (const page of ['/lamp', '/gone', '/large']) await isReady(edge, page, 'identity')
// Made when it is first asked for.
for (const encoding of ['gzip', 'br']) await isReady(edge, '/lamp', encoding)
beforeEach(() => {
  byNode = 0
  told.length = 0
  visits.length = 0
})

const head = (target: string, lines = '', host = 'red.example', method = 'GET') =>
  `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: ${GOOGLEBOT}\r\n${lines}\r\n`
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
  let [come, parts]: [number, Buffer[]] = [0, []]
  socket.on('data', (part: Buffer) => {
    come += part.length
    parts.push(part)
  })
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const more = async () => {
    if (socket.destroyed) throw new Error(`no whole answer came, but ${come} bytes`)
    await Promise.race([new Promise((resolve) => socket.once('data', resolve)), closed])
  }
  const text = () => {
    parts = [Buffer.concat(parts)]
    return parts[0]!.toString('latin1')
  }

  /** The next answer that comes. */
  async function answer(method = 'GET'): Promise<string> {
    while (come === 0 || !text().includes('\r\n\r\n')) await more()
    const end = text().indexOf('\r\n\r\n') + 4
    const head = text().slice(0, end)
    const hasBody = method !== 'HEAD' && !head.startsWith('HTTP/1.1 304')
    const bytes = end + (hasBody ? Number(/^content-length: (\d+)/im.exec(head)![1]) : 0)
    while (come < bytes) await more()
    const whole = text()
    parts = [Buffer.from(whole.slice(bytes), 'latin1')]
    come = parts[0]!.length
    return whole.slice(0, bytes)
  }

  async function ask(request: string): Promise<string> {
    socket.write(request, 'latin1')
    return answer(request.slice(0, 4) === 'HEAD' ? 'HEAD' : 'GET')
  }
  /** The edge's end of it. */
  const served = () => ends.get(socket.localPort)!
  return { socket, ask, answer, closed, served, rest: text }
}

/** Not by `once`, which fails with the reset that the client sends. */
function gone(socket: net.Socket): Promise<unknown> {
  return new Promise((resolve) => socket.once('close', resolve))
}

async function servedBy({ served }: { served: () => net.Socket | undefined }): Promise<net.Socket> {
  await until('the edge has the connection', () => served() !== undefined)
  return served()!
}

type Client = ReturnType<typeof connect>

/** What differs from one answer to the next. */
function comparable(answer: string): string {
  return answer.replace(/^Date: .*$/m, 'Date: now').replace(/^X-Request-Id: .*$/m, 'X-Request-Id: one')
}

/** The edge's end of a connection whose client takes nothing of a large answer. */
async function beginLarge(client: Client, request = head('/large')): Promise<net.Socket> {
  client.socket.pause().write(request)
  const socket = await servedBy(client)
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
  const etag = async () => (await edge.ask('/lamp', { headers: { 'accept-encoding': 'br' } })).headers.etag!
  const later = () => new Date(edge.nowMs() + 5_000).toUTCString()
  const br = 'Accept-Encoding: br\r\n'
  const cases: [what: string, request: () => Promise<string> | string][] = [
    ['as it is', () => head('/lamp')],
    ['brotli', () => head('/lamp', 'Accept-Encoding: gzip, br\r\n')],
    ['HEAD', () => head('/lamp', br, 'red.example', 'HEAD')],
    ['a 404', () => head('/gone')],
    ['304 by ETag', async () => head('/lamp', `${br}If-None-Match: ${await etag()}\r\n`)],
    ['304 by date', () => head('/lamp', `If-Modified-Since: ${later()}\r\n`)],
    ['a range, which is not served', () => head('/lamp', 'Range: bytes=0-9\r\n')],
    ['parameters in another order', () => head('/lamp?utm_source=a', 'Connection: keep-alive\r\n')],
  ]
  for (const [what, request] of cases) {
    it(what, async (t) => {
      const text = await request()
      byNode = 0
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

  it('and told alike: verdict, crawler, page, status; who visited last', async (t) => {
    const { ask } = connect(t)
    const known = head('/lamp', `If-Modified-Since: ${later()}\r\n`)
    edge.wait(61_000)
    for (const request of [head('/lamp'), known, personal, head('/lamp'), known]) await ask(request)
    const hit = (status: number) => ['hit', 'search', '/lamp', status]
    assert.deepEqual(
      told.filter(([verdict]) => verdict === 'hit'),
      [hit(200), hit(304), hit(200), hit(304)],
    )
    const last = visits.map(({ page, crawler, category }) => [page.path, crawler, category])
    assert.deepEqual(last, [['/lamp', 'Googlebot', 'search']])
  })
})

describe('everything else is node’s, from the first byte on', () => {
  const hit = head('/lamp')
  const cases: [what: string, request: string, verdict: string][] = [
    ['a person', personal, 'pass; not-a-crawler'],
    ['another method', head('/lamp', 'Content-Length: 0\r\n', 'red.example', 'POST'), 'pass; method'],
    ['a password', head('/lamp', 'Authorization: Basic YTpi\r\n'), 'pass; authorization'],
    ['one that has been through us', head('/lamp', 'Via: 1.1 prepaint\r\n'), 'pass; loop'],
    ['an asset', head('/app.js'), 'pass; asset'],
    ['a name that nobody registered', head('/lamp', '', 'nobody.example'), 'none; unknown-host'],
    ['what a CA asks', head(`/.well-known/acme-challenge/${'a'.repeat(30)}`), 'pass; excluded'],
    ['an absolute target', head('http://red.example/lamp'), 'hit'],
    ['two Hosts', head('/lamp', 'Host: red.example\r\n'), 'none; bad-request'],
    ['the last one of its connection', head('/lamp', 'Connection: close\r\n'), 'hit'],
  ]
  for (const [what, request, verdict] of cases) {
    it(what, async (t) => {
      const { ask } = connect(t)
      assert.equal(verdictIn(await ask(request)), verdict)
      assert.equal(byNode, 1)
    })
  }

  it('a stored redirect', async (t) => {
    edge.script({ kind: 'redirect', status: 301, location: '/lamp', headers: [] } as RenderOutcome)
    assert.equal(await edge.verdict('/old'), 'rendered')
    byNode = 0
    assert.match(await connect(t).ask(head('/old')), /^HTTP\/1\.1 301 (?:.*\r\n)*X-Prepaint: hit\r\n/)
    assert.equal(byNode, 1)
  })

  it('a page whose status has no body', async (t) => {
    edge.script(rendered('<p>nothing</p>', 204))
    for (const _ of [1, 2]) await edge.ask('/none')
    byNode = 0
    const { ask, answer, socket } = connect(t)
    socket.write(head('/none'))
    assert.match(await answer('HEAD'), /^HTTP\/1\.1 204 (?:.*\r\n)*X-Prepaint: hit\r\n/)
    assert.match(await ask(hit), /^HTTP\/1\.1 200 /)
    assert.equal(byNode, 2)
  })

  it('a page that was purged, or of a domain that was switched off, at once', async (t) => {
    await edge.ask('/purged')
    const { ask } = connect(t)
    assert.equal(verdictIn(await ask(head('/purged'))), 'hit')
    await edge.purge({ kind: 'path', path: path('/purged') }).then(edge.settled)
    assert.equal(verdictIn(await ask(head('/purged'))), 'rendered')
    const other = connect(t)
    assert.equal(verdictIn(await other.ask(hit)), 'hit')
    await edge.set('is_active = false')
    assert.equal(verdictIn(await other.ask(hit)), 'pass; inactive')
    await edge.set('is_active = true')
  })

  it('several at once: each is answered, in order', async (t) => {
    const { socket, answer } = connect(t)
    socket.write(hit + head('/gone') + personal + hit)
    for (const verdict of ['hit', 'hit', 'pass; not-a-crawler', 'hit'])
      assert.equal(verdictIn(await answer()), verdict)
    assert.equal(byNode, 4)
  })

  it('one in pieces, of whatever size', async (t) => {
    for (const at of [1, hit.length - 1]) {
      const { socket, ask, answer, served } = connect(t)
      await ask(hit)
      const [before, read] = [byNode, served().bytesRead]
      socket.write(hit.slice(0, at))
      await until('the first piece has come', () => served().bytesRead === read + at)
      socket.write(hit.slice(at))
      assert.equal(verdictIn(await answer()), 'hit')
      assert.equal(byNode, before + 1)
    }
  })

  it('one that comes before the client has taken its answer', async (t) => {
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
  const hit = head('/lamp')

  it('rests for longer than a head may take', async (t) => {
    const { ask } = connect(t)
    await ask(hit)
    await delay(1.5 * HEADERS_MS)
    assert.equal(verdictIn(await ask(hit)), 'hit')
  })

  it('stays open for requests that come in time, and is closed without a word when none comes', async (t) => {
    const [busy, silent] = [connect(t), connect(t)]
    await busy.ask(hit)
    const asking = setInterval(() => busy.socket.write(hit), KEEP_ALIVE_MS / 10)
    await silent.ask(hit)
    await silent.closed
    clearInterval(asking)
    assert.deepEqual([silent.rest(), busy.served().destroyed], ['', false])
    assert.equal(byNode, 0)
  })

  it('is broken off when its client takes nothing of an answer for so long', async (t) => {
    const client = connect(t)
    client.socket.pause().write(head('/large'))
    await gone(await servedBy(client))
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

  it('408 where nothing is said, after the time for a head', async (t) => {
    const { answer, rest, closed } = connect(t)
    await closed
    assert.equal(rest(), 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
    await assert.rejects(answer())
  })
})

const trustedProxies = [ipaddr.parseCIDR('127.0.0.0/8')]
const clients = { ...loadConfig({}).clients, requests: 2, unlimited: [], trustedProxies }
const limited = await openEdge({ tls: true, clients, memoryBytes: 256 * 1024 * 1024 })
limited.server.on('connection', (socket) => void ends.set(socket.remotePort, socket))
limited.script(rendered(LARGE))
await isReady(limited, '/large', 'identity')

describe('what one client may hold', () => {
  it('answers that it has not taken count: so many, and one more is 429', async (t) => {
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

  it('over HTTP/2 too, until the stream ends', async (t) => {
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
  const hit = head('/lamp')
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
