import assert from 'node:assert/strict'
import { once } from 'node:events'
import type http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { after, before, describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'

import { GOOGLEBOT, PERSON, startTestEdge, type TestEdge } from './test-edge.ts'

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

describe('HTTP/2', { timeout: 60_000 }, () => {
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
