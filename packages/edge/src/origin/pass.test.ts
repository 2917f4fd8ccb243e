/** Requests that pass to the origin, and its answers on their way back; origins that fail, or answer what no server should. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { describe, it } from 'node:test'
import { standsAt } from '../../../../test/support/condition.ts'
import { type AskOptions, openEdge, PERSON, pour } from '../../../../test/support/edge.ts'
import { freePort, openSocket } from '../../../../test/support/loopback.ts'
import { rawClient, rawHalf } from '../../../../test/support/raw-request.ts'

/** What the origin does is set by each test. */
let answer: http.RequestListener
let asked: { method: string; url: string; rawHeaders: string[]; body: string }[] = []

const edge = await openEdge({ answerWaitMs: 1_500, origin: (req, res) => answer(req, res) })

const ask = (path: string, options: AskOptions = {}) => edge.ask(path, { agent: PERSON, ...options })
const raw = (bytes: string) => rawHalf(edge.server, bytes)
const OWN = { host: 'red.example' }
const GET = 'GET / HTTP/1.1\r\nHost: red.example\r\nConnection: close\r\n\r\n'

/** The origin reads everything, keeps what it was asked, and then answers. */
function originAnswers(then: (res: http.ServerResponse) => void = (res) => res.end()): void {
  asked = []
  answer = async (req, res) => {
    const { method = '', url = '', rawHeaders } = req
    const body = Buffer.concat(await req.toArray()).toString()
    asked.push({ method, url, rawHeaders, body })
    then(res)
  }
}

/** Values of a header that the origin was sent. */
function sent(name: string): string[] {
  const raw = asked[0]?.rawHeaders ?? []
  return raw.filter((_, at) => at % 2 === 1 && raw[at - 1]!.toLowerCase() === name)
}

async function open(): Promise<[http.ClientRequest, http.IncomingMessage]> {
  const req = http.get({ port: edge.port, host: '127.0.0.1', agent: false, headers: OWN })
  req.on('error', () => {})
  const [res] = (await once(req, 'response')) as [http.IncomingMessage]
  return [req, res]
}

describe('headers on the way to the origin', () => {
  it('name the origin as Host, and say what we know of the client, whatever it says', async () => {
    const lie = '10.0.0.1'
    const lies = {
      ...{ 'X-Forwarded-For': lie, 'x-forwarded-proto': 'https', 'X-Forwarded-Host': 'evil.example' },
      ...{ 'X-Forwarded-Port': '1', Forwarded: `for=${lie}`, 'X-Real-IP': lie, 'X-Prepaint': 'hit' },
    }
    for (const Connection of ['close', 'x-forwarded-for, host']) {
      originAnswers()
      await ask('/a?b=1&a=2&utm_source=x', { headers: { ...lies, Connection } })
      assert.equal(asked[0]!.url, '/a?b=1&a=2&utm_source=x')
      const known = ['host', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-for', 'via'].flatMap(sent)
      assert.deepEqual(known, [new URL(edge.origin).host, 'red.example', 'http', '127.0.0.1', '1.1 prepaint'])
      assert.deepEqual(sent('forwarded'), ['for=127.0.0.1;host=red.example;proto=http'])
      assert.deepEqual(['x-forwarded-port', 'x-real-ip', 'x-prepaint'].flatMap(sent), [])
    }
  })

  it('lose what belongs to one connection, also what Connection names', async () => {
    originAnswers()
    const hops = { 'X-Hop': '1', 'Keep-Alive': 'timeout=5', 'Proxy-Authorization': 'Basic x' }
    const kept = { TE: 'trailers, deflate;q=0.5', 'X-Stays': 'yes' }
    await ask('/', { headers: { Connection: 'close, X-Hop', ...hops, ...kept } })
    for (const name of Object.keys(hops)) assert.deepEqual(sent(name.toLowerCase()), [], name)
    // Trailers are taken from the origin too: the header is that of our own connection.
    assert.deepEqual([sent('te'), sent('connection')], [['trailers'], ['keep-alive, TE']])
    assert.deepEqual(sent('x-stays'), ['yes'])
  })

  it('keep their order, spelling and repetition', async () => {
    originAnswers()
    await raw(GET.replace('Connection', 'X-B: 1\r\nx-a: 2\r\nX-B: 3\r\nConnection'))
    assert.deepEqual(asked[0]!.rawHeaders.slice(2, 8), ['X-B', '1', 'x-a', '2', 'X-B', '3'])
  })

  it('grow a Via that is there; the third time round is the last', async () => {
    originAnswers()
    await ask('/', { headers: { via: '1.0 first, 1.1 prepaint' } })
    assert.deepEqual(sent('via'), ['1.0 first, 1.1 prepaint, 1.1 prepaint'])
    const via = '1.1 prepaint, 1.1 prepaint, 1.1 prepaint'
    assert.equal((await ask('/', { headers: { via } })).status, 508)
    assert.equal(asked.length, 1)
  })
})

describe('answers of the origin', () => {
  it('come through with status, repeated headers and body; claims to be of Prepaint do not', async () => {
    const claims = ['X-Prepaint', 'X-Prepaint-Variant', 'X-Prepaint-Form', 'X-Prerender-Throttled', 'Alt-Svc']
    originAnswers((res) => {
      res.writeHead(418, 'Teapot', [
        ...['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Connection', 'X-Hop', 'X-Hop', '1', 'Via', '1.1 shop'],
        ...['__proto__', 'x', 'constructor', 'y', ...claims.flatMap((name) => [name, 'hit'])],
        ...['Location', `${edge.origin}/new`, 'Date', 'Tue, 15 Nov 1994 08:12:31 GMT'],
      ])
      res.end('short and stout')
    })
    const { status, body, headers, rawHeaders } = await ask('/')
    assert.deepEqual([status, String(body)], [418, 'short and stout'])
    assert.deepEqual([headers['set-cookie'], headers['x-hop']], [['a=1', 'b=2'], undefined])
    assert.equal(headers.via, '1.1 shop, 1.1 prepaint')
    const value = (name: string) => rawHeaders[rawHeaders.indexOf(name) + 1]
    assert.deepEqual([value('__proto__'), value('constructor')], ['x', 'y'])
    const found = claims.map((name) => headers[name.toLowerCase()])
    assert.deepEqual(found, ['pass; not-a-crawler', ...Array(4).fill(undefined)])
    assert.deepEqual(
      [headers.location, headers.date],
      ['http://red.example/new', 'Tue, 15 Nov 1994 08:12:31 GMT'],
    )
  })

  it('what may be a page varies by what chooses crawlers and forms, besides what the origin says', async () => {
    const own = 'Accept, Accept-Encoding, User-Agent'
    type Row = [status: number, type: string | null, vary: string[], expected: string, path?: string]
    const rows: Row[] = [
      [200, 'TEXT/HTML; charset=utf-8', [], own],
      [200, 'text/html', ['A', 'accept-encoding ,user-agent', ''], 'A, Accept-Encoding, User-Agent, Accept'],
      [200, 'text/html', ['Cookie', 'Accept, *'], 'Cookie, Accept, *'],
      [200, 'application/xhtml+xml', [], own],
      [200, 'text/css', ['Origin', 'Cookie'], 'Origin, Cookie'],
      // Without a type: by the path.
      [304, null, ['Cookie', 'Origin'], `Cookie, Origin, ${own}`],
      [304, null, ['Origin'], 'Origin', '/app.js?v=1'],
    ]
    for (const [status, type, vary, expected, path = '/'] of rows) {
      const head = [...(type === null ? [] : ['Content-Type', type]), ...vary.flatMap((one) => ['Vary', one])]
      originAnswers((res) => res.writeHead(status, head).end())
      const found = await ask(path, { headers: { 'if-none-match': '"x"' } })
      assert.deepEqual([found.status, found.headers.vary], [status, expected])
    }
    originAnswers((res) => res.writeHead(304, ['Vary', 'Cookie', 'Vary', 'Origin']).end())
    const { rawHeaders } = await ask('/')
    assert.equal(rawHeaders.filter((name) => name.toLowerCase() === 'vary').length, 1)
  })

  it('a part that is asked for comes as that part', async () => {
    originAnswers((res) => res.writeHead(206, { 'Content-Range': 'bytes 0-3/10' }).end('four'))
    const { status, headers, body } = await ask('/', { headers: { range: 'bytes=0-3' } })
    assert.deepEqual([status, headers['content-range'], String(body)], [206, 'bytes 0-3/10', 'four'])
    assert.deepEqual(sent('range'), ['bytes=0-3'])
  })

  it('a length stays a length, chunks stay chunks, and a client of HTTP/1.0 reads to the end', async () => {
    originAnswers((res) => res.writeHead(200, { 'content-length': '4' }).end('four'))
    assert.match(await raw(GET), /\r\ncontent-length: 4\r\n(?![\s\S]*transfer-encoding)/i)
    originAnswers((res) => {
      res.write('fo')
      res.end('ur')
    })
    assert.match(await raw(GET), /\r\ntransfer-encoding: chunked\r\n(?![\s\S]*content-length)/i)
    asked = []
    const old = await raw('GET / HTTP/1.0\r\nHost: red.example\r\n\r\n')
    assert.match(old, /\r\n\r\nfour$/)
    assert.doesNotMatch(old, /transfer-encoding/i)
    assert.deepEqual(sent('via'), ['1.0 prepaint'])
  })

  it('trailers go both ways, without those that have no place there', async () => {
    let trailers: NodeJS.Dict<string> = {}
    answer = async (req, res) => {
      await req.toArray()
      trailers = req.trailers
      res.writeHead(200, { trailer: 'X-Sum' })
      res.write(String(req.headers.trailer))
      res.addTrailers({ 'X-Sum': '43' })
      res.end()
    }
    const got = await raw(
      'POST / HTTP/1.1\r\nHost: red.example\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\nConnection: close\r\n\r\n' +
        '3\r\nabc\r\n0\r\nX-Sum: 42\r\nX-Forwarded-For: 10.0.0.1\r\nAuthorization: x\r\n\r\n',
    )
    assert.match(got, /X-Sum\r\n0\r\nX-Sum: 43\r\n/)
    assert.deepEqual({ ...trailers }, { 'x-sum': '42' })
  })
})

describe('methods', () => {
  // Proves decided "Methods that are not passed on"
  it('TRACE and CONNECT get 405 and are not passed on', async () => {
    originAnswers()
    for (const line of ['TRACE /', 'CONNECT red.example:443']) {
      const got = await raw(`${line} HTTP/1.1\r\nHost: red.example\r\nConnection: close\r\n\r\n`)
      assert.match(got, /^HTTP\/1\.1 405 [\s\S]*\r\nAllow: GET, HEAD, POST/)
    }
    assert.deepEqual(asked, [])
  })

  // Proves decided "Methods that are not passed on"
  it('OPTIONS with Max-Forwards: 0 is answered here, with more it is counted down; others keep theirs', async () => {
    originAnswers()
    const options = (forwards: string) =>
      ask('*', { method: 'OPTIONS', headers: { 'max-forwards': forwards } })
    const { status, headers } = await options('0')
    assert.deepEqual([status, headers.allow?.includes('PATCH'), asked.length], [204, true, 0])
    await options('1')
    assert.deepEqual([asked[0]?.url, sent('max-forwards')], ['*', ['0']])
    originAnswers()
    await ask('/', { headers: { 'max-forwards': '0' } })
    assert.deepEqual(sent('max-forwards'), ['0'])
  })
})

describe('bodies stream both ways', () => {
  it('large uploads and downloads arrive whole', async () => {
    const big = Buffer.alloc(8 * 1024 * 1024, 'x')
    originAnswers((res) => res.end(big))
    const { body } = await ask('/', { method: 'POST', body: big })
    assert.equal(asked[0]!.body.length, big.length)
    assert(body.equals(big))
  })

  it('events are announced before the first comes, and each comes before the next', async () => {
    let stream: http.ServerResponse | null = null
    answer = (_req, res) => {
      stream = res
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    }
    const [, res] = await open()
    assert.equal(res.headers['content-type'], 'text/event-stream')
    for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
      stream!.write(event)
      assert.equal(String((await once(res, 'data'))[0]), event)
    }
    res.destroy()
  })

  it('the origin is read only as fast as the client takes it', async (t) => {
    let written = () => 0
    answer = (_req, res) => {
      written = pour(res)
    }
    openSocket(t, edge.port).pause().write(GET)
    assert((await standsAt(() => written())) < 100)
  })

  it('Expect: 100-continue is asked of the origin', async () => {
    const asked = once(edge.originServer, 'checkContinue')
    const where = { port: edge.port, host: '127.0.0.1', agent: false, method: 'POST' }
    const req = http.request({ ...where, headers: { ...OWN, expect: '100-continue', 'content-length': '4' } })
    req.flushHeaders()
    const [far, answering] = (await asked) as [http.IncomingMessage, http.ServerResponse]
    const told = once(req, 'continue')
    answering.writeContinue()
    await told
    far.pipe(answering)
    req.end('body')
    const [res] = (await once(req, 'response')) as [http.IncomingMessage]
    assert.equal(String(await once(res, 'data')), 'body')
  })

  it('an answer before the end of the body goes to the client; a rest that does not come is not waited for', async (t) => {
    answer = (_req, res) => res.end('early')
    const { socket, has, ended } = rawClient(t, edge.port)
    socket.write('POST / HTTP/1.1\r\nHost: red.example\r\nContent-Length: 10\r\n\r\n12345')
    assert.match(await has(/early/), /^HTTP\/1\.1 200 /)
    await ended
  })
})

describe('when one side goes away', () => {
  it('a client that leaves ends the request to the origin', async () => {
    const { promise: gone, resolve } = Promise.withResolvers<void>()
    answer = (req, res) => {
      res.write('begun')
      req.socket.on('close', () => resolve())
    }
    const [req] = await open()
    req.destroy()
    await gone
  })

  it('an origin that breaks off in the middle breaks the answer, so that it is not taken for whole', async () => {
    answer = (_req, res) => void res.write('half', () => res.destroy())
    await assert.rejects(ask('/'), /aborted|ECONNRESET/)
  })

  // Proves decided "Origin failure"
  it('an idle connection that the origin has closed meanwhile is no error for the next request', async () => {
    originAnswers()
    await ask('/first')
    const dropped = once(edge.originServer, 'connection')
    let drop = true
    answer = (req, res) => {
      if (!drop) return void res.end('again')
      drop = false
      req.socket.destroy()
    }
    assert.equal(String((await ask('/second')).body), 'again')
    await dropped
  })

  // Proves decided "Origin failure"
  it('a request that may not be sent twice has a connection that was used a moment ago, or a new one', async () => {
    const used = new Set<unknown>()
    answer = async (req, res) => {
      if (used.has(req.socket)) return void req.socket.destroy()
      used.add(req.socket)
      await req.toArray()
      res.end('done')
    }
    await ask('/')
    edge.wait(2_001)
    assert.equal(String((await ask('/', { method: 'POST', body: 'order' })).body), 'done')
  })
})

describe('origins that fail get people a page of ours', () => {
  // Proves decided "Origin failure"
  it('502 if nothing listens, or at an address that no origin may have; the page does not say which', async () => {
    for (const [url, told] of [
      [`http://127.0.0.1:${await freePort()}`, /cannot be reached/],
      [edge.origin.replace('127.0.0.1', '127.0.0.2'), /may not be contacted/],
    ] as const) {
      await edge.set(`origin_url = '${url}'`)
      const { status, verdict, body } = await ask('/')
      assert.deepEqual([status, verdict], [502, 'pass; not-a-crawler'])
      assert.match(String(body), told)
      assert.doesNotMatch(String(body), /127\.0\.0|ECONN/)
    }
    await edge.set(`origin_url = '${edge.origin}'`)
  })

  it('502 with a reference if the connection breaks; a request that may not be sent twice is sent once', async () => {
    let posts = 0
    // On a connection that is kept: only there anything is sent again.
    answer = (_req, res) => res.end('kept')
    await ask('/')
    answer = (req) => {
      posts += 1
      req.socket.destroy()
    }
    const { status, body } = await ask('/', { method: 'POST', body: 'order' })
    assert.deepEqual([status, posts], [502, 1])
    assert.match(String(body), /Reference: <code>[0-9a-f]{12}<\/code>/)
  })

  // Proves decided "Origin failure"
  it('504 if the origin is silent for too long', async () => {
    answer = () => {}
    const { status, body } = await ask('/')
    assert.equal(status, 504)
    assert.match(String(body), /did not answer in time/)
  })
})

describe('answers that are none, or would be two', () => {
  const OK = 'HTTP/1.1 200 OK\r\n'
  const SECOND = `${OK}Content-Length: 6\r\nSet-Cookie: evil=1\r\n\r\nsecond`
  const BAD: [name: string, bytes: string, status: number][] = [
    ['an upgrade out of the blue', 'HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', 502],
    ['two lengths', `${OK}Content-Length: 3\r\nContent-Length: 4\r\n\r\n${SECOND}`, 502],
    ['a folded header', `${OK}X-A: 1\r\n Set-Cookie: evil=1\r\nContent-Length: 0\r\n\r\n`, 502],
    ['a reason that is none', 'HTTP/1.1 200 <script>\tx\r\nContent-Length: 2\r\n\r\nok', 200],
    [
      'chunked twice',
      `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SECOND}`,
      200,
    ],
  ]
  for (const [name, bytes, status] of BAD) {
    it(`${status}: ${name}`, async () => {
      answer = (req) => void req.socket.end(bytes, 'latin1')
      const got = await raw(GET)
      assert.deepEqual(got.match(/^HTTP\/1\.1 \d+/gm), [`HTTP/1.1 ${status}`])
      assert.match(got, /^HTTP\/1\.1 (?:200 <script>\tx|\d+ [\w ]+)\r\n/)
      assert.doesNotMatch(got, /^Set-Cookie/im)
    })
  }
})
