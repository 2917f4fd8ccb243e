import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import { after, before, describe, it } from 'node:test'

import {
  type AskOptions,
  listening,
  PERSON,
  request,
  startTestEdge,
  type TestEdge,
} from '../../../test/support/edge.ts'

// What the toy origin does is set by each test; what it was asked is kept here.
let answer: http.RequestListener
let asked: { method: string; url: string; rawHeaders: string[]; body: string }[] = []
let edge: TestEdge

before(async () => {
  edge = await startTestEdge({
    // A busy machine stops for some hundred milliseconds now and then.
    answerWaitMs: 1_500,
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

describe('headers on the way to the origin', () => {
  const values = (name: string) => {
    const raw = asked[0]!.rawHeaders
    return raw.flatMap((text, at) => (at % 2 === 0 && text.toLowerCase() === name ? [raw[at + 1]] : []))
  }

  it('name the origin as Host, and say what we know of the client', async () => {
    originAnswers((res) => res.end())
    await ask('/a?b=1&a=2&utm_source=x')
    assert.equal(asked[0]!.url, '/a?b=1&a=2&utm_source=x') // untouched
    assert.deepEqual(values('host'), [new URL(edge.origin).host])
    assert.deepEqual(values('x-forwarded-host'), ['red.example'])
    assert.deepEqual(values('x-forwarded-proto'), ['http'])
    assert.deepEqual(values('x-forwarded-for'), ['127.0.0.1'])
    assert.deepEqual(values('via'), ['1.1 prepaint'])
  })

  it('cannot be spoofed by the client', async () => {
    originAnswers((res) => res.end())
    const lie = '10.0.0.1'
    await ask('/', {
      headers: {
        'X-Forwarded-For': lie,
        'x-forwarded-proto': 'https',
        'X-Forwarded-Host': 'evil.example',
        'X-Forwarded-Port': '1',
        Forwarded: `for=${lie}`,
        'X-Real-IP': lie,
        'X-Prepaint': 'hit',
        Connection: 'x-forwarded-for, host',
      },
    })
    assert.deepEqual(values('x-forwarded-for'), ['127.0.0.1'])
    assert.deepEqual(values('x-forwarded-proto'), ['http'])
    assert.deepEqual(values('x-forwarded-host'), ['red.example'])
    assert.deepEqual(values('host'), [new URL(edge.origin).host])
    assert.deepEqual(values('forwarded'), ['for=127.0.0.1;host=red.example;proto=http'])
    for (const name of ['x-forwarded-port', 'x-real-ip', 'x-prepaint']) assert.deepEqual(values(name), [])
  })

  it('lose what belongs to one connection, also what Connection names', async () => {
    originAnswers((res) => res.end())
    await ask('/', {
      headers: {
        Connection: 'close, X-Hop',
        'X-Hop': '1',
        'Keep-Alive': 'timeout=5',
        TE: 'trailers, deflate;q=0.5',
        'Proxy-Authorization': 'Basic x',
        'X-Stays': 'yes',
      },
    })
    for (const name of ['x-hop', 'keep-alive', 'proxy-authorization'])
      assert.deepEqual(values(name), [], name)
    // We take trailers as he does, and say so for our own connection.
    assert.deepEqual(values('te'), ['trailers'])
    assert.deepEqual(values('connection'), ['keep-alive, TE'])
    assert.deepEqual(values('x-stays'), ['yes'])
  })

  it('keep their order, spelling and repetition', async () => {
    originAnswers((res) => res.end())
    await raw(
      `GET / HTTP/1.1\r\nHost: red.example\r\nX-B: 1\r\nx-a: 2\r\nX-B: 3\r\nConnection: close\r\n\r\n`,
    )
    const kept = asked[0]!.rawHeaders.slice(2, 8)
    assert.deepEqual(kept, ['X-B', '1', 'x-a', '2', 'X-B', '3'])
  })

  it('grow a Via that is there; the third time round is the last', async () => {
    originAnswers((res) => res.end())
    await ask('/', { headers: { via: '1.0 first, 1.1 prepaint' } })
    assert.deepEqual(values('via'), ['1.0 first, 1.1 prepaint, 1.1 prepaint'])
    assert.equal(
      (await ask('/', { headers: { via: '1.1 prepaint, 1.1 prepaint, 1.1 prepaint' } })).status,
      508,
    )
    assert.equal(asked.length, 1)
  })
})

describe('answers of the origin', () => {
  it('come through with status, repeated headers and body, and say how', async () => {
    originAnswers((res) => {
      res.writeHead(418, 'Teapot', [
        ...['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'Connection', 'X-Hop', 'X-Hop', '1', 'Via', '1.1 shop'],
        ...['X-Prepaint', 'hit'],
      ])
      res.end('short and stout')
    })
    const got = await ask('/')
    assert.deepEqual(
      [got.status, got.verdict, String(got.body)],
      [418, 'pass; not-a-crawler', 'short and stout'],
    )
    assert.deepEqual(got.headers['set-cookie'], ['a=1', 'b=2'])
    assert.equal(got.headers['x-hop'], undefined)
    assert.equal(got.headers.via, '1.1 shop, 1.1 prepaint')
  })

  it('without a body: HEAD, 204, 304', async () => {
    originAnswers((res) => res.writeHead(200, { 'content-length': '7' }).end())
    assert.equal((await ask('/', { method: 'HEAD' })).headers['content-length'], '7')
    for (const status of [204, 304]) {
      originAnswers((res) => res.writeHead(status, { etag: '"x"' }).end())
      const got = await ask('/')
      assert.deepEqual([got.status, got.body.length, got.headers.etag], [status, 0, '"x"'])
    }
  })

  it('redirects and cookies for the own host of the origin lead to the custom domain; others stay', async () => {
    const { host, hostname } = new URL(edge.origin)
    const cases: [location: string, seen: string][] = [
      [`http://${host}/new?x=1#y`, 'http://red.example/new?x=1#y'],
      [`//${host}/new`, 'http://red.example/new'],
      [`https://${hostname}/secure`, 'https://red.example/secure'],
      [`http://${hostname}:1/other-port`, `http://${hostname}:1/other-port`],
      ['/relative', '/relative'],
      ['https://else.example/x', 'https://else.example/x'],
      ['http://[broken', 'http://[broken'],
    ]
    for (const [location, seen] of cases) {
      originAnswers((res) => {
        res.writeHead(302, {
          location,
          'set-cookie': [`a=1; Domain=${hostname}; Path=/`, 'b=2; Domain=else.example'],
        })
        res.end()
      })
      const got = await ask('/')
      assert.equal(got.headers.location, seen)
      assert.deepEqual(got.headers['set-cookie'], [
        'a=1; Domain=red.example; Path=/',
        'b=2; Domain=else.example',
      ])
    }
  })

  it('interim answers are dropped, the final one comes', async () => {
    originAnswers((res) => res.writeEarlyHints({ link: '</a.css>; rel=preload' }, () => res.end('final')))
    assert.equal(String((await ask('/')).body), 'final')
  })

  it('trailers come through', async () => {
    originAnswers((res) => {
      res.writeHead(200, { trailer: 'X-Sum' })
      res.write('body')
      res.addTrailers({ 'X-Sum': '42' })
      res.end()
    })
    assert.match(await raw(get('/')), /body\r\n0\r\nX-Sum: 42\r\n/)
  })
})

describe('bodies stream both ways', () => {
  it('large uploads and downloads arrive whole', async () => {
    const big = Buffer.alloc(8 * 1024 * 1024, 'x')
    originAnswers((res) => res.end(big))
    const got = await ask('/', { method: 'POST', body: big })
    assert.equal(asked[0]!.body.length, big.length)
    assert.equal(got.body.length, big.length)
    assert(got.body.equals(big))
  })

  it('a chunked upload stays chunked, and may come with GET', async () => {
    originAnswers((res) => res.end('ok'))
    const chunked =
      'Host: red.example\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n'
    for (const method of ['POST', 'GET', 'DELETE']) {
      asked = []
      await raw(`${method} / HTTP/1.1\r\n${chunked}`)
      assert.equal(asked[0]?.body, 'abc', method)
    }
  })

  it('the first part of an answer comes before its end', async () => {
    const { promise: release, resolve } = Promise.withResolvers<void>()
    answer = async (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write('data: 1\n\n')
      await release
      res.end('data: 2\n\n')
    }
    const req = http.get({
      port: edge.port,
      host: '127.0.0.1',
      agent: false,
      headers: { host: 'red.example' },
    })
    const [res] = (await once(req, 'response')) as [http.IncomingMessage]
    const [first] = await once(res, 'data')
    assert.equal(String(first), 'data: 1\n\n')
    resolve()
    const [second] = await once(res, 'data')
    assert.equal(String(second), 'data: 2\n\n')
  })

  it('the origin is read only as fast as the client takes it', async () => {
    const piece = Buffer.alloc(1024 * 1024)
    const { promise: held, resolve } = Promise.withResolvers<number>()
    answer = (_req, res) => {
      let written = 0
      const more = () => {
        while (written < 512 && res.write(piece)) written++
        if (written < 512) res.once('drain', more)
      }
      res.on('close', () => resolve(written))
      // Socket buffers take some; then nothing moves any more.
      setTimeout(() => res.destroy(), 250)
      more()
    }
    const socket = net.connect(edge.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    socket.write(get('/'))
    assert((await held) < 100)
    socket.destroy()
  })

  it('100 of an origin that says it unasked is not for clients of HTTP/1.0', async () => {
    answer = (_req, res) => {
      res.writeContinue()
      res.end('done')
    }
    const lines = async (version: string) => {
      const socket = net.connect(edge.port, '127.0.0.1')
      socket.write(`GET / HTTP/${version}\r\nHost: red.example\r\nConnection: close\r\n\r\n`)
      const text = Buffer.concat((await socket.toArray()) as Buffer[]).toString()
      return text.match(/^HTTP\/1\.1 \d+/gm)
    }
    assert.deepEqual(await lines('1.1'), ['HTTP/1.1 100', 'HTTP/1.1 200'])
    assert.deepEqual(await lines('1.0'), ['HTTP/1.1 200'])
  })

  it('Expect: 100-continue is asked of the origin', async () => {
    const order: string[] = []
    edge.originServer.once('checkContinue', (req: http.IncomingMessage, res: http.ServerResponse) => {
      order.push('asked')
      res.writeContinue()
      req.on('data', (part) => order.push(String(part)))
      req.on('end', () => res.end('thanks'))
    })
    const req = http.request({
      ...{ port: edge.port, host: '127.0.0.1', method: 'POST', agent: false },
      headers: { host: 'red.example', expect: '100-continue', 'content-length': '4' },
    })
    req.flushHeaders()
    await once(req, 'continue')
    order.push('told')
    req.end('body')
    const [res] = (await once(req, 'response')) as [http.IncomingMessage]
    assert.equal(String(await once(res, 'data')), 'thanks')
    assert.deepEqual(order, ['asked', 'told', 'body'])
  })

  it('an origin that answers before it has read everything is heard', async () => {
    answer = (_req, res) => res.writeHead(413, { connection: 'close' }).end('too much')
    const head = 'POST / HTTP/1.1\r\nHost: red.example\r\nContent-Length: 100000000\r\n\r\n'
    assert.match(await raw(head + 'x'.repeat(100_000), /too much/), /^HTTP\/1\.1 413 /)
  })
})

describe('when somebody goes away', () => {
  it('a client that leaves ends the request to the origin', async () => {
    const { promise: gone, resolve } = Promise.withResolvers<void>()
    answer = (req, res) => {
      res.write('begun')
      req.socket.on('close', () => resolve())
    }
    const req = http.get({
      port: edge.port,
      host: '127.0.0.1',
      agent: false,
      headers: { host: 'red.example' },
    })
    await once(req, 'response')
    req.on('error', () => {})
    req.destroy()
    await gone
  })

  it('an origin that breaks off in the middle breaks the answer, so that it is not taken for whole', async () => {
    answer = (_req, res) => {
      res.writeHead(200, { 'content-length': '100' })
      res.write('half', () => res.destroy())
    }
    await assert.rejects(ask('/'), /aborted|ECONNRESET/)
  })

  // Proves decided "Origin failure"
  it('an idle connection that the origin has closed meanwhile is no error for the next request', async () => {
    originAnswers((res) => res.end('once'))
    await ask('/first')
    // The origin closes the kept connection at the moment it reads the next request.
    const dropped = once(edge.originServer, 'connection')
    let drop = true
    answer = (req, res) => {
      if (drop) {
        drop = false
        req.socket.destroy()
      } else res.end('again')
    }
    assert.equal(String((await ask('/second')).body), 'again')
    await dropped
  })
})

describe('origins that fail get people a page of ours, and the log a line', () => {
  // Proves decided "Origin failure"
  it('502: nobody listens', async () => {
    const { port } = new URL(edge.origin)
    const closed = http.createServer()
    const free = await listening(closed)
    closed.close()
    await edge.set(`origin_url = 'http://127.0.0.1:${free}'`).then(edge.settled)
    const got = await ask('/')
    assert.deepEqual([got.status, got.verdict], [502, 'pass; not-a-crawler'])
    assert.match(String(got.body), /cannot be reached/)
    assert.doesNotMatch(String(got.body), /127\.0\.0\.1|ECONN/)
    await edge.set(`origin_url = 'http://127.0.0.1:${port}'`).then(edge.settled)
  })

  it('502: an address that no origin may have, and nothing of it is told', async () => {
    const { port } = new URL(edge.origin)
    await edge.set(`origin_url = 'http://127.0.0.2:${port}'`).then(edge.settled)
    const got = await ask('/')
    assert.equal(got.status, 502)
    assert.match(String(got.body), /may not be contacted/)
    await edge.set(`origin_url = 'http://127.0.0.1:${port}'`).then(edge.settled)
  })

  it('502: it closes without a word', async () => {
    answer = (req) => req.socket.destroy()
    assert.equal((await ask('/', { method: 'POST', body: 'x' })).status, 502)
  })

  const GARBAGE: Record<string, string> = {
    'no HTTP': 'hello\r\n\r\n',
    'a status that is none': 'HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n',
    'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc',
    'headers without end': `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}`,
    'an upgrade that nobody asked for':
      'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
  }
  for (const [name, bytes] of Object.entries(GARBAGE)) {
    it(`502: it answers ${name}`, async () => {
      answer = (req) => void req.socket.end(bytes, 'latin1')
      assert.equal((await ask('/')).status, 502)
    })
  }

  // Proves decided "Origin failure"
  it('504: it is silent for too long', async () => {
    answer = () => {}
    const got = await ask('/')
    assert.equal(got.status, 504)
    assert.match(String(got.body), /did not answer in time/)
  })

  it('a slow upload is not silence', async () => {
    originAnswers((res) => res.end('done'))
    const req = http.request({
      ...{ port: edge.port, host: '127.0.0.1', method: 'POST', agent: false },
      headers: { host: 'red.example', 'content-length': '8' },
    })
    const answered = once(req, 'response')
    for (const letter of 'abcdefgh') {
      req.write(letter)
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
    req.end()
    const [res] = (await answered) as [http.IncomingMessage]
    assert.equal(res.statusCode, 200)
    assert.equal(asked[0]!.body, 'abcdefgh')
  })
})

describe('requests that could be read in two ways are refused', () => {
  const REQUESTS: Record<string, string> = {
    'a length and chunks at once': 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'two lengths': 'Content-Length: 1\r\nContent-Length: 2\r\n\r\nab',
    'an odd transfer coding': 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
    'a space before the colon': 'Content-Length : 5\r\n\r\nabcde',
    'a folded header': 'X-A: 1\r\n Content-Length: 5\r\n\r\n',
    'a bare line feed': 'X-A: 1\nTransfer-Encoding: chunked\r\n\r\n',
  }
  for (const [name, rest] of Object.entries(REQUESTS)) {
    it(name, async () => {
      originAnswers((res) => res.end('reached'))
      const got = await raw(`POST / HTTP/1.1\r\nHost: red.example\r\n${rest}`)
      assert.match(got, /^HTTP\/1\.1 400 /)
      assert.deepEqual(asked, [])
    })
  }

  it('no Host', async () => assert.match(await raw('GET / HTTP/1.1\r\n\r\n'), /^HTTP\/1\.1 400 /))
  it('a target that is neither a path nor a URL', async () => {
    assert.match(
      await raw('GET foo HTTP/1.1\r\nHost: red.example\r\nConnection: close\r\n\r\n'),
      /^HTTP\/1\.1 400 /,
    )
  })
  it('CONNECT', async () => {
    assert.doesNotMatch(await raw('CONNECT red.example:443 HTTP/1.1\r\nHost: red.example\r\n\r\n'), / 200 /)
  })
})

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

it('is no open proxy: another host in the target is another domain of ours or nobody', async () => {
  const got = await request(edge.port, 'http://127.0.0.1:1/', { host: 'red.example', agent: PERSON })
  assert.equal(got.status, 404)
})

describe('an answer before the end of the body', { timeout: 240_000 }, () => {
  const head = `POST / HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\nContent-Length: 10\r\n\r\n`

  async function answeredEarly() {
    answer = (_req, res) => res.end('early')
    const socket = net.connect(edge.port, '127.0.0.1')
    let got = ''
    socket
      .on('error', () => {})
      .on('data', (part: Buffer) => {
        got += part.toString()
      })
    socket.write(`${head}12345`)
    while (!got.includes('early')) await once(socket, 'data')
    return socket
  }

  it('goes to the client; a rest that does not come is not waited for', async () => {
    const socket = await answeredEarly()
    if (!socket.closed) await once(socket, 'close')
  })

  it('a rest that comes is taken, and the connection serves on', async () => {
    const socket = await answeredEarly()
    socket.write('67890')
    socket.write(`GET / HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\n\r\n`)
    assert.match(String((await once(socket, 'data'))[0]), /^HTTP\/1\.1 200 /)
    socket.destroy()
  })
})
