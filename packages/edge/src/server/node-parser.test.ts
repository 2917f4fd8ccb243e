/** Bytes that no URL may have, in request lines that Node's parser meets first: behind others on the same connection. */
import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { beforeEach, describe, it, type TestContext } from 'node:test'
import tls from 'node:tls'
import { until } from '../../../../test/support/condition.ts'
import { GOOGLEBOT, openEdge, PERSON } from '../../../../test/support/edge.ts'
import { openSocket } from '../../../../test/support/loopback.ts'

const HEADERS_MS = 1_500
const asked: string[] = []
const edge = await openEdge({
  tls: true,
  headersMs: HEADERS_MS,
  async origin(request, response) {
    const body = Buffer.concat(await request.toArray()).toString('latin1')
    asked.push(`${request.method} ${request.url}${body === '' ? '' : ` ${body}`}`)
    response.end(`for ${request.url}\n`)
  },
})
beforeEach(() => {
  asked.length = 0
})

/** A client that keeps its connection. Texts are Latin-1: a character for each byte. */
function open(t: TestContext, isSecure = false) {
  const socket: Socket = isSecure
    ? tls.connect({
        port: edge.tlsPort,
        host: '127.0.0.1',
        servername: 'red.example',
        rejectUnauthorized: false,
      })
    : openSocket(t, edge.port)
  t.after(() => void socket.destroy())
  let got = ''
  socket.on('error', () => {})
  socket.on('data', (part: Buffer) => {
    got += part.toString('latin1')
  })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  return {
    closed,
    received: () => got,
    write: (text: string) => void socket.write(Buffer.from(text, 'latin1')),
    /** Resolves when as many responses have come in all. */
    responses: (count: number) =>
      until(`${count} responses have come`, () => got.split('HTTP/1.1 200 ').length - 1 === count),
  }
}

const utf8 = (text: string) => Buffer.from(text, 'utf8').toString('latin1')
const request = (method: string, target: string, more = '', body = '') =>
  utf8(`${method} ${target} HTTP/1.1\r\nHost: red.example\r\nUser-Agent: ${PERSON}\r\n${more}\r\n${body}`)
const get = (target: string) => request('GET', target)
/** The fast lane reads no header twice, so Node has the connection from this request on. */
const getByNode = (target: string) => request('GET', target, 'X-A: b\r\nX-A: c\r\n')
const post = (target: string, body: string) =>
  request('POST', target, `Content-Length: ${Buffer.byteLength(body)}\r\n`, body)

describe('bytes in a request line', () => {
  for (const isSecure of [false, true]) {
    it(`are encoded in each request of a ${isSecure ? 'TLS ' : ''}connection, whatever came before`, async (t) => {
      const client = open(t, isSecure)
      const requests = [
        getByNode('/plain'),
        get('/größe?maß=1'),
        post('/заказ', 'body'),
        get('/価格'),
        request('HEAD', '/é'),
        request('OPTIONS', '/ñ'),
        get('/plain/again'),
        request('PUT', '/żółw', 'Content-Length: 2\r\n', 'ok'),
        request('DELETE', '/ø'),
      ]
      for (const [at, text] of requests.entries()) {
        client.write(text)
        await client.responses(at + 1)
      }
      assert.deepEqual(asked, [
        'GET /plain',
        'GET /gr%C3%B6%C3%9Fe?ma%C3%9F=1',
        'POST /%D0%B7%D0%B0%D0%BA%D0%B0%D0%B7 body',
        'GET /%E4%BE%A1%E6%A0%BC',
        'HEAD /%C3%A9',
        'OPTIONS /%C3%B1',
        'GET /plain/again',
        'PUT /%C5%BC%C3%B3%C5%82w ok',
        'DELETE /%C3%B8',
      ])
    })
  }

  it('are encoded behind requests that are still being answered, and in the order in which they came', async (t) => {
    const client = open(t)
    client.write(
      get('/first') + get('/zweite-straße') + get('/third') + post('/vierte-straße', 'body') + get('/ß'),
    )
    await client.responses(5)
    const bodies = client.received().match(/(?<=\r\n\r\n(?:\d+\r\n)?)for \S+/g)
    const paths = ['/first', '/zweite-stra%C3%9Fe', '/third', '/vierte-stra%C3%9Fe', '/%C3%9F']
    assert.deepEqual(
      bodies,
      paths.map((path) => `for ${path}`),
    )
  })

  it('are encoded where the line arrives in parts', async (t) => {
    const client = open(t)
    client.write(getByNode('/first'))
    await client.responses(1)
    const text = get('/straße/платье')
    for (const [at, split] of [text.indexOf('\xc3') + 1, text.indexOf(' HTTP') + 3].entries()) {
      client.write(text.slice(0, split))
      // The edge has read the first part when it has answered another client.
      assert.equal((await edge.ask('/other', { headers: { 'user-agent': PERSON } })).status, 200)
      client.write(text.slice(split))
      await client.responses(at + 2)
    }
    assert.equal(asked.filter((line) => line.startsWith('GET /stra%C3%9Fe/%D0%BF')).length, 2)
  })

  it('lead to the page of the encoded spelling for a crawler whose connection has had a miss', async (t) => {
    edge.script({ kind: 'rendered', status: 200, html: '<!doctype html><h1>Fluss</h1>', headers: [] })
    const client = open(t)
    const crawl = (target: string) => client.write(get(target).replace(PERSON, GOOGLEBOT))
    client.write(getByNode('/first'))
    await client.responses(1)
    crawl('/fluß')
    await client.responses(2)
    assert.match(client.received(), /X-Prepaint: rendered\r\n/i)
    crawl('/other')
    await client.responses(3)
    crawl('/fluß')
    await client.responses(4)
    assert.match(client.received(), /X-Prepaint: hit\r\n/i)
  })

  it('end the connection with 408 where the rest of the line does not come in time', async (t) => {
    for (const first of [get('/first'), getByNode('/first')]) {
      const client = open(t)
      client.write(first)
      await client.responses(1)
      client.write(utf8('GET /straße'))
      await client.closed
      assert.match(client.received(), /HTTP\/1\.1 408 /)
    }
    assert.deepEqual(asked, ['GET /first', 'GET /first'])
  })

  it('are refused where a request could be taken for another one: in other methods, behind a body or half a method', async (t) => {
    const refused = [
      request('UNLOCK', '/ü'),
      request('PROPPATCH', '/ü'),
      // The body ends with what would be a method together with the next one.
      request('POST', '/', 'Content-Length: 2\r\n', 'UN') + request('LOCK', '/ü'),
      get('/ü'.padEnd(9_000, 'ü')),
      get('/ü\0'),
      get('/ü /b'),
    ]
    for (const text of refused) {
      const client = open(t)
      client.write(getByNode('/first'))
      await client.responses(1)
      client.write(text)
      await client.closed
      assert.match(client.received(), /HTTP\/1\.1 400 /)
    }
    assert.deepEqual(
      asked.filter((line) => !/^(?:GET \/first|POST \/ UN)$/.test(line)),
      [],
    )
  })
})
