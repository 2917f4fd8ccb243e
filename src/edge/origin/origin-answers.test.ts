/** What stands in messages that pass, both ways, and which of them do. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'
import { type AskOptions, PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'
import { responseHeaders } from '../../outbound/headers.ts'

// What the toy origin does is set by each test; what it was asked is kept here.
let answer: http.RequestListener
let asked: { method: string; url: string; rawHeaders: string[]; body: string }[] = []
let edge: TestEdge

before(async () => {
  edge = await startTestEdge({
    answerWaitMs: 5_000,
    origin: (req, res) => answer(req, res),
  })
})
after(() => edge.close())

const ask = (path: string, options: AskOptions = {}) => edge.ask(path, { agent: PERSON, ...options })

/** The origin reads everything, keeps what it was asked, and then answers. */
function originAnswers(then: (res: http.ServerResponse) => void): void {
  asked = []
  answer = async (req, res) => {
    const parts: Buffer[] = []
    for await (const part of req) parts.push(part as Buffer)
    const { method = '', url = '', rawHeaders } = req
    asked.push({ method, url, rawHeaders, body: Buffer.concat(parts).toString() })
    then(res)
  }
}

describe('what names the origin by itself', () => {
  // Proves decided "Rewritten headers"
  it('Content-Location, Refresh and Link lead to the custom domain, others stay', async () => {
    const { host } = new URL(edge.origin)
    originAnswers((res) => {
      res.writeHead(200, [
        ...['Content-Location', `http://${host}/here`, 'Refresh', `5; url=http://${host}/next?a=1`],
        ...[
          'Link',
          `<http://${host}/a.css>; rel=preload, <https://else.example/b>; rel=next, </c>; rel=prev`,
        ],
        ...['Refresh', '3; URL="https://else.example/x"'],
      ])
      res.end()
    })
    const { headers } = await ask('/')
    assert.equal(headers['content-location'], 'http://red.example/here')
    assert.equal(headers['refresh'], '5; url=http://red.example/next?a=1, 3; URL="https://else.example/x"')
    assert.equal(
      headers.link,
      '<http://red.example/a.css>; rel=preload, <https://else.example/b>; rel=next, </c>; rel=prev',
    )
  })

  // Proves decided "Rewritten headers"
  it('Alt-Svc is dropped: it would lead people past us', async () => {
    originAnswers((res) => res.writeHead(200, { 'alt-svc': 'h3=":443"; ma=86400' }).end())
    assert.equal((await ask('/')).headers['alt-svc'], undefined)
  })

  it('a name that objects have, too, is a name like any other', async () => {
    const names = ['__proto__', 'constructor', 'hasOwnProperty']
    originAnswers((res) =>
      res
        .writeHead(
          200,
          names.flatMap((name) => [name, 'as it is']),
        )
        .end(),
    )
    const { status, rawHeaders } = await ask('/')
    assert.equal(status, 200)
    for (const name of names) assert.equal(rawHeaders[rawHeaders.indexOf(name) + 1], 'as it is', name)
  })

  // Proves decided "Rewritten headers"
  it("the site's own policies stay: HSTS, CSP, CORS, Date and Server", async () => {
    const { host } = new URL(edge.origin)
    const kept = {
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      'content-security-policy': `default-src 'self' http://${host}`,
      'access-control-allow-origin': `http://${host}`,
      date: 'Tue, 15 Nov 1994 08:12:31 GMT',
      server: 'shop/1.0',
    }
    originAnswers((res) => res.writeHead(200, kept).end())
    const { headers } = await ask('/')
    for (const [name, value] of Object.entries(kept)) assert.equal(headers[name], value, name)
  })
})

describe('cookies', () => {
  const row = (domain: string, origin: string, name = 'www.red.example') =>
    responseHeaders(
      { httpVersion: '1.1', statusCode: 200, rawHeaders: ['Set-Cookie', `a=1; Domain=${domain}; Secure`] },
      { address: '', scheme: 'http', host: name },
      {
        name,
        origin: { protocol: 'https:', hostname: origin, port: 443, authority: origin },
      } as Parameters<typeof responseHeaders>[2],
      'pass; method',
    )[1]

  // Proves decided "Rewritten headers"
  it("for the origin's host, or for a name above it, become the custom domain's", () => {
    assert.equal(row('shop.host.example', 'shop.host.example'), 'a=1; Domain=www.red.example; Secure')
    assert.equal(row('.SHOP.host.example', 'shop.host.example'), 'a=1; Domain=www.red.example; Secure')
    assert.equal(row('host.example', 'shop.host.example'), 'a=1; Domain=www.red.example; Secure')
  })

  it('stay where the custom domain is below that name too, and for any other', () => {
    assert.equal(row('red.example', 'origin.red.example'), 'a=1; Domain=red.example; Secure')
    assert.equal(row('else.example', 'shop.host.example'), 'a=1; Domain=else.example; Secure')
    assert.equal(row('op.host.example', 'shop.host.example'), 'a=1; Domain=op.host.example; Secure')
  })
})

describe('framing', () => {
  it('204 has no length; 304 and HEAD keep that of what they stand for', async () => {
    answer = (req) =>
      void req.socket.end('HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nX-A: 1\r\n\r\n', 'latin1')
    const got = await ask('/')
    assert.deepEqual([got.status, got.headers['content-length'], got.headers['x-a']], [204, undefined, '1'])
    originAnswers((res) => res.writeHead(304, { 'content-length': '5', etag: '"x"' }).end())
    assert.match(await raw(get('/')), /Content-Length: 5\r\n[\s\S]*\r\n\r\n$/i)
  })

  it('a length stays a length, chunks stay chunks, and a client of HTTP/1.0 reads to the end', async () => {
    originAnswers((res) => res.writeHead(200, { 'content-length': '4' }).end('four'))
    assert.match(await raw(get('/')), /\r\ncontent-length: 4\r\n(?![\s\S]*transfer-encoding)/i)
    originAnswers((res) => {
      res.write('fo')
      res.end('ur')
    })
    assert.match(await raw(get('/')), /\r\ntransfer-encoding: chunked\r\n(?![\s\S]*content-length)/i)
    asked = []
    const old = await raw('GET / HTTP/1.0\r\nHost: red.example\r\n\r\n')
    assert.match(old, /\r\n\r\nfour$/)
    assert.doesNotMatch(old, /transfer-encoding/i)
    assert.deepEqual(valuesOf('via'), ['1.0 prepaint'])
  })

  it('an origin of HTTP/1.0 whose answer ends with its connection', async () => {
    answer = (req) => void req.socket.end('HTTP/1.0 200 OK\r\nX-A: 1\r\n\r\nto the end', 'latin1')
    const got = await ask('/')
    assert.deepEqual([String(got.body), got.headers.via], ['to the end', '1.0 prepaint'])
  })

  it('ranges are the origin’s to answer', async () => {
    originAnswers((res) => {
      res.writeHead(206, { 'content-range': 'bytes 2-3/10', 'content-length': '2' }).end('cd')
    })
    const got = await ask('/', { headers: { range: 'bytes=2-3', 'if-range': '"v1"' } })
    assert.deepEqual(
      [got.status, got.headers['content-range'], String(got.body)],
      [206, 'bytes 2-3/10', 'cd'],
    )
    assert.deepEqual([valuesOf('range'), valuesOf('if-range')], [['bytes=2-3'], ['"v1"']])
  })

  it('trailers of a request go on, without those that have no place there', async () => {
    let trailers: NodeJS.Dict<string> = {}
    answer = (req, res) => {
      req.resume().on('end', () => {
        trailers = req.trailers
        res.end(String(req.headers.trailer))
      })
    }
    const got = await raw(
      'POST / HTTP/1.1\r\nHost: red.example\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\nConnection: close\r\n\r\n' +
        '3\r\nabc\r\n0\r\nX-Sum: 42\r\nX-Forwarded-For: 10.0.0.1\r\nAuthorization: x\r\n\r\n',
    )
    assert.match(got, /X-Sum/)
    assert.deepEqual({ ...trailers }, { 'x-sum': '42' })
  })
})

describe('methods', () => {
  // Proves decided "Methods that are not passed on"
  it('TRACE goes no further, nor does CONNECT: 405', async () => {
    originAnswers((res) => res.end())
    for (const line of ['TRACE /', 'CONNECT red.example:443']) {
      const got = await raw(`${line} HTTP/1.1\r\nHost: red.example\r\nConnection: close\r\n\r\n`)
      assert.match(got, /^HTTP\/1\.1 405 [\s\S]*\r\nAllow: GET, HEAD, POST/)
    }
    assert.deepEqual(asked, [])
  })

  // Proves decided "Methods that are not passed on"
  it('OPTIONS with Max-Forwards: 0 is answered here, with more it is counted down; others keep theirs', async () => {
    originAnswers((res) => res.end('from the origin'))
    const here = await ask('*', { method: 'OPTIONS', headers: { 'max-forwards': '0' } })
    assert.deepEqual([here.status, here.headers.allow?.includes('PATCH'), asked.length], [204, true, 0])
    await ask('*', { method: 'OPTIONS', headers: { 'max-forwards': '1' } })
    assert.deepEqual([asked[0]?.url, valuesOf('max-forwards')], ['*', ['0']])
    originAnswers((res) => res.end())
    await ask('/', { headers: { 'max-forwards': '0' } })
    assert.deepEqual(valuesOf('max-forwards'), ['0'])
  })
})

describe('connections to the origin', () => {
  // Proves decided "Origin failure"
  it('a request that may not be sent twice is not lost to one that the origin closes meanwhile', async () => {
    const sockets = new Set<unknown>()
    let nowAndThen = true
    answer = (req, res) => {
      // The second request on any connection meets its end.
      if (sockets.has(req.socket) && nowAndThen) return void req.socket.destroy()
      sockets.add(req.socket)
      req.resume().on('end', () => res.end('done'))
    }
    await ask('/')
    await new Promise((resolve) => setTimeout(resolve, 2_100))
    assert.equal(String((await ask('/', { method: 'POST', body: 'order' })).body), 'done')
    nowAndThen = false
  })

  it('are kept and used again, and a failed request that was sent once is not sent twice', async () => {
    let posts = 0
    answer = (req) => {
      posts += 1
      req.socket.destroy()
    }
    const got = await ask('/', { method: 'POST', body: 'order' })
    assert.deepEqual([got.status, posts], [502, 1])
    assert.match(String(got.body), /Reference: <code>[0-9a-f]{12}<\/code>/)
  })
})

describe('events', () => {
  it('are announced before the first comes', async () => {
    answer = (_req, res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    const req = http.get({
      ...{ port: edge.port, host: '127.0.0.1', agent: false },
      headers: { host: 'red.example' },
    })
    const [res] = (await once(req, 'response')) as [http.IncomingMessage]
    assert.equal(res.headers['content-type'], 'text/event-stream')
    req.on('error', () => {}).destroy()
  })
})

function valuesOf(name: string): string[] {
  const raw = asked[0]?.rawHeaders ?? []
  return raw.flatMap((text, at) => (at % 2 === 0 && text.toLowerCase() === name ? [raw[at + 1]!] : []))
}

// Test support

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: red.example\r\nConnection: close\r\n\r\n`
}

/** Writes bytes and gives what comes back until the end, or until it matches. */
async function raw(bytes: string, until?: RegExp): Promise<string> {
  const socket = net.connect(edge.port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(bytes, 'latin1')
  let got = ''
  for await (const part of socket) {
    got += String(part)
    if (until?.test(got)) break
  }
  return got
}
