import assert from 'node:assert/strict'
import http from 'node:http'
import { duplexPair } from 'node:stream'
import { describe, it } from 'node:test'
import { pick, seededRandom } from '../../../../test/chaos/seeded-random.ts'
import {
  encodeTarget,
  rawHeadersOf,
  readSimpleHead,
  SIMPLE_HEAD_BYTES,
  type SimpleHead,
} from './simple-head.ts'

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
async function readByNode(text: string): Promise<ReadHead | null> {
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
  const { method, url, headers, rawHeaders } = req
  if (method !== 'GET' && method !== 'HEAD') return null
  return { method, url: url!, headers: { ...headers }, rawHeaders }
}

type ReadHead = Omit<SimpleHead, 'lines'> & { rawHeaders: string[] }

function asByNode({ method, url, headers, lines }: SimpleHead): ReadHead {
  return { method, url, headers: { ...headers }, rawHeaders: rawHeadersOf(lines) }
}

describe('a simple head', () => {
  it('is read as Node reads it, and any other head is left to Node', async () => {
    for (const [what, text] of READ) {
      const head = read(text)
      assert(head !== null, what)
      assert.deepEqual(asByNode(head), await readByNode(text), what)
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
      assert.deepEqual(asByNode(head), await readByNode(text), JSON.stringify(text))
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
})
