import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { after, before, describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'

import { GOOGLEBOT, PERSON, startTestEdge, type TestEdge } from '../../../test/support/edge.ts'

// What the toy origin does is set by each test.
let answer: http.RequestListener = (_req, res) => res.end()
let edge: TestEdge
before(async () => {
  edge = await startTestEdge({ tls: true, answerWaitMs: 2_000, origin: (req, res) => answer(req, res) })
})
after(() => edge.close())

function connect(t: TestContext, options: http2.SecureClientSessionOptions = {}): http2.ClientHttp2Session {
  const session = http2.connect(`https://127.0.0.1:${edge.tlsPort}`, {
    servername: 'red.example',
    rejectUnauthorized: false,
    ...options,
  })
  session.on('error', () => {})
  t.after(() => session.destroy())
  return session
}

type Got = { headers: http2.IncomingHttpHeaders; body: string; trailers: http2.IncomingHttpHeaders }

async function ask(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body?: Buffer | string,
): Promise<Got> {
  const stream = session.request(
    { ':authority': 'red.example', 'user-agent': PERSON, ...headers },
    { endStream: body === undefined },
  )
  let trailers: http2.IncomingHttpHeaders = {}
  stream.on('trailers', (given) => {
    trailers = given
  })
  if (body !== undefined) stream.end(body)
  const [got] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  let text = ''
  for await (const part of stream.setEncoding('utf8')) text += part
  return { headers: got, body: text, trailers }
}

describe('HTTP/2', { timeout: 240_000 }, () => {
  // Proves decided "HTTP versions"
  it('a person gets the origin, which is asked in the words of HTTP/1.1', async (t) => {
    let asked: string[] = []
    answer = (req, res) => {
      asked = req.rawHeaders
      res.writeHead(200, 'Fine', [
        'Set-Cookie',
        'a=1',
        'Set-Cookie',
        'b=2',
        'Connection',
        'X-Hop',
        'X-Hop',
        '1',
      ])
      res.end(`${req.method} ${req.url}`)
    }
    const got = await ask(connect(t), {
      ':path': '/a?b=1',
      cookie: ['x=1', 'y=2'],
      'x-forwarded-for': '10.0.0.1',
    })
    assert.equal(got.body, 'GET /a?b=1')
    assert.equal(got.headers[':status'], 200)
    assert.deepEqual(got.headers['set-cookie'], ['a=1', 'b=2'])
    assert.equal(got.headers['x-hop'], undefined)
    assert.equal(got.headers['x-prepaint'], 'pass; not-a-crawler')
    assert.equal(got.headers.via, '1.1 prepaint')
    const values = (name: string) =>
      asked.flatMap((text, at) => (at % 2 === 0 && text.toLowerCase() === name ? [asked[at + 1]] : []))
    assert.deepEqual(values('host'), [new URL(edge.origin).host])
    assert.deepEqual(values('cookie'), ['x=1; y=2'])
    assert.deepEqual(values('x-forwarded-for'), ['127.0.0.1'])
    assert.deepEqual(values('x-forwarded-proto'), ['https'])
    assert.deepEqual(values('x-forwarded-host'), ['red.example'])
    assert.deepEqual(values('via'), ['2 prepaint'])
    assert.deepEqual(
      asked.filter((text) => text.startsWith(':')),
      [],
    )
  })

  it('a crawler gets the page: rendered, hit, 304, HEAD', async (t) => {
    const session = connect(t)
    const page = { ':path': '/page', 'user-agent': GOOGLEBOT }
    assert.equal((await ask(session, page)).headers['x-prepaint'], 'rendered')
    const hit = await ask(session, page)
    assert.equal(hit.headers['x-prepaint'], 'hit')
    assert.match(hit.body, /red\.example\/page/)
    const same = await ask(session, { ...page, 'if-none-match': hit.headers.etag })
    assert.deepEqual([same.headers[':status'], same.body], [304, ''])
    const head = await ask(session, { ...page, ':method': 'HEAD' })
    assert.deepEqual([head.headers[':status'], head.body], [200, ''])
  })

  it('HTTP/1.1 is spoken on the same port, also with a client that offers nothing', async () => {
    answer = (req, res) => res.end(`${req.headers['x-forwarded-proto']} ${req.headers.via}`)
    for (const ALPNProtocols of [['http/1.1'], undefined]) {
      const req = https.get({
        ...{ host: '127.0.0.1', port: edge.tlsPort, servername: 'red.example', agent: false },
        ...{ rejectUnauthorized: false, headers: { host: 'red.example' } },
        ...(ALPNProtocols === undefined ? {} : { ALPNProtocols }),
      })
      const [res] = (await once(req, 'response')) as [http.IncomingMessage]
      assert.equal(String(Buffer.concat(await res.toArray())), 'https 1.1 prepaint')
    }
  })

  it('an unknown name gets no handshake', async () => {
    const socket = tls.connect({
      port: edge.tlsPort,
      host: '127.0.0.1',
      servername: 'nobody.example',
      rejectUnauthorized: false,
    })
    const [error] = await once(socket, 'error').catch((thrown: Error) => [thrown])
    assert.match(String(error), /handshake failure|alert|reset|disconnected/i)
  })
})

describe('bodies over HTTP/2', { timeout: 240_000 }, () => {
  it('large uploads and downloads arrive whole, with and without a length', async (t) => {
    const big = Buffer.alloc(3 * 1024 * 1024, 'x')
    let asked: http.IncomingHttpHeaders = {}
    answer = async (req, res) => {
      asked = req.headers
      req.pipe(res)
    }
    const session = connect(t)
    for (const length of [undefined, big.length]) {
      const headers = length === undefined ? {} : { 'content-length': length }
      const got = await ask(session, { ':method': 'POST', ':path': '/', ...headers }, big)
      assert.equal(got.body.length, big.length)
      assert.equal(asked['content-length'], length === undefined ? undefined : `${length}`)
      assert.equal(asked['transfer-encoding'], length === undefined ? 'chunked' : undefined)
    }
  })

  it('an upload stops when the origin takes nothing, and the session serves on', async (t) => {
    const asked = Promise.withResolvers<http.IncomingMessage>()
    answer = (req, res) => {
      if (req.url === '/upload') asked.resolve(req)
      else res.end('still here')
    }
    const session = connect(t)
    const stream = session.request({ ':method': 'POST', ':path': '/upload', ':authority': 'red.example' })
    stream.on('error', () => {})
    let taken = 0
    const piece = Buffer.alloc(64 * 1024)
    const more = (error?: Error | null) => {
      if (error) return
      stream.write(piece, (failed) => {
        taken += 1
        more(failed)
      })
    }
    more()
    const req = await asked.promise
    let before = -1
    // What fills up are windows and socket buffers; then nothing moves.
    while (taken !== before) {
      before = taken
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    assert(taken * piece.length < 32 * 1024 * 1024, `${taken} pieces`)
    assert.equal((await ask(session, { ':path': '/' })).body, 'still here')
    req.on('error', () => {})
    const closed = new Promise((resolve) => req.once('close', resolve))
    stream.close(http2.constants.NGHTTP2_CANCEL)
    // Whoever reads nothing does not see an end either.
    req.resume()
    await closed
  })

  it('the origin is read only as fast as a stream is; others of its session go on', async (t) => {
    const piece = Buffer.alloc(1024 * 1024)
    let written = 0
    answer = (req, res) => {
      if (req.url !== '/large') return void res.end('small')
      const more = () => {
        while (written < 512 && res.write(piece)) written++
        if (written < 512) res.once('drain', more)
      }
      more()
    }
    const session = connect(t)
    const stream = session.request({ ':path': '/large', ':authority': 'red.example' })
    stream.on('error', () => {})
    await once(stream, 'response')
    let before = -1
    while (written !== before) {
      before = written
      await new Promise((resolve) => setTimeout(resolve, 150))
    }
    assert(written < 100, `${written} MiB`)
    assert.equal((await ask(session, { ':path': '/' })).body, 'small')
    stream.close()
  })

  it('trailers go both ways, without those that have no place there', async (t) => {
    let asked: http.IncomingMessage | null = null
    answer = (req, res) => {
      asked = req
      req.resume().on('end', () => {
        res.writeHead(200, { trailer: 'X-Sum' })
        res.write('body')
        res.addTrailers({ 'X-Sum': '42', 'Set-Cookie': 'a=1' })
        res.end()
      })
    }
    const session = connect(t)
    const stream = session.request(
      { ':method': 'POST', ':path': '/', ':authority': 'red.example' },
      { waitForTrailers: true },
    )
    stream.on('wantTrailers', () =>
      stream.sendTrailers({ 'x-check': '7', 'x-forwarded-for': '10.0.0.1', cookie: 'b=1' }),
    )
    const trailers = once(stream, 'trailers')
    stream.end('up')
    stream.resume()
    const [got] = (await trailers) as [http2.IncomingHttpHeaders]
    assert.deepEqual([got['x-sum'], got['set-cookie']], ['42', undefined])
    assert.deepEqual({ ...asked!.trailers }, { 'x-check': '7' })
  })

  it('events come one by one, and their announcement before the first', async (t) => {
    const { promise: release, resolve } = Promise.withResolvers<void>()
    answer = async (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      await release
      res.write('data: 1\n\n')
    }
    const stream = connect(t).request({ ':path': '/events', ':authority': 'red.example' })
    const [head] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    assert.equal(head['content-type'], 'text/event-stream')
    resolve()
    assert.equal(String((await once(stream, 'data'))[0]), 'data: 1\n\n')
    stream.close()
  })

  it('Expect: 100-continue is asked of the origin; a final answer comes before the body', async (t) => {
    edge.originServer.once('checkContinue', (_req: http.IncomingMessage, res: http.ServerResponse) => {
      res.writeContinue()
      res.end('thanks')
    })
    const session = connect(t)
    const headers = { ':method': 'POST', ':path': '/', ':authority': 'red.example', expect: '100-continue' }
    const stream = session.request(headers)
    // Both may come in one piece.
    const response = once(stream, 'response')
    await once(stream, 'continue')
    stream.end('body')
    const [got] = (await response) as [http2.IncomingHttpHeaders]
    assert.equal(got[':status'], 200)
    stream.close()

    edge.originServer.once('checkContinue', (_req: http.IncomingMessage, res: http.ServerResponse) => {
      res.writeHead(413, { connection: 'close' }).end('too much')
    })
    const refused = session.request(headers)
    refused.on('continue', () => assert.fail('nobody wanted the body'))
    const [final] = (await once(refused, 'response')) as [http2.IncomingHttpHeaders]
    assert.equal(final[':status'], 413)
    refused.close()
  })

  it('an answer before the end of the body is heard, and the stream ends in peace', async (t) => {
    answer = (_req, res) => res.end('early')
    const stream = connect(t).request({ ':method': 'POST', ':path': '/', ':authority': 'red.example' })
    stream.write('half')
    let body = ''
    stream.setEncoding('utf8').on('data', (part) => {
      body += part
    })
    await once(stream, 'close')
    assert.deepEqual([body, stream.rstCode], ['early', http2.constants.NGHTTP2_NO_ERROR])
  })

  it('a body that nobody reads ends in peace with the page that is served all the same', async (t) => {
    await edge.ask('/cached')
    const stream = connect(t).request(
      { ':path': '/cached', ':authority': 'red.example', 'user-agent': GOOGLEBOT },
      { endStream: false },
    )
    stream.write('half')
    const [head] = (await once(stream.resume(), 'response')) as [http2.IncomingHttpHeaders]
    assert.equal(head['x-prepaint'], 'hit')
    await once(stream, 'close')
    assert.equal(stream.rstCode, http2.constants.NGHTTP2_NO_ERROR)
  })

  it('a client that takes its request back ends it at the origin', async (t) => {
    const { promise: gone, resolve } = Promise.withResolvers<void>()
    const { promise: asked, resolve: begun } = Promise.withResolvers<void>()
    answer = (req) => {
      begun()
      req.socket.on('close', () => resolve())
    }
    const stream = connect(t).request({ ':path': '/', ':authority': 'red.example' })
    stream.on('error', () => {})
    await asked
    stream.close(http2.constants.NGHTTP2_CANCEL)
    await gone
  })

  it('an origin that breaks off in the middle breaks the answer', async (t) => {
    answer = (_req, res) => {
      res.writeHead(200, { 'content-length': '100' })
      res.write('half', () => res.destroy())
    }
    const stream = connect(t).request({ ':path': '/', ':authority': 'red.example' })
    stream.resume()
    const [error] = await once(stream, 'error').catch((thrown: Error) => [thrown])
    assert.match(String(error), /INTERNAL_ERROR/)
  })

  it('an origin that fails: a page of ours with a reference', async (t) => {
    answer = (req) => req.socket.destroy()
    const got = await ask(connect(t), { ':method': 'POST', ':path': '/' }, 'x')
    assert.equal(got.headers[':status'], 502)
    assert.match(got.body, /Reference: <code>[0-9a-f]{12}<\/code>/)
  })
})

describe('requests of HTTP/2 that are refused', { timeout: 240_000 }, () => {
  it('400: Host is another than :authority; two that agree are one', async (t) => {
    answer = (req, res) => res.end(String(req.headers['x-forwarded-host']))
    const session = connect(t)
    assert.equal((await ask(session, { ':path': '/', host: 'blue.example' })).headers[':status'], 400)
    assert.equal((await ask(session, { ':path': '/', host: 'red.example' })).body, 'red.example')
  })

  it('the next request of the session is answered all the same', async (t) => {
    answer = (_req, res) => res.end('fine')
    const session = connect(t)
    await ask(session, { ':path': '/', host: 'blue.example' })
    assert.equal((await ask(session, { ':path': '/' })).body, 'fine')
  })

  it('404: an authority that nobody registered', async (t) => {
    assert.equal(
      (await ask(connect(t), { ':path': '/', ':authority': 'nobody.example' })).headers[':status'],
      404,
    )
  })

  it('405: TRACE, and CONNECT, also for a WebSocket (RFC 8441 is not offered: browsers open HTTP/1.1 for them)', async (t) => {
    const session = connect(t)
    const traced = session.request({ ':method': 'TRACE', ':path': '/', ':authority': 'red.example' })
    const [told] = (await once(traced, 'response')) as [http2.IncomingHttpHeaders]
    assert.deepEqual([told[':status'], told.allow?.includes('TRACE')], [405, false])
    const tunnel = session.request({ ':method': 'CONNECT', ':authority': 'red.example:443' })
    const [got] = (await once(tunnel, 'response')) as [http2.IncomingHttpHeaders]
    assert.equal(got[':status'], 405)
    tunnel.close()
    assert.notEqual(session.remoteSettings.enableConnectProtocol, true)
  })
})
